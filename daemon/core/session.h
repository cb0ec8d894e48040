/*
 * session: one client's identity; and conn, a connection that speaks for it.
 *
 * A session ends with its last connection, or with the process it is bound to.
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include "daemon/core/state.h"

void session_open(struct core *core, conn_id id, const struct peer *peer);
void session_peer(struct conn *conn, const struct peer *peer);
void session_finish(struct core *core, struct conn *conn);
void session_close(struct core *core, struct conn *conn, enum end end);
void session_exit(struct core *core, const struct process *process);

void session_bind(struct core *core, struct conn *conn, const struct process *process);
void session_join(struct core *core, struct conn *conn, struct slice secret);
void session_secret(struct core *core, struct conn *conn);
void session_onloss(struct core *core, struct conn *conn, enum onloss onloss);

#endif
