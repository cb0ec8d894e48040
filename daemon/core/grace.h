/*
 * grace: a session that outlives the loss of its last connection for a while, and whoever comes back for it.
 *
 *     attached ──last connection lost──▶ detached ──RESUME, JOIN──▶ attached
 *                                            └──grace is over──▶ ended, as abandoned when it was cut off
 *
 * SESSION GRACE ms      From now on the session survives the loss of its last connection for ms. Answers the
 *                       session's secret (the one of SESSION SECRET). 0: not any more. Counted, in all and by
 *                       user, from this request on, so that a loss never finds the room taken; longer than
 *                       grace-time, or one session too many, is LIMIT.
 *
 * What is a loss        Everything but a goodbye. QUIT, RESET and the exit of the process it is bound to say
 *                       that nobody will come back: the session ends at once. An end of file, a hang-up, a
 *                       reset, CLIENT KILL, a limit, a missed HEARTBEAT, ONLOSS CLOSE: a loss; on Unix
 *                       sockets and with `on-close: release` too. While the daemon drains, nothing is kept.
 *
 * Detached              Its holds are renewed, LEASE and MAXHOLD run on. Its waits keep their places and
 *                       their WAIT; a WAIT 0 ends. A hold that is lost meanwhile is remembered, and told on
 *                       the next use of its name, whatever ONLOSS says; PUSH has to be asked for again
 *                       afterwards.
 *
 * SESSION RESUME secret The connection speaks for that session from now on, and nobody else does:
 *                       connections that it still has, half-open ones most of all, are closed unanswered.
 *                       Answers how many names the session holds. Refused like JOIN: no such secret, or the
 *                       connection has a session that holds, waits or is bound. JOIN does the same and closes
 *                       nobody.
 *
 * Coming back           A wait whose connection is gone is a stray. LOCK with the same name, OWNER, kind and
 *                       ASYNC id takes its place over; WAIT counts anew. A stray whose turn came meanwhile
 *                       became a hold nobody has been told of: LOCK answers its token and counts nothing, and
 *                       every other verb finds it held. What nobody asked for when the grace is over, counted
 *                       from the loss, is given up: strays leave the queue, untold holds are released.
 *
 * The end of the grace  Holds are withheld until the deadline that their holder can have been told at most,
 *                       which is of before the loss, and crash-delay; mostly that is over, and they pass on.
 *
 * BIND and GRACE        The process keeps the session, also without connections and beyond the grace; the
 *                       grace is for its waits. Without GRACE waits end with their connection.
 */
#ifndef CORE_GRACE_H
#define CORE_GRACE_H

#include "daemon/core/state.h"

/* SESSION GRACE. */
void grace_ask(struct core *core, struct conn *conn, int64_t ms);

/* Whether the loss of its last connection leaves it alive. */
bool grace_keeps(const struct core *core, const struct session *s);

/* Without GRACE from now on: whatever ends it ends it at once. */
void grace_drop(struct core *core, struct session *s);

/* It has lost its last connection, and has a grace. */
void grace_begin(struct core *core, struct session *s);

/* It has one connection more. */
void grace_attach(struct core *core, struct session *s);

/* All connections but the one that came last are about to be closed, and their waits stray. */
void grace_take_over(struct core *core, struct session *s);

/* The stray that a LOCK repeats, the oldest; NULL: none. */
struct waiter *grace_find(const struct session *s, const struct command *c);

/* The daemon drains: nobody can come back. */
void grace_drain(struct core *core);

void grace_timer(struct core *core, struct session *s);

#endif
