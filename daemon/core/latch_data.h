/*
 * latch_data: what the core remembers of a latch that requests here are about, of these requests, and of the
 * users that made latches. A part of state.h, for files of the core that need all of that; latch.h,
 * latch_request.h and latch_quota.h have the functions.
 */
#ifndef CORE_LATCH_DATA_H
#define CORE_LATCH_DATA_H

#include "daemon/core/state.h"

TAILQ_HEAD(latch_request_list, latch_request);

enum latch_request_kind { LATCH_REQUEST_SET, LATCH_REQUEST_DOWN, LATCH_REQUEST_AWAIT, LATCH_REQUEST_COUNT };

/* How far a request has come. */
enum latch_request_place {
	LATCH_REQUEST_DUE,   /* the master has to be asked, or a look is under way */
	LATCH_REQUEST_SENT,  /* SET, DOWN: a call of its own is under way */
	LATCH_REQUEST_WAITS, /* AWAIT: not open yet, by what the master has said */
	LATCH_REQUEST_PLACE_COUNT
};

/* A LATCH request that is not answered yet. */
struct latch_request {
	struct freelist_link freed;
	UT_hash_handle hh; /* SENT: by attempt */
	TAILQ_ENTRY(latch_request) in_place;
	struct latch *latch;
	struct conn *conn; /* NULL: gone, no answer is given; SENT: only the vote is waited for */
	enum latch_request_kind kind;
	enum latch_request_place place;
	struct timer timer; /* answered then at the latest */
	bool once;          /* the master's next answer is its answer; false: an AWAIT that waits */
	bool unsure;        /* SET, DOWN: it may have been carried out: the answer was lost */
	uint64_t since;     /* the last attempt before it came: answers to earlier ones are none to it */
	uint64_t attempt;   /* SENT: of its call */
	uint64_t memory;    /* the master's. SENT: the one the call is meant for; AWAIT: in which it found the
			       latch */
	uint64_t id; /* of the latch. SET: its own; DOWN: the one it was sent for; AWAIT: the one it waits
			for; 0: none */
	session_id session;
	int64_t steps;
	int64_t since_ms;
	int64_t ends_ms; /* SET: end of its LEASE; TIMER_NEVER: none was given */
	struct slice tag;
	char bytes[];
};

/* What the master said of a latch, kept while requests are about it or while it may still exist. */
struct latch {
	struct freelist_link freed;
	UT_hash_handle hh;
	TAILQ_ENTRY(latch) in_idle;
	bool idle; /* no request is about it */
	unsigned link;
	struct timer timer;                                            /* ask again, or forget it */
	struct latch_request_list requests[LATCH_REQUEST_PLACE_COUNT]; /* each in order of arrival */
	size_t patient;  /* how many of these are AWAITs that wait */
	uint64_t id;     /* 0: not known, or there is none */
	uint64_t memory; /* the master's memory that said so */
	int64_t set;
	int64_t left;
	int64_t ends_ms;        /* it may exist until then */
	bool lost;              /* the master's memory has changed since: it may lack steps */
	bool stale;             /* AWAITs have to be brought up to date */
	uint64_t look;          /* attempt of the look under way; 0: none */
	uint64_t look_memory;   /* the memory for which the look is meant */
	int64_t again_ms;       /* nothing is sent before then */
	enum lease_error error; /* the last error */
	struct slice name;
	char bytes[];
};

/* A latch that a user has made here. */
struct latch_quota {
	UT_hash_handle hh;
	uint64_t latch; /* its id */
	struct user *user;
	int64_t cost;
	struct timer timer; /* it may exist until then */
	bool seen;          /* the master has said that it exists */
};

/* Whether this daemon knows of a latch at the master, or a client asks for one. */
static inline bool
latch_known(const struct core *core)
{
	return core->latches != NULL || core->latch_quotas != NULL;
}

#endif
