/*
 * attach: connections, and the sessions they speak for.
 *
 * A connection begins with a session of its own. A session ends with its last connection, unless a process
 * that it is bound to keeps it, or its grace does (grace.h).
 */
#ifndef CORE_ATTACH_H
#define CORE_ATTACH_H

#include "daemon/core/state.h"

void attach_open(struct core *core, conn_id id, const struct peer *peer);
void attach_peer(struct core *core, struct conn *conn, const struct peer *peer);

/* No more requests will come: the connection's waits get the next answer that is possible, as with WAIT 0. */
void attach_finish(struct core *core, struct conn *conn);
void attach_close(struct core *core, struct conn *conn, enum end end);

/* SESSION BIND, SESSION JOIN, SESSION RESUME: choose the session for which the connection speaks. */
void attach_bind(struct core *core, struct conn *conn, const struct process *process);
void attach_join(struct core *core, struct conn *conn, struct slice secret);
void attach_resume(struct core *core, struct conn *conn, struct slice secret);

/* This process has ended, and with it the session bound to it. */
void attach_exit(struct core *core, const struct process *process);

#endif
