/*
 * heartbeat: a session that has to send requests, and what happens if it does not.
 *
 * SESSION HEARTBEAT ms  From now on, silence for ms ends the session: its connections are closed, and its
 *                       holds are abandoned. With GRACE it is detached instead, and its grace begins. A
 *                       process it is bound to keeps it no longer. 0: no heartbeat any more.
 * Silence               No request on any of its connections, whatever the verb and the answer. While one of
 *                       its connections is blocked in a request that waits, no request can come, and none
 *                       is missed: ms count from the answer. An ASYNC wait blocks no connection.
 * The end of ms         If this daemon itself was late, a request that came in time may not have been read
 *                       yet. So a session that is due is checked once more (liveness_checks_again()).
 *
 * A request costs one store: the timer checks when it is due, not before. Requests that the core does not see
 * come as EVENT_ALIVE, for sessions with a heartbeat (core_wants_heartbeat()).
 */
#ifndef CORE_HEARTBEAT_H
#define CORE_HEARTBEAT_H

#include <stdint.h>

struct conn;
struct core;
struct session;

void heartbeat_set(struct core *core, struct conn *conn, int64_t ms);

/* The session has one more connection. */
void heartbeat_begin(struct core *core, struct session *s);

void heartbeat_timer(struct core *core, struct session *s);

#endif
