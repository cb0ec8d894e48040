/*
 * session: the identity of one client: what it holds, waits for and has lost.
 *
 * It ends with its connections and the process that it is bound to (attach.c), when its grace is over (the
 * time without any), or when its requests stop (the heartbeat).
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/mark.h"
#include "daemon/core/lock/queue.h"
#include "proto/command.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct named_session;
struct latch_request;
struct loss;
struct mlock;
struct user;

TAILQ_HEAD(conn_list, conn);

struct conn {
	struct freelist_link freed;
	bool no_push; /* it takes no more pushes: it is closed if its client has to be told */
	bool kept;    /* its session is durable, and ACTION_KEEP has said so */
	bool anchor;  /* SESSION ANCHOR: while it is open, the session outlives its process */
	conn_id id;
	struct session *session;
	struct waiter *blocked;              /* the LOCK that it waits in; NULL: none */
	struct latch_request *latch_request; /* the LATCH request that it waits in; NULL: none */
	struct mlock *mlock;                 /* the MLOCK that it waits in; NULL: none */
	bool drains;                         /* it waits for the end of a drain */
	struct conn *guest; /* it, as it speaks for a named session (named_session.h); NULL: it does not */
	struct conn *host;  /* of a guest: its connection; NULL: it is no guest */
	TAILQ_ENTRY(conn) in_session;
};

struct session {
	struct freelist_link freed;
	bool has_secret;
	bool deferred; /* a search for a deadlock is deferred */
	bool durable;  /* it outlives a crash (ledger.h) */
	bool ends;     /* it gives up its holds (ending.c); no client finds it */
	bool orphaned; /* its process has ended, and anchors keep it: it ends with the last of them */
	bool unseen;   /* process cannot be watched: the session ends with its last connection, which does not
			  end what it holds */
	enum onloss onloss : 8;
	/* Read when it has ended, and so beyond what the freelist overwrites. */
	bool written;             /* it is in the ledger: it is durable, or holds many */
	bool changed;             /* it is on the list of changes (changes.h) */
	bool gone;                /* it has ended in this step */
	enum end end : 8;         /* ends: how */
	struct timer grace_timer; /* runs from the loss of its last connection */
	/* What each request reads lies side by side: with thousands of sessions, none of them is in a
	 * cache. */
	session_id id;
	int64_t alive_ms;  /* when its last request came */
	struct user *user; /* the user for whom it is counted */
	int64_t locks;     /* held and waited for; a semaphore counts each permit */
	struct grant_list grants;
	size_t grant_count;
	struct map *holds; /* the grants by name and tag; NULL: too few to need a map */
	struct session_waiters waiters;
	size_t waiter_count;
	struct map *asyncs;  /* the ASYNC waiters by id; NULL: too few to need a map */
	struct loss *losses; /* by name and tag; oldest first */
	int64_t loss_count;  /* without those of the reason RETURNED */
	int64_t returned_count;

	UT_hash_handle hh;
	struct conn_list conns;
	size_t conn_count;
	size_t anchors; /* of these connections */
	struct peer peer;
	conn_id push_conn; /* ONLOSS PUSH: the connection that gets the pushes */
	uint64_t secret[2];
	struct process process; /* pid 0: the session ends with its last connection */
	int64_t opened_ms;
	int64_t grace_ms;         /* how long it survives the loss of its last connection; 0: it does not */
	int64_t grace_look_at_ms; /* grace over: one look more (session_looks_again()); 0: not */
	int64_t heartbeat_ms;     /* a request has to come within this time; 0: no heartbeat */
	int64_t heartbeat_look_at_ms; /* as grace_look_at_ms */
	struct timer heartbeat_timer;
	struct named_session *named; /* its id (named_session.h); NULL: it belongs to its connections */
	struct mark mark;
	TAILQ_ENTRY(session) in_deferred;
	TAILQ_ENTRY(session) in_ending;
};

TAILQ_HEAD(ending_list, session);

/* NULL: there is none. */
struct session *session_find(const struct core *core, session_id id);

/* NULL: out of memory. session_make(): with an id that no session has. */
struct session *session_new(struct core *core, const struct peer *peer) __attribute__((warn_unused_result));
struct session *session_make(struct core *core, session_id id, const struct peer *peer)
	__attribute__((warn_unused_result));

/* What is known of its client changed. */
void session_peer(struct core *core, struct session *s, const struct peer *peer);

/* A process or an id keeps it, also without connections. */
static inline bool
session_is_kept(const struct session *s)
{
	return s->process.pid != 0 || (s->named != NULL && !s->ends);
}

/* It has to outlive a crash. */
static inline bool
session_is_durable(const struct session *s)
{
	return s->grace_ms > 0 || session_is_kept(s);
}

/* It is counted as one with a grace. */
static inline bool
session_has_grace(const struct session *s)
{
	return s->grace_ms > 0 || (s->named != NULL && !s->ends);
}

/* Takes it out of the sessions. */
void session_remove(struct core *core, struct session *s);

/*
 * A time limit of a session is over, which was ms long. If this daemon was late itself, what came before the
 * limit may still be unread. True: the timer is armed for one look more, an eighth of ms later, a second at
 * most; and again if that look is late. *look_at_ms is state between the calls, 0 at first.
 */
bool session_looks_again(struct core *core, struct timer *timer, int64_t *look_at_ms, int64_t ms);

/* It comes from a ledger, with its holds: its connections are lost as of now, and it was heard. */
void session_recover(struct core *core, struct session *s);

/* It is bound to this process, to which no other session is. False: out of memory. */
bool session_bind(struct core *core, struct session *s, const struct process *process)
	__attribute__((warn_unused_result));
/* The session that is bound to it; NULL: none. */
struct session *session_bound(const struct core *core, const struct process *process);
/* The process that it is bound to keeps it no longer. */
void session_unbind(struct core *core, struct session *s);

/* The session with this secret. NULL: there is none, and conn has its answer. */
struct session *session_by_secret(struct core *core, const struct conn *conn, struct slice secret);

/* For core_free(): frees all sessions and connections, without what they hold. */
void session_free_all(struct core *core);

/* SESSION SECRET, SESSION ONLOSS. */
void session_secret(struct core *core, struct conn *conn);
void session_onloss(struct core *core, struct conn *conn, enum onloss onloss);

/*
 * Grace: a session that outlives the loss of its last connection for a while, and the client that comes back.
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
 *                       nothing is kept.
 *
 * Detached              Its holds are renewed, LEASE and MAXHOLD run on. Its waits keep their places and
 *                       their WAIT; a WAIT 0 ends. A hold that is lost meanwhile is remembered, and told on
 *                       the next use of its name, whatever ONLOSS says; PUSH has to be asked for again
 *                       afterwards.
 *
 * SESSION RESUME secret The connection speaks for that session from now on, and no other connection does:
 *                       those that it still has, usually half-open ones, are closed without an answer.
 *                       Answers how many names the session holds. Refused like JOIN: no such secret, or the
 *                       connection has a session that holds, waits or is bound. JOIN does the same and closes
 *                       no connection.
 *
 * Coming back           A wait whose connection is gone is an orphaned waiter. A LOCK with the same name,
 *                       OWNER, kind and ASYNC id takes it over; WAIT counts anew. If its turn came meanwhile,
 *                       it became a hold that the client has not been told of: LOCK answers its token and
 *                       counts nothing, and every other verb finds it held. What is not asked for when the
 *                       grace, counted from the loss, is over is given up: orphaned waiters leave the queue,
 *                       unannounced holds are released.
 *
 * The end of the grace  Holds are withheld until the deadline that their holder can have been told at most,
 *                       which is from before the loss, and crash-delay. Usually that is over: they pass on.
 *
 * BIND and GRACE        The process keeps the session, also without connections and beyond the grace; the
 *                       grace is for its waits. Without GRACE waits end with their connection.
 */

/* SESSION GRACE. */
void grace_set(struct core *core, struct conn *conn, int64_t ms);

/* Whether the session survives the loss of its last connection. */
bool grace_keeps(const struct core *core, const struct session *s);

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
struct waiter *grace_find(const struct session *s, const struct command *c);

/* The daemon drains: no client can come back. */
void grace_drain(struct core *core);

void grace_timer(struct core *core, struct session *s);

/*
 * A heartbeat: a session that has to send requests, and what happens if it does not.
 *
 * SESSION HEARTBEAT ms  From now on, silence for ms ends the session: its connections are closed, and its
 *                       holds are abandoned. With GRACE it is detached instead, and its grace begins. A
 *                       process it is bound to keeps it no longer. 0: no heartbeat any more.
 * Silence               No request on any of its connections, whatever the verb and the answer. While one of
 *                       its connections is blocked in a request that waits, no request can come, and none
 *                       is missed: ms count from the answer. An ASYNC wait blocks no connection.
 * The end of ms         If this daemon itself was late, a request that came in time may not have been read
 *                       yet. So a session that is due is looked at once more (session_looks_again()).
 *
 * A request costs one store: the timer looks when it is due, not before. Requests that the core does not see
 * come as EVENT_ALIVE, for sessions with a heartbeat (core_wants_heartbeat()).
 */

void heartbeat_set(struct core *core, struct conn *conn, int64_t ms);

/* The session has one more connection. */
void heartbeat_begin(struct core *core, struct session *s);

void heartbeat_timer(struct core *core, struct session *s);

#endif
