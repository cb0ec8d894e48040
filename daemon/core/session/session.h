/*
 * session: the identity of one client: what it holds, waits for and has lost.
 *
 * It ends with its connections and the process that it is bound to (attach.h), when its grace is over (the
 * time without any), or when its requests stop (the heartbeat).
 */
#ifndef CORE_SESSION_H
#define CORE_SESSION_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/session/mark.h"
#include "proto/command.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conn;
struct core;
struct grant;
struct loss;
struct named_session;
struct user;
struct waiter;

TAILQ_HEAD(conn_list, conn);
LIST_HEAD(grant_list, grant);
LIST_HEAD(session_waiters, waiter);

struct session {
	struct freelist_link freed;
	bool has_secret;
	bool closes;   /* all its connections have been closed because of a loss (ONLOSS CLOSE) */
	bool deferred; /* a search for a deadlock is deferred */
	bool durable;  /* it outlives a crash (ledger.h) */
	bool ends;     /* it gives up its holds and losses (ending.c); no client finds it */
	bool orphaned; /* its process has ended, and anchors keep it: it ends with the last of them */
	bool unseen;   /* process cannot be watched: the session ends with its last connection, which does not
			  end what it holds */
	enum onloss onloss : 8;
	/* Read when it has ended, and so beyond what the freelist overwrites. */
	bool written;             /* it is in the ledger: it is durable, or holds many */
	bool changed;             /* it is on the list of changes (change_list.h) */
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
	struct loss *oldest_loss; /* of the losses without those of the reason RETURNED; NULL: none */
	struct loss *oldest_returned;

	UT_hash_handle hh;
	struct conn_list conns;
	size_t conn_count;
	size_t anchors; /* of these connections */
	struct peer peer;
	conn_id push_conn; /* ONLOSS PUSH: the connection that gets the pushes */
	uint64_t secret[2];
	struct process process; /* pid 0: the session ends with its last connection */
	int64_t opened_ms;
	int64_t grace_ms;          /* how long it survives the loss of its last connection; 0: it does not */
	int64_t grace_check_at_ms; /* grace over: one check more (liveness_checks_again()); 0: not */
	int64_t heartbeat_ms;      /* a request has to come within this time; 0: no heartbeat */
	int64_t heartbeat_check_at_ms; /* as grace_check_at_ms */
	struct timer heartbeat_timer;
	struct named_session *named; /* its id (named_session.h); NULL: it belongs to its connections */
	struct mark mark;
	TAILQ_ENTRY(session) in_deferred;
	TAILQ_ENTRY(session) in_ending;
};

/* NULL: there is none. */
struct session *session_find(const struct core *core, session_id id);

/* NULL: out of memory. session_make(): with an id that no session has. */
struct session *session_new(struct core *core, const struct peer *peer) __attribute__((warn_unused_result));
struct session *session_make(struct core *core, session_id id, const struct peer *peer)
	__attribute__((warn_unused_result));

/* Something that its ledger entry says has changed: its client, its terms, its process or its id
 * (change_list.h). Also tells the connections if it is durable from now on, or no more. */
void session_changed(struct core *core, struct session *s);
/* It ends, and has neither holds nor losses any more. */
void session_gone(struct core *core, struct session *s);

/* What is known of its client changed. */
void session_peer(struct core *core, struct session *s, const struct peer *peer);

/* A process or an id keeps it, also without connections. */
static inline bool
session_outlives_conns(const struct session *s)
{
	return s->process.pid != 0 || (s->named != NULL && !s->ends);
}

/* It has to outlive a crash. */
static inline bool
session_is_durable(const struct session *s)
{
	return s->grace_ms > 0 || session_outlives_conns(s);
}

/* It is counted as one with a grace. */
static inline bool
session_has_grace(const struct session *s)
{
	return s->grace_ms > 0 || (s->named != NULL && !s->ends);
}

/* Takes it out of the sessions. */
void session_remove(struct core *core, struct session *s);

/* It is bound to this process, to which no other session is. False: out of memory. */
bool session_bind(struct core *core, struct session *s, const struct process *process)
	__attribute__((warn_unused_result));
/* The session that is bound to it; NULL: none. */
struct session *session_bound(const struct core *core, const struct process *process);
/* The process that it is bound to keeps it no longer. */
void session_unbind(struct core *core, struct session *s);

/* The session with this secret. NULL: there is none, and conn has its answer. */
struct session *session_by_secret(struct core *core, const struct conn *conn, struct slice secret);

/* For core_free(): frees all sessions and connections. They hold nothing and have lost nothing any more. */
void session_free_all(struct core *core);

/* SESSION SECRET, SESSION ONLOSS. */
void session_secret(struct core *core, struct conn *conn);
void session_onloss(struct core *core, struct conn *conn, enum onloss onloss);

#endif
