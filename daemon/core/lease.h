/*
 * lease: what this daemon holds at the masters for one name, from the question to the release.
 *
 *      ┌──recovered from a ledger──────────┐
 *      │                                   ▼
 *     NONE ──acquire──▶ ACQUIRING ──won──▶ HELD ──┬─ renew at L/3 (reclaim if a master is guarded)
 *     ▲ │                 │    ▲                  └─ released, lost, expired ──▶ NONE
 *     │ │              not won │retry
 *     │ │                 ▼    │
 *     │ └─rest──────────▶ WAITING      rest: it was released to a foreign client, which has to notice first
 *     └───no waiters─────────┘
 *
 * Each state has data of its own, struct lease_none and so on, which is reached by a function that asserts
 * the state. lease_move() sets it whole: nothing of the state before is left but what was passed on.
 *
 * Validity counts from before a call left: a slow master costs the holder time, never the next holder safety.
 * A lease that is given up is released at the masters (release.c), whatever became of its calls. acquire.c
 * brings a lease from NONE to HELD, renew.c keeps it there; both build on lease.c, and core.c brings them
 * their answers and timers. quorum.h has its votes.
 */
#ifndef CORE_LEASE_H
#define CORE_LEASE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/timers.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct core;
struct former;
struct grant;
struct reply;
struct resource;
struct round;
struct waiter;

/* LEASE_STATE(id, word in INSPECT) */
#define LEASE_STATES(LEASE_STATE)                                                                            \
	LEASE_STATE(NONE, "none")           /* nothing at the masters */                                     \
	LEASE_STATE(ACQUIRING, "acquiring") /* an acquire is under way */                                    \
	LEASE_STATE(WAITING, "waiting")     /* refused; a wake-up or the timer begins the next acquire */    \
	LEASE_STATE(HELD, "held")           /* ours until valid_ms */

enum lease_state {
#define LEASE_STATE(id, word) LEASE_##id,
	LEASE_STATES(LEASE_STATE)
#undef LEASE_STATE
		LEASE_STATE_COUNT
};

/* Why the last acquire failed, if not by contention: the error that most masters told; of two that equally
 * many told, the later one in this list. */
enum lease_error {
	LEASE_ERROR_NONE,
	LEASE_ERROR_SILENT, /* no answer in time */
	LEASE_ERROR_ERROR,  /* an error of the master, see master.error */
	LEASE_ERROR_KIND,   /* the key holds something that is not our kind of lock */
	LEASE_ERROR_LIMIT   /* the name has another LIMIT at the master */
};

/*
 * The lease at one master. A lease is ours while a majority of its seats is. Each seat has a validity of its
 * own, which counts from before its last confirmed question left.
 */
struct seat {
	union {
		int64_t valid_ms;   /* confirmed until then; 0: not confirmed */
		struct seat *grown; /* lease.seats == 0, the first seat within: where all of them are */
	};
};

/* Masters that a lease can tell apart. */
#define LEASE_MASTERS 15

/* NONE: what the next acquire has to heed. */
enum lease_rest {
	REST_NONE,
	REST_YIELDED, /* it was released while another daemon waits, which goes first */
	REST_FOREIGN  /* it was released to a foreign client, which has to notice first */
};

struct lease_none {
	enum lease_rest rest;
};

/* Which masters have been asked so far. */
enum acquire_scope {
	ACQUIRE_ALL,
	ACQUIRE_QUEUE_MASTER /* the queue master alone */
};

/* What has come since the round began. */
enum acquire_news {
	NEWS_NONE,
	NEWS_CHANGE, /* a wake-up or a master: a refusal is out of date */
	NEWS_CALL    /* the queue master has called us */
};

struct lease_acquiring {
	int64_t change_ms; /* ms until something can change, says the queue master; 0: not said */
	enum acquire_scope scope : 8;
	enum acquire_news news : 8;
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

/* Shared: the place in the queue that is kept for a writer that waits here. */
enum lease_line {
	LINE_NONE, /* no writer waits */
	LINE_DUE,  /* the queue master has not been asked for one yet */
	LINE_KEPT
};

/* What has become of the last round of a held lease. */
enum lease_renewal {
	RENEWAL_DONE,
	RENEWAL_ASKING, /* it is under way */
	RENEWAL_DRY     /* it brought no tokens though few were left */
};

struct lease_held {
	int64_t valid_ms;   /* surely ours until then */
	int64_t refresh_ms; /* when to renew */
	int64_t idle_ms;    /* unused, released then unless a client wants the name again; 0: in use */
	int64_t token;      /* next fencing token; token > token_last: none left */
	int64_t token_last;
	int32_t block; /* how many tokens the block had */
	uint8_t vain;  /* rounds in a row that brought no tokens though few were left */
	uint8_t noted; /* a bit for each seat: a reclaim has been noted, and the guard is not over for it */
	enum lease_renewal renewal : 2;
	enum lease_line line : 2;
	bool served : 1;    /* a client was granted the lock on this lease */
	bool again : 1;     /* and then one more: the name is in use. Not saved */
	bool on_trial : 1;  /* kept to see whether a client comes back. Not saved */
	bool wanted : 1;    /* another daemon waits, or a foreign client may wait unheard */
	enum kind told : 8; /* what a majority of the seats has been told */
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
	uint8_t ours;    /* a bit for each seat: the master granted it, and has not revoked it */
	uint8_t odd;     /* a bit for each seat: granted there, but permits that we do not keep */
	enum lease_state state : 8;
	uint8_t queue_master : 4; /* the master that keeps the queue of this name */
	uint8_t seats : 4;        /* how many are within; 0: the masters have become more, and none is */
	enum kind kind : 8;       /* what is asked for, and what we count the lease as from then on */
	struct seat within[];     /* its seats, one for each master; see seat_of() */
};

/* The data of its state; in another state there is none. Functions that only look have the lease as const, so
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

/* NONE, of this name, with so many seats within; its memory is all zero. */
void lease_init(struct lease *l, struct resource *r, unsigned seats);

/* HELD: ends the round if nothing in it is needed any more. */
void lease_quiet(struct core *core, struct lease *l);

/* A waiting daemon repeats that it waits; if it is not heard for so long, it may be gone. */
#define LEASE_WANT_MS  3000
/* Lifetime of our place in the queue; each retry refreshes it. */
#define LEASE_PLACE_MS 3000

/* NONE, and not used again: frees what belongs to it. */
void lease_done(struct core *core, struct lease *l);

/* Only to a state that the picture allows. data: all that it has in that state. */
void lease_move(struct core *core, struct lease *l, enum lease_state next, const union lease_data *data);

/* NONE from now on. Forgets all that belonged to the last lease; what it has at the masters has been released
 * before. */
void lease_end(struct core *core, struct lease *l, enum lease_rest rest);

/* Whether the last round ended with a refusal, as far as is known: while the next one is under way, it still
 * counts. */
bool lease_refused(const struct lease *l);

/* Another daemon waits for it. */
bool lease_wanted(const struct lease *l);

/* Begins a round: one term, one token to propose and one size of block for all masters. */
void lease_round(struct core *core, struct lease *l, int64_t term_ms, int64_t block);

/* Accepts an answer to one of its questions. False: the answer is about an attempt that was given up; a
 * release is under way. */
bool lease_heard(struct core *core, struct lease *l, const struct vote *vote);

/* Until when a lease asked for at sent_ms is valid; and when to renew it. */
int64_t lease_valid_from(const struct lease *l, int64_t sent_ms);
int64_t lease_refresh_at(const struct lease *l, int64_t sent_ms);

/* HELD: the timer for its end, or for refresh_ms if that is earlier. */
void lease_arm(struct core *core, struct lease *l);

/* HELD: releases it at the masters. WAITING: leaves the queue there. NONE afterwards. */
void lease_give_back(struct core *core, struct lease *l);
void lease_leave(struct core *core, struct lease *l);

/* In any state, without holders: gives up all of it. */
void lease_drop(struct core *core, struct lease *l);

/* Gives up our place in the queue, if there is one; or that at a master that was the queue master before. */
void lease_leave_queue(struct core *core, struct lease *l);
void lease_leave_at(struct core *core, const struct lease *l, unsigned master);

/* That master calls us as the head of the queue of a name that no client here waits for: gives up a place
 * that was left there, because the link was down when the last waiter left. Otherwise every client elsewhere
 * would wait for us again and again until the place ends. The name lives until the next step. */
void lease_leave_left(struct core *core, struct slice name, unsigned master);

/* HELD and shared: keeps a place in the queue for a writer that waits here, until the lease is given back, so
 * that no more readers join elsewhere; and stops doing so. */
void lease_line_up(struct core *core, struct lease *l);
void lease_line_off(struct core *core, struct lease *l);

/* Another daemon has said that it waits for it. */
void lease_want(struct core *core, struct lease *l);

/* HELD, with a majority, and surely valid for long enough that a grant can be given on it: half the lease. */
bool lease_good(const struct core *core, const struct lease *l);

/* HELD: until when its holders may rely on it, by what they were told: its validity, or the later one from
 * before clocks shortened it. */
int64_t lease_told_ms(const struct lease *l);

/* Another daemon waits, and has waited for the streak or for its time. */
bool lease_must_yield(const struct core *core, const struct lease *l);

/* Whether a writer holds it here. */
bool lease_written(const struct lease *l);

/* HELD, and not of permits: neither a hold here nor a daemon that waits elsewhere is in this waiter's way. */
bool lease_open(const struct core *core, const struct lease *l, const struct waiter *w);

/* Keeps a block of tokens that a majority agreed on, if there is one. */
void lease_take_tokens(struct core *core, struct lease *l);

/* The next fencing token; 0: none left, renew first. */
int64_t lease_token(struct core *core, struct lease *l);

/* For core_free(): frees its holds, and what else belongs to it. */
void lease_free(struct lease *l);

/*
 * acquire.c: a round that asks the masters for a lease, from the first question to the lease or the refusal.
 *
 * All masters that can be asked are asked at once. A majority wins; a minority is released at once, on the
 * same links. One of the masters, the queue master, keeps the queue of the name. Its "not your turn" counts
 * whatever the other masters say, and it says when to ask again.
 *
 * A daemon that has released the lease while another daemon waits, or that is behind others in the queue,
 * asks the queue master alone at first. So it does not take a master from the daemon whose turn it is. It
 * asks the other masters only if the queue master has no objection, if this daemon turns out to be the head
 * of the queue, or if the queue master names the same holder as last time: a holder that is gone may be
 * remembered there alone. If a round has no winner, its daemons ask again soon, at different times.
 */

/* NONE or WAITING: begins a round, for what the first waiter wants. A majority must be usable
 * (quorum_usable). */
void acquire_begin(struct core *core, struct lease *l);

/* NONE, with REST_FOREIGN: leaves time for a foreign client, which has no place in our queue, and then asks
 * again. */
void acquire_rest(struct core *core, struct lease *l);

/* ACQUIRING: handles an answer that lease_heard() has accepted. */
void acquire_vote(struct core *core, struct lease *l, const struct vote *vote);

/* ACQUIRING: the answers take too long. WAITING: time to ask again. */
void acquire_timer(struct core *core, struct lease *l);

/* That master sent a wake-up for this name: the queue master calls the head of its queue. */
void acquire_called(struct core *core, struct lease *l, unsigned master);

/* A wake-up may have been missed, or a master can be asked again. This does not make us the head of the
 * queue: with several masters, one of them may come and go many times a second, and if each time counted as a
 * call, this daemon would take the others from the daemon whose turn it is. */
void acquire_look(struct core *core, struct lease *l);

/* WAITING, and no majority can be asked: gives up our place in the queue, and forgets a lock of another kind
 * or limit that was found there. */
void acquire_step_back(struct core *core, struct lease *l);

/*
 * renew.c: a lease that is held, kept while it is needed.
 *
 * At L/3 a round asks every seat: ours are renewed, missing ones are acquired again, and those at a guarded
 * master are reclaimed. A majority keeps the lease. What failed is tried again while the lease lasts.
 */

/* HELD, in all functions of renew.c. Asks for more time, and for tokens if they run short. Does nothing
 * while a round is under way. If no master can be asked, the timer comes back. */
void renew_begin(struct core *core, struct lease *l);

/* A waiter wants it, and its validity is too short for a grant: refreshes it now, unless that happens soon
 * anyway. */
void renew_now(struct core *core, struct lease *l);

/* EXCLUSIVE with readers alone: shared with other daemons from now on. It counts as shared at once. The
 * masters are told by a round, or by the next one if one is under way. */
void renew_shared(struct core *core, struct lease *l);

/* A master is back: refreshes the lease if that was due and failed. */
void renew_catch_up(struct core *core, struct lease *l);

/* This master forgot: asserts the lease there. */
void renew_reclaim(struct core *core, struct lease *l, unsigned master);

/* After seat_shorten(): the lease is valid for as long as a majority of its seats is, and lost after that. */
void renew_shortened(struct core *core, struct lease *l);

/* A seat was emptied. The lease is lost if it has no seat left, and asked for again if no answer is to
 * come. */
void renew_emptied(struct core *core, struct lease *l);

/* Fetches the next block of tokens in time, so that a hand-off never waits for one. Does nothing if the
 * masters have just given none; the timer comes back. */
void renew_tokens(struct core *core, struct lease *l);

/* An answer that lease_heard() has taken. */
void renew_vote(struct core *core, struct lease *l, const struct vote *vote);
void renew_timer(struct core *core, struct lease *l);

/*
 * adopt.c: a lease that an earlier process of this daemon had, by its ledger (ledger.h).
 *
 * It is HELD at once, until the deadline that its holders were told. Its key belongs to the former owner at
 * each master, and the lease has an attempt number of its own: so a master that has not adopted it is asked
 * ADOPT in place of RENEW. A yes makes the seat ours as any other. After a no the seat is missing, and is
 * acquired as any other (R6). No answer leaves it open: then it is asked again.
 *
 * All seats count until that deadline, which a majority gave to the former owner: nothing is told that was
 * not told before. Only a majority of yes adds to it. A crash in the middle leaves some masters with one
 * owner and some with the other: the next process names both. A guarded master is asked RECLAIM, which names
 * them, too: what an earlier process has reclaimed in the same guard is no newer lease of another daemon.
 *
 * An adoption changes to whom a key belongs, so what holds for an acquire holds for it. It refuses itself
 * when the lease is over, it is released when the lease is given up, and if it was not answered, it is
 * released again after its deadline (R2). What the former owner still had under way names the former owner.
 * It renews and releases nothing after the adoption; before it, it did what its process wanted then.
 */

struct lease_past {
	enum kind kind;
	int16_t permits;       /* PERMITS: how many */
	struct slice slots;    /* PERMITS: which, as the masters name them */
	int64_t valid_ms;      /* now < valid_ms <= now + term_ms */
	int32_t term_ms;       /* > 0 */
	int64_t token;         /* the newest of its tokens (round_newest()), > 0 */
	const char *daemon_id; /* of that process, 32 hexadecimal digits */
	uint64_t attempt;      /* the lease's, there */
	struct slice former;   /* the lease's former owners, there (former_fits()); n == 0: none */
	bool asked;            /* false: it had former owners, and no master has been asked to adopt it */
};

/* Whether the text can be former owners, at most FORMER_MAX; n == 0: none. */
bool former_fits(struct slice owners);

/*
 * The lease is HELD from now on, as if all masters had given it; it has no hold yet. A name without LIMIT has
 * no lease before, and is of no lease's name; a name with LIMIT gets a permit lease more. core->now and
 * core->random are set. NULL: out of memory.
 */
struct lease *lease_recover(struct core *core, struct resource *r, const struct lease_past *past)
	__attribute__((warn_unused_result));

/* The text of its former owners, for its entry in the ledger; n == 0: all masters have adopted it. */
struct slice lease_former_owners(const struct lease *l);

/* False: it has former owners, and no master has been asked to adopt it; likewise for the ledger. */
bool lease_former_asked(const struct lease *l);

/* A master is asked to adopt it now. */
void seat_adopts(struct core *core, struct lease *l);
/* This master has adopted it, or not. */
void seat_adopted(struct core *core, struct lease *l, unsigned master);

/* The former owners of a lease, in these seats. NULL: out of memory. */
struct former *former_new(struct core *core, struct slice owners, uint8_t seats)
	__attribute__((warn_unused_result));

/* For round_end(). */
void former_end(struct core *core, struct lease *l);

/*
 * retain.c: how long a lease is kept that no client here uses.
 *
 * A name that was granted more than once is in use, as is a semaphore, and is kept for settings.retain_ms.
 * Whether a client comes back to a name that was granted once, the daemon cannot know: it goes by its
 * experience with such names of the same rule. If clients came back to few of them, the daemon gives the
 * lease back. It does so at once if many leases have been asked for since this one was: many clients are at
 * work then, and the release leaves with those of others. Otherwise the release waits a moment, so that the
 * releases of a few clients are one call, and compete with few of their acquires. The daemon retains one such
 * lease in many all the same, to see whether its experience is still right.
 */

/* HELD: a client is granted the lock on it now. */
void lease_serve(struct core *core, struct lease *l);

/* Whether a lease without holders and waiters here is kept for a while: for a client that locks the name
 * again soon, and only until another daemon wants it. */
bool lease_retain(struct core *core, struct lease *l);
/* Its time is over: whether it is given back in this step. False: it is kept a little longer, because enough
 * others are given back; this happens after this process had been kept from running. */
bool lease_let_go(struct core *core, struct lease *l);

/*
 * release.c: leases given up, released at the master until it confirms that they are gone.
 *
 * An acquire whose answer was lost may still be executed. So its release is sent at once on the same link,
 * and again until a confirmation carries a master's time later than the acquire's own deadline: from then on
 * the acquire refuses itself. The expiry of the key is the last resort.
 *
 * What a master has not adopted is a former owner's there, and no release ends it. So the release follows an
 * ADOPT on the same link, which asks for no more time than is left: if it comes late, it only gives the key
 * another name until it expires. Otherwise a client that comes back after a crash, and unlocks before the
 * masters are back, would leave its names locked for a lease.
 */

/* One lease at one master. */
struct release_key {
	uint64_t attempt;
	uint64_t master;
};

/* A lease given up: its release is repeated until the master confirms it, or its key has expired. */
struct release {
	struct freelist_link freed;
	UT_hash_handle hh;
	struct timer timer;
	struct release_key of;
	int64_t after_us;   /* a confirmation of this master's time or later is final: the acquire is dead */
	int64_t from_ms;    /* not sent earlier: a holder may rely on the lease until then */
	int64_t give_up_ms; /* the key has expired by then */
	bool sent;          /* a release is on its way */
	bool confirmed;     /* the lease is not there: released once more when the acquire refuses itself */
	enum kind kind;
	enum interop interop;
	unsigned link;
	const char *key;
	struct slice name;
	int64_t limit;
	int64_t permits;
	struct slice slots;  /* n == 0: all that are ours */
	struct slice former; /* as in a call, of what was not adopted; n == 0: it is ours. Is not saved */
	char bytes[];
};

/* Releases this lease as it is now: every seat that is ours or may be. place_ms: how long the daemon keeps a
 * place at the head of the queue at the queue master; 0: it takes none. */
void release_seats(struct core *core, const struct lease *l, int64_t place_ms);

/* The same, but no release leaves before from_ms: holders of this lease may rely on it until then. */
void release_seats_from(struct core *core, const struct lease *l, int64_t from_ms);

/* From now on it is found by its attempt and its master. False: out of memory, or there is one. */
bool release_add(struct core *core, struct release *release) __attribute__((warn_unused_result));

/* The release of this attempt at this master; NULL: none. */
struct release *release_find(const struct core *core, uint64_t attempt, unsigned master);

void release_vote(struct core *core, const struct vote *vote);
/* The slot is another server from now on, which has no lease of ours. */
void release_leave(struct core *core, unsigned master);
void release_timer(struct core *core, struct release *u);

/* A master is in use again: sends the releases that no answer has confirmed, and those that came due
 * meanwhile. A confirmed one is sent again after its acquire can no longer run. */
void release_retry_all(struct core *core);

/* For core_free(). */
void release_free_all(struct core *core);

/*
 * Refusals: the answer of a client that cannot have a name now: null if others hold it or come before, else
 * the error that stands in the way. Null never means anything else.
 */

/* Others have it. */
void refusal_null(struct reply *out);

/* No session here stands in the way: why the masters cannot be asked, or what they last said of this lease.
 * NULL: no lease has been asked for. */
void refusal_masters(
	const struct core *core, const struct resource *r, const struct lease *l, struct reply *out);

/* A session here has it, or this daemon has the lease and a majority of the masters is usable. Without a
 * majority a lease that no session has does not count: what is wrong then is the missing masters. */
bool refusal_taken(const struct core *core, const struct resource *r);

/* The lease is ours, but not for this waiter: another session has it, or the masters refuse this daemon, and
 * no waiter gets it. */
void refusal_shut(const struct core *core, const struct resource *r, struct reply *out);

/* Of a LOCK without a waiter: as refusal_shut() if the name is held here, else what the masters said of
 * it. */
void refusal_name(const struct core *core, const struct resource *r, struct reply *out);

/* Whether a LOCK that tries once can be refused without the masters: a session here holds the name, or waits
 * for it without success. */
bool refusal_hopeless(const struct resource *r, enum kind kind);

/* Whether the name may be had later: others hold it, or masters are away. False: any other error, or no
 * refusal. */
bool refusal_may_pass(const struct reply *reply);

#endif
