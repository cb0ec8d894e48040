/*
 * grace: a session that outlives the loss of its last connection for a while, and the client that comes back.
 *
 *     attached ──last connection lost──▶ detached ──RESUME, JOIN──▶ attached
 *                                            └──grace over──▶ ended, its holds abandoned as of the loss
 *
 * SESSION GRACE ms      From now on the session survives the loss of its last connection for ms. Answers the
 *                       session's secret (the one of SESSION SECRET). 0: no grace any more. The session is
 *                       counted, in all and per user, from this request on, so that a loss never finds the
 *                       room taken. More than grace-time, or one session too many, is LIMIT.
 *
 * What is a loss        Every end of a connection but a goodbye. QUIT, RESET and the exit of the bound
 *                       process say that the client will not come back: the session ends at once. An end of
 *                       file, a hang-up, a reset, CLIENT KILL, a limit, a missed HEARTBEAT, ONLOSS CLOSE: a
 *                       loss, also on Unix sockets and with `on-close: release`. While the daemon drains,
 *                       nothing is retained.
 *
 * Detached              Its holds are renewed, LEASE and MAXHOLD run on. Its waits keep their positions
 *                       and their WAIT; a WAIT 0 ends. A hold that is lost meanwhile is remembered, and
 *                       reported on the next use of its name, whatever ONLOSS says; PUSH has to be asked
 *                       for again afterwards.
 *
 * SESSION RESUME secret The connection speaks for that session from now on, and no other connection does:
 *                       those that it still has, usually half-open ones, are closed without an answer.
 *                       Answers how many names the session holds. Refused like JOIN: no such secret, or the
 *                       connection has a session that holds, waits or is bound. JOIN does the same and closes
 *                       no connection.
 *
 * Coming back           A wait whose connection is gone is an orphaned waiter. A LOCK with the same name,
 *                       OWNER, kind and ASYNC id takes it over; WAIT counts anew. If its turn came meanwhile,
 *                       it became a hold that is not announced: LOCK answers its token and
 *                       counts nothing, and every other verb finds it held. What is not asked for when the
 *                       grace, counted from the loss, is over is given up: orphaned waiters leave the queue,
 *                       unannounced holds are released.
 *
 * The end of the grace  Holds are withheld until the latest deadline announced to their holder, which is
 *                       from before the loss, and crash-delay. Usually that is over: they pass on.
 *
 * BIND and GRACE        The process keeps the session, also without connections and beyond the grace; the
 *                       grace is for its waits. Without GRACE waits end with their connection.
 */
#ifndef CORE_GRACE_H
#define CORE_GRACE_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct session;
struct waiter;

/* SESSION GRACE. */
void grace_set(struct core *core, struct conn *conn, int64_t ms);

/* Whether the session survives the loss of its last connection. */
bool grace_applies(const struct core *core, const struct session *s);

/* Ends its GRACE: whatever ends the session ends it at once from now on. */
void grace_drop(struct core *core, struct session *s);

/* The session has lost its last connection, and has a grace. */
void grace_begin(struct core *core, struct session *s);

/* The session has one more connection. */
void grace_attach(struct core *core, struct session *s);

/* All connections but the latest are about to be closed; their waits become orphaned waiters. */
void grace_take_over(struct core *core, struct session *s);

/* The orphaned waiter that a LOCK repeats, the oldest if several; of a named session, any waiter. NULL:
 * none. */
struct waiter *grace_find(const struct core *core, const struct session *s, const struct command *c);

/* The daemon drains: no client can come back. */
void grace_drain(struct core *core);

void grace_timer(struct core *core, struct session *s);

/* It comes from a ledger, with its holds: its connections are lost as of now, and it was heard. */
void session_recover(struct core *core, struct session *s);

#endif
