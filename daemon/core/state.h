/*
 * state: all the core remembers, in one picture.
 *
 *     conn ──▶ session ──▶ grant ──▶ lease ◀──▶ resource      (the hold, what it stands on, and its name)
 *                    └───▶ waiter ◀──────────────┘      undo: leases given up, until the master confirmed it
 *
 * A conn is a connection, a session whom it speaks for. A resource is a name somebody here holds, waits for
 * or has a lease of; there may be millions that are just held, and what these need is kept small. A latch is
 * one that somebody here asks about (latch_request), or has asked about before. The nouns' functions live in
 * files of their names; the data is here, so that it can be read at one glance. An object that ends is
 * buried, not freed: actions may point into it until the next step.
 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

#include "daemon/core/action.h"
#include "daemon/core/core.h"
#include "daemon/core/dirty.h"
#include "daemon/core/hash.h"
#include "daemon/core/lease_data.h"
#include "daemon/core/master_data.h"
#include "daemon/core/names.h"
#include "daemon/core/reserve.h"
#include "daemon/core/roster.h"
#include "daemon/core/timers.h"
#include "daemon/core/view.h"

#include <bsd/sys/queue.h>
#define HASH_NONFATAL_OOM            1
#define HASH_FUNCTION(key, n, hashv) ((hashv) = hash_key((key), (n)))
#include <uthash.h>

#define FREELIST_ROWS 64

/* Memory of one size. */
struct freelist_row {
	struct freelist_item *dead; /* actions may point to them */
	struct freelist_item *free; /* kept for the next ones */
	size_t free_count;
};

/* Why a hold ended otherwise than by its holder: LOSS(id, word, text for people) */
#define LOSSES(LOSS)                                                                                         \
	LOSS(EXPIRED, "expired", "the master could not be asked in time")                                    \
	LOSS(TAKEN, "taken", "the master no longer knows this lease")                                        \
	LOSS(REFUSED, "refused", "the restarted master gave the name to another holder")                     \
	LOSS(LEASE, "lease", "its LEASE is over")                                                            \
	LOSS(MAXHOLD, "maxhold", "its MAXHOLD is over")                                                      \
	LOSS(BROKEN, "broken", "an administrator broke it")                                                  \
	LOSS(CLONED, "cloned", "another copy of this daemon may hold it, too")

enum loss_reason {
#define LOSS(id, word, text) LOSS_##id,
	LOSSES(LOSS)
#undef LOSS
		LOSS_COUNT
};

TAILQ_HEAD(conn_list, conn);
LIST_HEAD(grant_list, grant);
TAILQ_HEAD(permit_lease_list, permit_lease);
LIST_HEAD(session_waiters, waiter);
TAILQ_HEAD(waiter_queue, waiter);
TAILQ_HEAD(latch_list, latch);
TAILQ_HEAD(mlock_list, mlock);
TAILQ_HEAD(session_list, session);
TAILQ_HEAD(queue_list, queue);

struct conn {
	struct freelist_link freed;
	bool no_push; /* cannot be pushed to any more: whoever has to hear has to be closed */
	conn_id id;
	struct session *session;
	struct waiter *blocked;              /* the LOCK it waits in; NULL: none */
	struct latch_request *latch_request; /* the LATCH request it waits in; NULL: none */
	struct mlock *mlock;                 /* the MLOCK it waits in; NULL: none */
	bool drains;                         /* it waits for the end of a drain */
	TAILQ_ENTRY(conn) in_session;
};

/* One step of a cycle of waits: a session waits, and somebody keeps it from being answered: by a hold, or by
 * an ASYNC wait ahead of it. */
struct edge {
	struct session *from;
	const struct waiter *wait;
	bool ahead;
};

/* What a search for deadlocks writes on a session it meets; without a meaning outside of the search. */
struct mark {
	uint64_t search;
	struct session *met;  /* before it */
	struct session *next; /* of those to be looked at, or in the cycle */
	struct edge edge;     /* that led to it */
	bool free;            /* it can go on */
};

/* Whoever has sessions, or had, and left something behind. */
struct user {
	UT_hash_handle hh;
	uint64_t id;
	int64_t sessions;
	int64_t graces;   /* of these, with a grace */
	int64_t locks;    /* they hold and wait for, and what is withheld after them, */
	int64_t withheld; /* which is so much of it */
	int64_t losses;   /* they are reminded of (loss.h) */
	int64_t latches;  /* they have made (latch_quota.h) */
};

struct session {
	struct freelist_link freed;
	bool has_secret;
	bool doubted; /* a search for a deadlock has been put off */
	enum onloss onloss;
	/* What each request looks at, next to each other: of thousands of sessions none is in a cache. */
	session_id id;
	int64_t heard_ms;  /* when it was last */
	struct user *user; /* for whom it is counted */
	int64_t locks;     /* it holds and waits for, each permit of a semaphore for one */
	struct grant_list grants;
	size_t grant_count;
	struct index *holds; /* the same ones, by name and tag; NULL: no need */
	struct session_waiters waiters;
	size_t waiter_count;
	struct index *asyncs; /* those that are ASYNC, by their ids; NULL: no need */
	struct loss *losses;  /* by name and tag; oldest first */
	int64_t loss_count;

	UT_hash_handle hh;
	UT_hash_handle hh_process;
	struct conn_list conns;
	size_t conn_count;
	struct peer peer;
	conn_id push_conn; /* ONLOSS PUSH: where to */
	uint64_t secret[2];
	struct process process; /* pid 0: ends with its last connection */
	int64_t opened_ms;
	int64_t grace_ms;         /* survives the loss of its last connection for so long; 0: does not */
	struct timer grace_timer; /* counted from such a loss */
	int64_t grace_look_ms; /* it is over, and looked at once more then (session_looks_again()); 0: not */
	int64_t heartbeat_ms;  /* has to be heard of so often; 0: no matter */
	struct timer heartbeat_timer;
	int64_t heartbeat_look_ms; /* as grace_look_ms */
	struct mark mark;
	TAILQ_ENTRY(session) in_deferred;
};

/* What searches for deadlocks may look at, and sessions for which one has been put off. */
struct deferred_checks {
	struct session_list sessions;
	struct timer timer;
	int64_t since_ms; /* there have been so many looks left, */
	size_t looks;
	uint64_t looked; /* and so many looks in all */
};

/* A hold that was lost, until its session hears of it. */
struct loss {
	struct freelist_link freed;
	UT_hash_handle hh;
	enum loss_reason reason;
	bool told; /* by a push or an answer; or its holder chose the end, see LEASE */
	int64_t token;
	char bytes[]; /* what it is found by: the length of the name, the name and the tag */
};

/* Who had a hold that is withheld. */
struct last_holder {
	struct freelist_link freed;
	struct peer peer;
};

#define GRANT_WHY_MAX ((1U << 11) - 1)

struct grant {
	struct freelist_link freed;
	uint8_t owner_n;
	uint16_t why_n : 11;
	bool untold : 1;    /* its LOCK lost its connection: nobody knows that it is held */
	bool bounded : 1;   /* it has terms */
	enum kind kind : 3; /* with permits it has as many as its lease */
	uint32_t count;     /* times entered, >= 1 */
	union {
		LIST_ENTRY(grant) in_session;
		struct {
			struct user *left_by;     /* withheld: one of whose sessions had it, */
			struct last_holder *last; /* and who that was; NULL: there was no memory for it */
		};
	};
	struct lease *lease;
	struct grant *before;    /* on its lease; of the first one the last one */
	struct grant *after;     /* NULL: none */
	struct session *session; /* NULL: withheld, until its terms end */
	int64_t token;
	union {
		int64_t granted_ms;  /* not bounded: it lasts as long as its session wants */
		struct terms *terms; /* else; and there is when it was granted */
	};
	char bytes[]; /* owner and why */
};

/* What bounds a hold, but for its lease. */
struct terms {
	struct freelist_link freed;
	struct timer timer;
	struct grant *grant;
	int64_t granted_ms;
	struct part *part;         /* of an MLOCK that is not answered yet: told to nobody; NULL: none */
	int64_t ends_ms;           /* LEASE or MAXHOLD, or its withholding; TIMER_NEVER */
	int64_t ceiling_ms;        /* MAXHOLD alone: how far EXTEND may go; TIMER_NEVER */
	int64_t told_until_ms;     /* nobody can be told of more than this; TIMER_NEVER: somebody can */
	bool leased;               /* LEASE was given: not renewed, may be extended */
	enum loss_reason ends_why; /* LEASE or MAXHOLD, whichever comes first */
};

static inline struct slice
grant_owner(const struct grant *g)
{
	return (struct slice){g->bytes, g->owner_n};
}

static inline struct slice
grant_why(const struct grant *g)
{
	return (struct slice){g->bytes + g->owner_n, g->why_n};
}

struct waiter {
	struct freelist_link freed;
	bool once;     /* WAIT 0: the next refusal is its answer */
	bool async;    /* answered by a push */
	bool validity; /* answered with token and validity */
	TAILQ_ENTRY(waiter) in_resource;
	LIST_ENTRY(waiter) in_session;
	struct resource *resource;
	struct session *session;
	struct conn *conn; /* NULL: lost; the session may come back for it (grace.h) */
	struct timer timer;
	enum kind kind;
	int64_t permits;
	int64_t retries;  /* refusals until the next one is its answer; -1: they are not counted */
	int64_t until_ms; /* end of WAIT; TIMER_NEVER */
	int64_t since_ms;
	uint64_t ticket; /* greater than that of everybody who came before */
	int64_t lease_ms;
	int64_t max_hold_ms;
	uint16_t owner_n;
	uint16_t why_n;
	uint16_t id_n;
	struct part *part; /* of an MLOCK, which gets the answer; NULL: none */
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

/* One name of an MLOCK: tried or waited for, then held until all are. */
struct part {
	struct mlock *mlock;
	struct slice name;
	struct waiter *waiter; /* NULL: none */
	struct grant *grant;   /* NULL: none */
	size_t place;          /* in the request */
};

/* An MLOCK that is not answered yet. */
struct mlock {
	struct freelist_link freed;
	TAILQ_ENTRY(mlock) in_dirty;
	bool dirty; /* something changed: schedule it before the step ends */
	struct conn *conn;
	struct timer timer; /* end of WAIT */
	int64_t since_ms;
	struct command lock;  /* what is asked for each name */
	bool once;            /* the next refusal is its answer */
	bool ordered;         /* one name after the other; else all are tried at once */
	bool refused;         /* a name was refused since it was scheduled last, */
	struct reply refusal; /* thus */
	int64_t *tokens;      /* room for the answer */
	size_t count;
	size_t apart; /* parts that are neither held nor waited for, and are counted for the user all the same
		       */
	struct part parts[]; /* by the bytes of their names; the tokens and the texts follow them */
};

/* Permits of a name: see permit_lease.h and slots.h. */
struct slots {
	struct freelist_link freed;
	uint64_t hash;
	size_t n;
	char bytes[];
};

struct permit_lease {
	struct freelist_link freed;
	UT_hash_handle hh; /* by its lease's attempt */
	TAILQ_ENTRY(permit_lease) in_resource;
	struct slots *slots; /* which; not HELD: to be asked for, NULL: any */
	struct slots *offer; /* not HELD: which ones might be had; NULL: none */
	int64_t hint;        /* from which number on to look for free ones */
	struct lease lease;
};

struct permit_leases {
	struct permit_lease_list list;  /* those that nobody holds first */
	struct permit_lease *acquiring; /* the one of them that is asked for; NULL: none */
	int64_t taken;                  /* permits that are held */
};

/* Who waits for a name. Most are held by somebody and wanted by nobody else, and have none. */
struct queue {
	struct freelist_link freed;
	TAILQ_ENTRY(queue) in_core;
	struct resource *resource;
	struct waiter_queue waiters; /* in arrival order */
	uint32_t count;
	uint32_t once;  /* of these, WAIT 0 or at the end of their WAIT */
	uint32_t async; /* and ASYNC */
	/* What a search for deadlocks writes here; without a meaning outside of the search. */
	uint64_t pass;             /* in which its holds were passed, */
	const struct grant *stuck; /* the first one of somebody who cannot go on, as far as was looked */
};

struct resource {
	struct freelist_link freed;
	uint8_t link : 3;
	bool dirty : 1;   /* something changed: schedule it before the step ends */
	bool listens : 1; /* to the ends of somebody else's locks of it */
	bool parts : 1;   /* grants may be parts of an MLOCK */
	int16_t limit;    /* permits that there are; 0: it is locked exclusive and shared */
	uint16_t name_n;
	uint16_t name_at;      /* bytes from here */
	struct resource *next; /* in its chain of names */
	uint32_t hash;         /* of its name; a search of the chain looks no further than here */
	uint32_t grant_count;  /* on all its leases */
	const struct rule *rule;
	struct queue *queue; /* who waits for it; core.nobody: nobody */
	union {
		struct permit_leases permit_leases; /* limit > 0 */
		struct lease lease;                 /* limit == 0. Its seats follow, */
	};
	/* and then the bytes of the name */
};

static inline struct slice
resource_name(const struct resource *r)
{
	return (struct slice){(const char *)r + r->name_at, r->name_n};
}

/* The object that this is part of. */
#define OWNER_OF(part, type, member) ((type *)(void *)((char *)(part)-offsetof(type, member)))

/* Of a lease of permits. */
static inline struct permit_lease *
permit_lease_of(const struct lease *l)
{
	return OWNER_OF(l, struct permit_lease, lease);
}

/* The permits that a lease asks for or consists of, or none. */
static inline struct slice
permit_lease_slots(const struct lease *l)
{
	const struct slots *slots = l->kind == KIND_PERMITS ? permit_lease_of(l)->slots : NULL;

	return slots == NULL ? (struct slice){NULL, 0} : (struct slice){slots->bytes, slots->n};
}

/* Of one lease at one master. */
struct release_key {
	uint64_t attempt;
	uint64_t master;
};

/* A lease given up: its release is repeated until the master confirmed it, or its key ran out. */
struct release {
	struct freelist_link freed;
	UT_hash_handle hh;
	struct timer timer;
	struct release_key of;
	int64_t after_us; /* a confirmation counts from this master's time on: the acquire is dead by then */
	int64_t from_ms;  /* not before: a holder may rely on it until then */
	int64_t give_up_ms; /* the key is gone by itself */
	bool sent;          /* a release is on its way */
	bool confirmed;     /* nothing is there: released once more when the acquire is dead */
	enum kind kind;
	enum interop interop;
	unsigned link;
	const char *key;
	struct slice name;
	int64_t limit;
	int64_t permits;
	struct slice slots; /* n == 0: whatever is ours */
	char bytes[];
};

/* What the configuration says of names, and said before (rules.h). */
struct rules {
	struct rule_set *newest;
	scan_cursor cursor; /* there are older ones: how far the scan of all names has come, */
	struct timer timer; /* and when it goes on */
};

/* The set that is to follow it (masterset_change.c). */
struct masterset_next {
	char text[MASTERSET_TEXT_MAX]; /* empty: none */
	char places[MASTERSET_PLACES_MAX];
	uint32_t tag;
	uint64_t serial; /* greetings that left at this one or later have given it */
};

/* What an administrator has asked for here, until it is answered. */
struct masterset_request {
	bool open;
	conn_id conn;
	enum masters_op op;
	unsigned old;                  /* REPLACE: the slot */
	unsigned newcomers;            /* in the slots behind the members */
	char text[MASTERSET_TEXT_MAX]; /* the next set that it has become; empty: newcomers are still looked
					  at */
	struct timer timer;            /* for so long */
};

/* The set of masters that is agreed on, or would be (masterset.h). */
struct masterset {
	char text[MASTERSET_TEXT_MAX];     /* '<generation> <id>:<way> ...', by id; empty: not known yet */
	char places[MASTERSET_PLACES_MAX]; /* of its members, in that order, for people */
	int64_t generation;                /* of the next one that is composed here */
	int64_t newest;                    /* the greatest that any master has told */
	int64_t over; /* of a later set that took a majority of ours: no earlier one counts */
	struct masterset_next next;
	char dropped[MASTERSET_PLACES_MAX]; /* of the one before, for people */
	struct masterset_request request;
	uint32_t tag;                /* of the set, in every call; 0: none is agreed on */
	bool agreed;                 /* all masters have accepted it once, */
	bool usable;                 /* and no master of ours belongs to another */
	uint64_t serial;             /* grows when greetings have something new to say, */
	uint64_t told;               /* and was that when masterset_news() said so */
	char why[MASTERSET_WHY_MAX]; /* of the last refusal: both sets, and what to do */
};

/* Leases that nobody uses any more are kept until then: so many of them, and no one for longer. */
struct retained {
	int64_t until_ms;
	size_t count;
	int64_t now_ms; /* so many have been let go in this millisecond */
	size_t let_go;
};

/* Whether the daemon stops (drain.h). */
enum drain {
	DRAIN_NONE,
	DRAIN_WAITS, /* it takes nothing new, and holders finish */
	DRAIN_ENDS   /* holders have been told, and nobody is waited for */
};

struct core {
	struct core_settings settings;
	uint64_t secret[2]; /* of the tables that clients choose the keys of (hash.h) */
	struct reserve reserve;
	struct timers timers;
	struct rules rules;
	struct master masters[CORE_SLOTS_MAX]; /* the members, then the newcomers of a change (masterset.h) */
	struct parted parted[PARTED_MAX];      /* each server once, the latest first */
	struct masterset masterset;
	bool reseat; /* the masters are others: leases have to follow before anything else happens (reseat.h),
		      */
	unsigned seats; /* which have so many seats by now */
	/* One master has become three: until then no newcomer can have been admitted, whichever daemon knew
	 * first. */
	int64_t newcomers_until_ms;
	int64_t highest;  /* highest token seen anywhere */
	int64_t past;     /* and that before any master's memory changed last */
	int64_t awake_ms; /* when it went on after it had stood still; 0: it never did */
	bool retry;       /* wake-ups may have been missed: schedule tries everything again */
	struct roster conns;
	struct session *sessions;
	struct session *bound; /* the same sessions, by process */
	struct user *users;
	int64_t heartbeats; /* sessions with a heartbeat */
	struct names names; /* of the resources */
	struct permit_lease *permit_leases;
	struct release *releases;
	struct latch *latches;
	struct latch_quota *latch_quotas;
	uint64_t latch_quotas_memory;   /* the master's, in which they are */
	struct latch_request *requests; /* whose calls are under way, by attempt */
	struct latch_list idle;         /* latches nobody asks about, in the order in which that began */
	size_t idle_count;
	struct dirty dirty;
	struct queue_list queues; /* of all names for which somebody waits */
	struct queue nobody;      /* and of the others */
	bool catches;             /* what is held is being looked at, after a master's state has changed: */
	scan_cursor catching;     /* so far */
	struct timer rescan_timer;
	struct mlock_list mlocks; /* those that were touched */
	struct freelist_row freelist[FREELIST_ROWS];
	uint64_t freelist_used;          /* a bit for each row with somebody dead */
	struct actions *actions;         /* of the step that runs */
	struct now now;                  /* of the step that runs */
	uint64_t chance;                 /* jitter of the step that runs */
	unsigned drew;                   /* how many of its random numbers the step has used */
	uint64_t attempts;               /* the last attempt number used */
	uint64_t tickets;                /* the last one that a waiter has */
	session_id session_ids;          /* the last session id used */
	uint64_t searches;               /* the last pass of a search for deadlocks, */
	struct deferred_checks deferred; /* and those that are due */
	struct core_counts counts;
	size_t acquires; /* leases that are asked for */
	struct retained retained;
	int64_t guarded_ms; /* the longest lease that guards wait for (terms.h) */
	enum drain drain;
	bool left;  /* it ends, and its masters were told: they register it no more */
	bool ended; /* a copy of this process runs; see core_ended() */
};

/* A request came on it, or the answer that kept others from coming is there: see heartbeat.h. */
static inline void
conn_heard(const struct core *core, struct conn *conn)
{
	conn->session->heard_ms = core->now.ms;
}

#endif
