/*
 * latch_data: what the core remembers of a latch that somebody here asks about, who asks, and who
 * made it. A part of state.h, for whoever may look at all of that; latch.h, latch_request.h and latch_quota.h
 * have the functions.
 */
#ifndef CORE_LATCH_DATA_H
#define CORE_LATCH_DATA_H

#include "daemon/core/state.h"

TAILQ_HEAD(latch_request_list, latch_request);

enum latch_request_kind { LATCH_REQUEST_SET, LATCH_REQUEST_DOWN, LATCH_REQUEST_AWAIT, LATCH_REQUEST_COUNT };

/* Where a request is on its way. */
enum latch_request_place {
	LATCH_REQUEST_DUE,   /* the master has to be asked for it, or is being looked at for it */
	LATCH_REQUEST_SENT,  /* SET, DOWN: a call of its own is under way */
	LATCH_REQUEST_WAITS, /* AWAIT: it is not open yet, as far as the master has said */
	LATCH_REQUEST_PLACE_COUNT
};

/* A LATCH request that is not answered yet. */
struct latch_request {
	struct freelist_link freed;
	UT_hash_handle hh; /* SENT: by attempt */
	TAILQ_ENTRY(latch_request) in_place;
	struct latch *latch;
	struct conn *conn; /* NULL: nobody is answered any more; SENT, its vote is waited for */
	enum latch_request_kind kind;
	enum latch_request_place place;
	struct timer timer; /* it is answered then at the latest */
	bool once;          /* the next word of the master is its answer; else an AWAIT that waits */
	bool unsure;        /* SET, DOWN: it may have been carried out, the answer was lost */
	uint64_t since;     /* the last attempt number before it came: answers to those say nothing to it */
	uint64_t attempt;   /* SENT: of its call */
	uint64_t
		memory; /* of the master. SENT: for which that is meant; AWAIT: in which it found the latch */
	uint64_t id; /* of the latch. SET: of its own; DOWN: it was sent for; AWAIT: it waits for; 0: none */
	session_id session;
	int64_t steps;
	int64_t since_ms;
	int64_t ends_ms; /* SET: end of its LEASE; TIMER_NEVER: none was given */
	struct slice tag;
	char bytes[];
};

/* What the master said of a latch, while somebody asks or while it may still be there. */
struct latch {
	struct freelist_link freed;
	UT_hash_handle hh;
	TAILQ_ENTRY(latch) in_idle;
	bool idle; /* nobody asks */
	unsigned link;
	struct timer timer; /* look or send again, or forget it */
	struct latch_request_list
		requests[LATCH_REQUEST_PLACE_COUNT]; /* in the order of their coming there */
	size_t patient;                              /* AWAITs among them that wait */
	uint64_t id;                                 /* 0: not known, or not there */
	uint64_t memory;                             /* the master's, which said so */
	int64_t set;
	int64_t left;
	int64_t ends_ms;        /* it may be there until then */
	bool lost;              /* it, or part of it, has been forgotten since */
	bool stale;             /* who waits wants to know again */
	uint64_t look;          /* attempt of the look under way; 0: none */
	uint64_t look_memory;   /* for which that is meant */
	int64_t again_ms;       /* nothing is sent before */
	enum lease_error error; /* what stood in the way last time */
	struct slice name;
	char bytes[];
};

/* A latch that a user has made here. */
struct latch_quota {
	UT_hash_handle hh;
	uint64_t latch; /* its id */
	struct user *user;
	int64_t cost;
	struct timer timer; /* it may be there until then */
	bool seen;          /* it has been */
};

/* Whether this daemon knows of a latch at the master, or a client asks for one. */
static inline bool
latch_known(const struct core *core)
{
	return core->latches != NULL || core->latch_quotas != NULL;
}

#endif
