/*
 * attach: a connection, and the session it speaks for.
 *
 * It begins with a session of its own, which ends with its last connection, unless a process it is bound to
 * keeps it, or its grace does (grace.h).
 */
#ifndef CORE_ATTACH_H
#define CORE_ATTACH_H

#include "daemon/core/state.h"

void attach_open(struct core *core, conn_id id, const struct peer *peer);
void attach_peer(struct core *core, struct conn *conn, const struct peer *peer);

/* No more requests will come: its waits are answered with what there is now. */
void attach_finish(struct core *core, struct conn *conn);
void attach_close(struct core *core, struct conn *conn, enum end end);

/* SESSION BIND, SESSION JOIN, SESSION RESUME: whom it speaks for from now on. */
void attach_bind(struct core *core, struct conn *conn, const struct process *process);
void attach_join(struct core *core, struct conn *conn, struct slice secret);
void attach_resume(struct core *core, struct conn *conn, struct slice secret);

/* This process has ended, and the session bound to it. */
void attach_exit(struct core *core, const struct process *process);

#endif
