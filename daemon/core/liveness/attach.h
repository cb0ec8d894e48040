/*
 * attach: connections, and the sessions they speak for.
 *
 * A connection begins with a session of its own. A session ends with its last connection, unless a process
 * that it is bound to keeps it, or its grace does.
 */
#ifndef CORE_ATTACH_H
#define CORE_ATTACH_H

#include "daemon/core/base/event.h"
#include "daemon/core/base/peer.h"
#include "proto/slice.h"

#include <stdbool.h>

struct conn;
struct core;
struct session;

void attach_open(struct core *core, conn_id id, const struct peer *peer);
void attach_peer(struct core *core, struct conn *conn, const struct peer *peer);

/*
 * A connection has outlived a crash (conn.h): it is back, and speaks for this session as after RESUME, but
 * that its client has not asked: losses that have not been reported to the session are reported as ONLOSS
 * says. It is closed if the session is not there any more.
 */
void attach_return(struct core *core, conn_id id, const struct keep_view *keep, bool no_push);

/* No more requests will come: the connection's waits get the next answer that is possible, as with WAIT 0. */
void attach_finish(struct core *core, struct conn *conn);
void attach_close(struct core *core, struct conn *conn, enum end end);

/* SESSION BIND, SESSION JOIN, SESSION RESUME: choose the session for which the connection speaks. */
void attach_bind(struct core *core, struct conn *conn, const struct process *process);
void attach_join(struct core *core, struct conn *conn, struct slice secret);
void attach_resume(struct core *core, struct conn *conn, struct slice secret);
/* SESSION ANCHOR: while this connection is open, the end of the bound process does not end the session. */
void attach_anchor(struct core *core, struct conn *conn);

/* This process has ended, and with it the session bound to it, unless an anchor is open. */
void attach_exit(struct core *core, const struct process *process);

/* Ends a session whose connections may still be open: they are closed. */
void attach_end(struct core *core, struct session *s, enum end end);
/* As conn_answered(). If the daemon ends, the session of a guest ends with its last one. */
void attach_answered(struct core *core, struct conn *conn);
/* Whether this process has ended will not be known. */
void attach_unseen(struct core *core, const struct process *process);

#endif
