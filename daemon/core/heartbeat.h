/*
 * heartbeat: a session that has to be heard of, and what happens when it is not.
 *
 * SESSION HEARTBEAT ms  From now on, silence for ms ends the session: its connections are closed, and its
 *                       holds are abandoned; with GRACE it is detached instead, and its grace begins. A
 *                       process it is bound to keeps it no longer. 0: not any more.
 * Silence               No request of any of its connections, whatever it asks and however it is answered.
 *                       While one of its connections is blocked in a request that waits nothing can come, and
 *                       nothing is missed: ms count from the answer. An ASYNC wait blocks nobody.
 * The end of ms         A request that came in time may not have been read yet, when this daemon itself was
 *                       late. So what is due is looked at once more (session_looks_again()).
 *
 * A request costs one store: the timer looks when it is due, not before. Requests that the core never sees
 * come as EVENT_HEARD, of sessions that asked for it (core_wants_heartbeat()).
 */
#ifndef CORE_HEARTBEAT_H
#define CORE_HEARTBEAT_H

#include "daemon/core/state.h"

void heartbeat_set(struct core *core, struct conn *conn, int64_t ms);

/* It has one connection more. */
void heartbeat_begin(struct core *core, struct session *s);

void heartbeat_timer(struct core *core, struct session *s);

#endif
