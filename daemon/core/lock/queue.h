/*
 * queue: the waiters of one name here, in arrival order.
 *
 * Every waiter gets exactly one answer: by being granted (grant.h), or here.
 */
#ifndef CORE_QUEUE_H
#define CORE_QUEUE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/resource.h"
#include "proto/name.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

struct command;
struct conn;
struct core;
struct grant;
struct part;
struct reply;
struct session;

TAILQ_HEAD(waiter_queue, waiter);
TAILQ_HEAD(queue_list, queue);

struct waiter {
	struct freelist_link freed;
	bool once;     /* WAIT 0: the next refusal is its answer */
	bool async;    /* answered by a push */
	bool validity; /* answered with token and validity */
	bool slow;     /* it has reached the rule's slow-wait, and that is noted */
	bool halved;   /* once, because the client of its id has half-closed: its position is retained. This
			  flag   is not saved: a hand-over takes the links down, which answers all that try once
			*/
	TAILQ_ENTRY(waiter) in_resource;
	LIST_ENTRY(waiter) in_session;
	struct resource *resource;
	struct session *session;
	struct conn *conn; /* NULL: lost; the session may repeat the LOCK (session.h) */
	struct timer timer;
	enum kind kind;
	int64_t permits;
	int64_t retries;  /* further refusals before one is its answer; -1: not counted */
	int64_t until_ms; /* end of WAIT; or TIMER_NEVER */
	int64_t since_ms;
	int64_t whose_at_ms; /* of a named session: when the daemon next asks the others whether one of them
			     holds the name for the same id; not saved */
	uint64_t ticket;     /* greater than that of every earlier waiter */
	int64_t lease_ms;
	int64_t max_hold_ms;
	int64_t claim_ms;
	uint16_t owner_n;
	uint16_t why_n;
	uint16_t id_n;
	struct part *part; /* the name of an MLOCK, which gets the answer; NULL: none */
	char bytes[];      /* owner, why and id */
};

static inline struct slice
waiter_owner(const struct waiter *w)
{
	return (struct slice){w->bytes, w->owner_n};
}

static inline struct slice
waiter_why(const struct waiter *w)
{
	return (struct slice){w->bytes + w->owner_n, w->why_n};
}

static inline struct slice
waiter_id(const struct waiter *w)
{
	return (struct slice){w->bytes + w->owner_n + w->why_n, w->id_n};
}

/* The waiters of a name. Most names are held once, have no waiter, and need no queue. */
struct queue {
	struct freelist_link freed;
	TAILQ_ENTRY(queue) in_core;
	struct resource *resource;
	struct waiter_queue waiters; /* in arrival order */
	struct demand demand;
	uint32_t async; /* of these: ASYNC */
	/* What a search for deadlocks writes here; meaningless outside of the search. */
	uint64_t pass;             /* the search that has visited the holds of this name */
	const struct grant *stuck; /* the first hold, as far as was searched, whose session cannot go on */
};

static inline struct queue *
queue_of(const struct resource *r)
{
	return OWNER_OF(r->demand, struct queue, demand);
}

/* Makes a waiter of a LOCK, at the tail. NULL: out of memory. until_ms: the end of WAIT, or TIMER_NEVER;
 * once: WAIT 0, or RETRIES 0. */
struct waiter *queue_add(struct core *core, struct resource *r, struct conn *conn,
	const struct command *command, int64_t until_ms, bool once) __attribute__((warn_unused_result));

/* Puts a waiter whose fields are set at the tail of its name, and into its session; its connection is not
 * blocked by it. False: out of memory, and nothing has changed. */
bool queue_join(struct core *core, struct waiter *w) __attribute__((warn_unused_result));

/* After waiters of several names have joined, name by name: puts those of each session in their order, the
 * latest first. False: out of memory. */
bool queue_sort_waits(struct core *core) __attribute__((warn_unused_result));

/* Answers the waiter with this reply (a push if it is ASYNC) and removes it. */
void queue_answer(struct core *core, struct waiter *w, const struct reply *reply);

/* Removes it without an answer: its client is gone, or was granted. */
void queue_remove(struct core *core, struct waiter *w);

/* Its turn has come. True: its answer would be a push, which its connection takes no more (conn.no_push). The
 * connection is closed, and the wait ends without a hold: no client would know of one, and it would be
 * denied to all others. */
bool queue_end_unpushable(struct core *core, struct waiter *w);

/* Its connection is lost, and its session may come back for it: it keeps its position, as an orphaned
 * waiter. */
void queue_orphan(struct core *core, struct waiter *w);

/* The LOCK is repeated over another connection: its own gets an answer that says so, and the waiter is
 * orphaned. */
void queue_supersede(struct core *core, struct waiter *w);

/* Whether this LOCK repeats it. queue_adopt(): it was orphaned, and waits for conn from now on, on new terms.
 */
bool queue_is_repeated(const struct waiter *w, const struct command *c);
void queue_adopt(struct core *core, struct waiter *w, struct conn *conn, const struct command *c,
	int64_t until_ms, bool once);

/* All waiters have been refused: that is the answer of those without RETRIES left. */
void queue_refused(struct core *core, struct resource *r, const struct reply *refusal);

/* Its timer. If its WAIT or its RETRIES are over, it is answered. Else this was an attempt to get the name.
 * If the name is held here, no master is asked meanwhile, so the attempt counts as a refusal. */
void queue_timer(struct core *core, struct waiter *w);

/* Trying once takes as long as the master takes, but ends then. */
int64_t queue_once_until(const struct core *core);

/* From now on the next refusal is its answer, as with WAIT 0, or the end of its WAIT. */
void queue_make_once(struct core *core, struct waiter *w);

/* Likewise, since its client has half-closed. If the refusal may pass, a waiter of an id is orphaned by it.
 */
void queue_halve(struct core *core, struct waiter *w);

/* Answers every waiter. */
void queue_answer_all(struct core *core, struct resource *r, const struct reply *reply);

/*
 * The ASYNC waits of a session by their ids, for a session that has many.
 *
 * A few are searched one by one. With thousands, each LOCK would go through all of them to see that its id is
 * not in use, and other clients would wait. So the first lookup among many makes a table, which is maintained
 * until few are left. Without memory for it, the lookup stays slow.
 */

/* Up to so many are searched one by one. */
#define ASYNCS_FEW 16

/* The wait with this id; NULL: none. */
struct waiter *asyncs_find(const struct core *core, struct session *s, struct slice id);

/* The wait is ASYNC, and has just joined its session's waits; and: it is about to leave them. */
void asyncs_add(const struct core *core, struct waiter *w);
void asyncs_remove(const struct core *core, const struct waiter *w);

/* Frees the table of a session that ends. */
void asyncs_done(struct session *s);

#endif
