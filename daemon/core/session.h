/*
 * session: the identity of one client: what it holds, waits for and has lost.
 *
 * Three files decide when it ends: attach.h (its connections, and the process that it is bound to), grace.h
 * (the time without any) and heartbeat.h (missing requests).
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include "daemon/core/state.h"

/* NULL: out of memory. */
struct session *session_new(struct core *core, const struct peer *peer) __attribute__((warn_unused_result));

/* What is known of its client changed. */
void session_peer(struct core *core, struct session *s, const struct peer *peer);

/* It has no connection any more, and no client can come back for it. */
void session_end(struct core *core, struct session *s, enum end end);

/* Ends what it holds and waits for; the session itself stays. */
void session_clear(struct core *core, struct session *s, enum end end);

/*
 * A time limit of a session is over, which was ms long. If this daemon was late itself, what came before the
 * limit may still be unread. True: the timer is armed for one look more, an eighth of ms later, a second at
 * most; and again if that look is late. *look_ms is state between the calls, 0 at first.
 */
bool session_looks_again(struct core *core, struct timer *timer, int64_t *look_ms, int64_t ms);

/* The process that it is bound to keeps it no longer. */
void session_unbind(struct core *core, struct session *s);

/* The session with this secret. NULL: there is none, and conn has its answer. */
struct session *session_by_secret(struct core *core, const struct conn *conn, struct slice secret);

/* SESSION SECRET, SESSION ONLOSS. */
void session_secret(struct core *core, struct conn *conn);
void session_onloss(struct core *core, struct conn *conn, enum onloss onloss);

#endif
