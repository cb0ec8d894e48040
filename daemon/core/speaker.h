/*
 * speaker: a connection, and the session it speaks for.
 *
 * It begins with a session of its own, which ends with its last connection, unless a process it is bound to
 * keeps it, or its grace does (grace.h).
 */
#ifndef CORE_SPEAKER_H
#define CORE_SPEAKER_H

#include "daemon/core/state.h"

void speaker_open(struct core *core, conn_id id, const struct peer *peer);
void speaker_peer(struct core *core, struct conn *conn, const struct peer *peer);

/* No more requests will come: its waits are answered with what there is now. */
void speaker_finish(struct core *core, struct conn *conn);
void speaker_close(struct core *core, struct conn *conn, enum end end);

/* SESSION BIND, SESSION JOIN, SESSION RESUME: whom it speaks for from now on. */
void speaker_bind(struct core *core, struct conn *conn, const struct process *process);
void speaker_join(struct core *core, struct conn *conn, struct slice secret);
void speaker_resume(struct core *core, struct conn *conn, struct slice secret);

/* This process has ended, and the session bound to it. */
void speaker_exit(struct core *core, const struct process *process);

#endif
