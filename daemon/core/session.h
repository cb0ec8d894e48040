/*
 * session: one client's identity: what it holds, waits for and has lost.
 *
 * Who speaks for it, and when it ends, is decided in speaker (connections and the process it is bound to),
 * grace (the time without any) and heartbeat (requests that do not come).
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include "daemon/core/state.h"

/* NULL: out of memory. */
struct session *session_new(struct core *core, const struct peer *peer) __attribute__((warn_unused_result));

/* What is known of whoever speaks for it changed. */
void session_peer(struct core *core, struct session *s, const struct peer *peer);

/* Has no connection any more, and nobody will come back. */
void session_end(struct core *core, struct session *s, enum end end);

/* Ends what it holds and waits for; the session itself stays. */
void session_clear(struct core *core, struct session *s, enum end end);

/*
 * A time of a session is over, which was of ms: what came before its end may still be unread, because this
 * daemon was late itself. True: the timer is armed to look once more, an eighth of ms later, a second at
 * most; and again should that look be late. *look_ms is kept for it between, 0 at first.
 */
bool session_looks_again(struct core *core, struct timer *timer, int64_t *look_ms, int64_t ms);

/* The process it is bound to keeps it no longer. */
void session_unbind(struct core *core, struct session *s);

/* The session with this secret; NULL, and conn has its answer: none. */
struct session *session_by_secret(struct core *core, const struct conn *conn, struct slice secret);

/* SESSION SECRET, SESSION ONLOSS. */
void session_secret(struct core *core, struct conn *conn);
void session_onloss(struct core *core, struct conn *conn, enum onloss onloss);

#endif
