/*
 * lease: what this daemon holds at the masters for one name, from the question to the release.
 *
 *      ┌──recovered from a ledger──────────┐
 *      │                                   ▼
 *     NONE ──acquire──▶ ACQUIRING ──won──▶ HELD ──┬─ renew at L/3 (reclaim if a master is guarded)
 *     ▲ │                 │    ▲                  └─ released, lost, expired ──▶ NONE
 *     │ │              not won │retry
 *     │ │                 ▼    │
 *     │ └─pause─────────▶ WAITING      pause: it was released to a foreign client, which has to notice first
 *     └───no waiters─────────┘
 *
 * Each state has data of its own, struct lease_none and so on, which is reached by a function that asserts
 * the state. lease_move() sets it whole: nothing of the state before is left but what was passed on.
 *
 * Validity counts from before a call left: a slow master costs the holder time, never the next holder safety.
 * A lease that is given up is released at the masters (release.c), whatever became of its calls. In leasing/,
 * acquire.c brings a lease from NONE to HELD, and renew.c keeps it there; core.c brings them their answers
 * and timers. lease_vote.h has its votes.
 */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "daemon/core/base/action.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/timers.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct core;
struct previous_owners;
struct grant;
struct resource;
struct round;
struct vote;

/* LEASE_STATE(id, word in INSPECT) */
#define LEASE_STATES(LEASE_STATE)                                                                            \
	LEASE_STATE(NONE, "none")           /* nothing at the masters */                                     \
	LEASE_STATE(ACQUIRING, "acquiring") /* an acquire is under way */                                    \
	LEASE_STATE(WAITING, "waiting")     /* refused; a wake-up or the timer begins the next acquire */    \
	LEASE_STATE(HELD, "held")           /* ours until valid_until_ms */

enum lease_state {
#define LEASE_STATE(id, word) LEASE_##id,
	LEASE_STATES(LEASE_STATE)
#undef LEASE_STATE
		LEASE_STATE_COUNT
};

/* Why the last acquire failed, if not by contention: the error that most masters answered; of two that
 * equally many answered, the later one in this list. */
enum lease_error {
	LEASE_ERROR_NONE,
	LEASE_ERROR_SILENT, /* no answer in time */
	LEASE_ERROR_ERROR,  /* an error of the master, see master.error */
	LEASE_ERROR_KIND,   /* the key holds something that is not our kind of lock */
	LEASE_ERROR_LIMIT   /* the name has another LIMIT at the master */
};

/*
 * What one master has granted of a lease. A lease is ours while a majority of its votes is. Each vote has a
 * validity of its own, which counts from before its last confirmed question left.
 */
struct lease_vote {
	union {
		int64_t valid_until_ms;   /* confirmed until then; 0: not confirmed */
		struct lease_vote *grown; /* lease.votes == 0, the first vote within: where all of them are */
	};
};

/* A lease keeps the index of a master, and how many there are, in four bits. */
#define LEASE_MASTER_BITS 15

/* NONE: what the next acquire has to heed. */
enum lease_pause {
	PAUSE_NONE,
	PAUSE_YIELDED, /* it was released while another daemon waits, which goes first */
	PAUSE_FOREIGN  /* it was released to a foreign client, which has to notice first */
};

struct lease_none {
	enum lease_pause pause;
};

/* Which masters have been asked so far. */
enum acquire_scope {
	ACQUIRE_ALL,
	ACQUIRE_QUEUE_MASTER /* the queue master alone */
};

/* What has come since the round began. */
enum acquire_hint {
	HINT_NONE,
	HINT_CHANGE, /* a wake-up or a master: a refusal is out of date */
	HINT_CALL    /* the queue master has called us */
};

struct lease_acquiring {
	int64_t change_ms; /* ms until something can change, says the queue master; 0: not said */
	enum acquire_scope scope : 8;
	enum acquire_hint hint : 8;
	bool refused;   /* the round before this one ended with a refusal */
	bool wanted;    /* another daemon waits for what this round may have been granted */
	bool contended; /* another daemon has the lease at some master */
	bool lasts;     /* the queue master names the same holder as last time */
};

/* WAITING: what for. */
enum lease_wait {
	WAIT_FOREIGN, /* a foreign client, to which it was just released, has to notice first */
	WAIT_OPEN,    /* no refusal: the round was left to another daemon, or nothing was answered */
	WAIT_REFUSED, /* the round ended with a refusal, which has not been counted yet */
	WAIT_COUNTED  /* and has been */
};

struct lease_waiting {
	enum lease_wait why;
};

/* Shared: whether a writer that waits here has a position in the queue of the masters. */
enum writer_position {
	WRITER_NONE, /* no writer waits */
	WRITER_DUE,  /* the queue master has not been asked for one yet */
	WRITER_QUEUED
};

/* What has become of the last round of a held lease. */
enum lease_renewal {
	RENEWAL_DONE,
	RENEWAL_ASKING, /* it is under way */
	RENEWAL_DRY     /* it brought no tokens though few were left */
};

struct lease_held {
	int64_t valid_until_ms; /* surely ours until then */
	int64_t refresh_at_ms;  /* when to renew */
	int64_t idle_until_ms;  /* unused, released then unless a client wants the name again; 0: in use */
	int64_t token;          /* next fencing token; token > token_last: none left */
	int64_t token_last;
	int32_t block;      /* how many tokens the block had */
	uint8_t dry_rounds; /* rounds in a row that brought no tokens though few were left */
	uint8_t noted; /* a bit for each vote: a reclaim has been noted, and the guard is not over for it */
	enum lease_renewal renewal : 2;
	enum writer_position writer : 2;
	bool served : 1;         /* a client was granted the lock on this lease */
	bool again : 1;          /* and then one more: the name is in use. Not saved */
	bool sampled : 1;        /* retained to see whether a client comes back. Not saved */
	bool wanted : 1;         /* another daemon waits, or a foreign client may wait unseen */
	enum kind confirmed : 8; /* the kind that a majority of the masters has */
};

/* The data of a lease in its state. */
union lease_data {
	struct lease_none none;
	struct lease_acquiring acquiring;
	struct lease_waiting waiting;
	struct lease_held held;
};

struct lease {
	struct resource *resource;
	struct round *round;  /* NULL: none, the lease is at rest */
	struct grant *grants; /* holds on this lease: the durable ones first (ledger.h), else the oldest; a
				 list of utlist.h */
	uint64_t attempt;
	union lease_data data; /* of its state: reached by lease_held() and the like alone */
	int32_t term_ms;       /* the term that the last round asked for; the rule may have changed since */
	struct timer timer;
	int16_t permits; /* PERMITS: how many */
	uint8_t ours;    /* a bit for each vote: the master granted it, and has not revoked it */
	uint8_t odd;     /* a bit for each vote: granted there, but permits that we do not keep */
	enum lease_state state : 8;
	uint8_t queue_master : 4;   /* the master that keeps the queue of this name */
	uint8_t votes : 4;          /* how many are within; 0: the masters have become more, and none is */
	enum kind kind : 8;         /* what is asked for, and what we count the lease as from then on */
	struct dirty_item changed;  /* in core.lease_changes */
	struct lease_vote within[]; /* its votes, one for each master; see lease_vote_of() */
};

/* The data of its state; in another state there is none. Functions that only read have the lease as const, so
 * these take it as const, like strchr(). A function that has it as const must not change the data. */
static inline struct lease_none *
lease_none(const struct lease *l)
{
	assert(l->state == LEASE_NONE);
	return (struct lease_none *)(uintptr_t)&l->data.none;
}

static inline struct lease_acquiring *
lease_acquiring(const struct lease *l)
{
	assert(l->state == LEASE_ACQUIRING);
	return (struct lease_acquiring *)(uintptr_t)&l->data.acquiring;
}

static inline struct lease_waiting *
lease_waiting(const struct lease *l)
{
	assert(l->state == LEASE_WAITING);
	return (struct lease_waiting *)(uintptr_t)&l->data.waiting;
}

static inline struct lease_held *
lease_held(const struct lease *l)
{
	assert(l->state == LEASE_HELD);
	return (struct lease_held *)(uintptr_t)&l->data.held;
}

/* ---- its states, and what all of them share ---- */

/* NONE, of this name. votes: how many it has room for within; its memory is all zero. */
void lease_init(struct lease *l, struct resource *r, unsigned votes);

/* HELD: ends the round if nothing in it is needed any more. */
void lease_quiet(struct core *core, struct lease *l);

/* A waiting daemon repeats that it waits; if it is not heard for so long, it may be gone. */
#define LEASE_WANT_MS  3000
/* Lifetime of our position in the queue; each retry refreshes it. */
#define LEASE_QUEUE_MS 3000

/* NONE, and not used again: frees what belongs to it. */
void lease_done(struct core *core, struct lease *l);

/* Whether a held lease is lost, and why. */
enum lease_loss {
	LEASE_KEPT,
	LEASE_EXPIRED, /* its validity is over */
	LEASE_TAKEN,   /* the masters no longer know it */
	LEASE_REFUSED  /* a master that forgot gave the name to another daemon */
};

/* HELD, and lost: no hold stands on it any more. Holders may rely on it until from_ms; 0: none does. NONE
 * afterwards. */
void lease_lose(struct core *core, struct lease *l, int64_t from_ms);

/* HELD: what the ledger says of it has changed. */
void lease_changed(struct core *core, struct lease *l);

/* Only to a state that the picture allows. data: all that it has in that state. */
void lease_move(struct core *core, struct lease *l, enum lease_state next, const union lease_data *data);

/* NONE from now on. Forgets all that belonged to the last lease; what it has at the masters has been released
 * before. */
void lease_end(struct core *core, struct lease *l, enum lease_pause pause);

/* Whether the last round ended with a refusal, as far as is known: while the next one is under way, it still
 * counts. */
bool lease_refused(const struct lease *l);

/* Another daemon waits for it. */
bool lease_wanted(const struct lease *l);

/* Begins a round: one term, one token to propose and one size of block for all masters. */
void lease_round(struct core *core, struct lease *l, int64_t term_ms, int64_t block);

/* Accepts an answer to one of its questions. False: the answer is about an attempt that was given up; a
 * release is under way. */
bool lease_answered(struct core *core, struct lease *l, const struct vote *vote);

/* Until when a lease asked for at sent_ms is valid; and when to renew it. */
int64_t lease_valid_from(const struct lease *l, int64_t sent_ms);
int64_t lease_refresh_at(const struct lease *l, int64_t sent_ms);

/* HELD: the timer for its end, or for refresh_at_ms if that is earlier. */
void lease_arm(struct core *core, struct lease *l);

/* HELD: releases it at the masters. WAITING: leaves the queue there. NONE afterwards. */
void lease_give_back(struct core *core, struct lease *l);
void lease_stop_waiting(struct core *core, struct lease *l);

/* In any state, without holders: gives up all of it. */
void lease_drop(struct core *core, struct lease *l);

/* Gives up our position in the queue, if there is one; or that at a master that was the queue master before.
 */
void lease_leave_queue(struct core *core, struct lease *l);
void lease_leave_queue_at(struct core *core, const struct lease *l, unsigned master);

/* The master calls us as the head of the queue of a name for which no client here waits: our LEAVE did not
 * reach it when the last waiter left. Leaves the queue, so that no client elsewhere waits for us until our
 * position expires. The name lives until the next step. */
void lease_leave_stale_queue(struct core *core, struct slice name, unsigned master);

/* HELD and shared: enters the queue of the masters for a writer that waits here, and stays in it until the
 * lease is given back, so that no more readers join elsewhere; leaves it. */
void lease_enqueue_writer(struct core *core, struct lease *l);
void lease_dequeue_writer(struct core *core, struct lease *l);

/* Another daemon has said that it waits for it. */
void lease_want(struct core *core, struct lease *l);

/* HELD, with a majority, and surely valid for long enough that a grant can be given on it: half the lease. */
bool lease_good(const struct core *core, const struct lease *l);

/* HELD: until when its holders may rely on it, by what was announced to them: its validity, or the later one
 * from before clocks shortened it. */
int64_t lease_announced_until_ms(const struct lease *l);

/* Another daemon waits, and has waited for the streak or for its time. */
bool lease_must_yield(const struct core *core, const struct lease *l);

/* Keeps a block of tokens that a majority agreed on, if there is one. */
void lease_take_tokens(struct core *core, struct lease *l);

/* The next fencing token; 0: none left, renew first. */
int64_t lease_token(struct core *core, struct lease *l);

/* Tells the log, EVENTS and the counters of this lease. */
void lease_note(struct core *core, enum note_type type, const struct lease *l, int64_t token, int64_t ms,
	const char *text);

/* For core_free(): frees what belongs to it. No hold stands on it. */
void lease_free(struct lease *l);

#endif
