/*
 * lease_vote: the vote of one master for the lease of one name.
 *
 * A master is asked one question at a time and gives one answer to it: ACQUIRE takes its vote, or takes it
 * again where it was missed; RENEW keeps it; RECLAIM asserts it where the master is guarded; ADOPT keeps the
 * vote for a recovered lease, where the key may still be a previous owner's (previous_owners.h). The validity
 * of a vote counts from before the question left. The lease is valid for as long as a majority of its votes
 * is.
 */
#ifndef CORE_LEASE_VOTE_H
#define CORE_LEASE_VOTE_H

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/call.h"
#include "daemon/core/lease/lease.h"
#include "proto/name.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

/* What one master is being asked, and what it said last. */
struct question {
	uint64_t incarnation; /* of the master's memory, when it was asked last */
	int64_t yes_until_ms; /* the vote's valid_until_ms, if the answer under way is a yes */
	int64_t deadline_us;  /* asking: the master's time after which the question refuses itself; 0: the
				 question cannot create a lease */
	int64_t unsure_us;    /* an unanswered question may create the lease until then; 0: none */
	uint64_t holder;      /* the holder that the last refusal named, as a hash; 0: none */
	uint64_t slots;       /* permits granted there or, if not ours, on offer there, as a hash; 0: none */
	int64_t token_first;  /* first token raised there in this round; 0: none */
	int64_t token_last;
	bool asking;                /* a question is under way */
	bool late;                  /* the one retry after LATE has been used */
	enum lease_error error : 8; /* ACQUIRING: the error there; a refusal is none */
};

#define FOREIGN_MAX 64 /* owner text stored for INSPECT */
#define SPLIT_MOST  6  /* rounds in a row without a winner; then the last one counts as a refusal */
#define DOUBTS_MOST 2  /* questions again after a lock of another kind was found */
#define DEFER_MOST  2  /* rounds in a row that are left to the daemon that the queue master named */

#define POSITION_ASKED (-1) /* no answer has come to the last question for a position */

/* ACQUIRING, WAITING: the rounds of this acquire so far. */
struct round_acquiring {
	unsigned char split;        /* rounds in a row that no daemon won */
	unsigned char deferred;     /* rounds in a row that we won, and left to another daemon */
	uint8_t doubts;             /* how often a lock of another kind was found that may be gone by now */
	uint8_t error_at;           /* the master that answered the last error */
	enum lease_error error : 8; /* the last error that a round ended with */
	int64_t limit_there;        /* LEASE_ERROR_LIMIT: the limit at the master */
	int64_t position;           /* our position in the queue, as last seen; 0: none; or POSITION_ASKED */
	bool patient;               /* the last question asked for a position */
	char *foreign;              /* owner text of the lease in the way, as last seen; NULL: none */
};

/* A recovered lease: the owners that it may have at masters that have not adopted it. */
struct previous_owners {
	struct freelist_link freed;
	uint8_t masters;     /* a bit for each such master; not 0 */
	bool asked;          /* a master has been asked: the lease may be under our own name there */
	struct slice owners; /* as in a call, the latest first; in bytes */
	char bytes[];
};

/* HELD: what only a lease with work under way needs. */
struct round_held {
	int64_t spare_first; /* first token of a block fetched ahead; 0: none */
	int64_t spare_last;
	int64_t wanted_since_ms;    /* wanted: since when */
	int64_t contended_ms;       /* wanted: when a waiting daemon asked last */
	int64_t streak;             /* local grants since wanted_since_ms */
	int64_t enqueue_at_ms;      /* not WRITER_NONE: when to refresh its position in the queue */
	int64_t announced_until_ms; /* deadline announced before clocks shortened the validity; 0: no later
				       one */
	struct previous_owners
		*previous; /* NULL: each master has adopted the lease, or said that it has none */
};

/*
 * Work on a lease: an acquire, a renewal, a daemon elsewhere that waits. Most leases are held and at rest,
 * and have no round.
 */
struct round {
	struct freelist_link freed;
	enum kind asked : 8; /* what this round asks for; between rounds: the last one */
	int64_t sent_ms;     /* when this round began; between rounds: the last one */
	int64_t proposal;    /* the token that it proposed */
	int64_t asked_block; /* how many tokens it asked for; 0: none */
	int64_t reached;     /* highest token that a master answered */
	union {              /* by the state of the lease: reached by round_acquiring() and round_held() */
		struct round_acquiring acquiring;
		struct round_held held;
	} of;
	struct question questions[]; /* one for each master */
};

/* Gives the lease a round. A lease that cannot be asked for or renewed is worse than none, so if there is no
 * memory it comes from the reserve. */
struct round *round_new(struct core *core, struct lease *l);

/* The lease has a round with room for `from` masters: makes room for `to`. Memory as in round_new(). */
void round_grow(struct core *core, struct lease *l, unsigned from, unsigned to);

static inline struct round *
round_of(struct core *core, struct lease *l)
{
	return l->round != NULL ? l->round : round_new(core, l);
}

/* Nothing goes on any more. */
void round_end(struct core *core, struct lease *l);

/* The lease has a round that asks for it. */
static inline bool
round_is_acquiring(const struct lease *l)
{
	return l->round != NULL && (l->state == LEASE_ACQUIRING || l->state == LEASE_WAITING);
}

static inline struct round_acquiring *
round_acquiring(const struct lease *l)
{
	assert(round_is_acquiring(l));
	return &l->round->of.acquiring;
}

static inline struct round_held *
round_held(const struct lease *l)
{
	assert(l->round != NULL && l->state == LEASE_HELD);
	return &l->round->of.held;
}

/* This daemon may have a position in the queue, at the queue master. */
static inline bool
lease_queued(const struct lease *l)
{
	if (l->state == LEASE_HELD)
		return lease_held(l)->writer == WRITER_QUEUED;
	return round_is_acquiring(l) && round_acquiring(l)->position != 0;
}

/* And has none any more: it has left, or the queue master is another server from now on. */
void lease_forget_position(struct lease *l);

/* Why the last acquire failed, if not by contention. */
static inline enum lease_error
round_error(const struct lease *l)
{
	return round_is_acquiring(l) ? (enum lease_error)round_acquiring(l)->error : LEASE_ERROR_NONE;
}

/* The last acquire asked for a position in the queue. */
static inline bool
round_patient(const struct lease *l)
{
	return round_is_acquiring(l) && round_acquiring(l)->patient;
}

/* Our position in the queue, as last seen; 0: none. */
static inline int64_t
round_position(const struct lease *l)
{
	int64_t position = round_is_acquiring(l) ? round_acquiring(l)->position : 0;

	return position > 0 ? position : 0;
}

/* The daemon whose lease was in the way last, as the masters name it; n == 0: none. */
struct slice round_foreign(const struct lease *l);
void round_no_foreign(struct lease *l);

/* HELD. A block of tokens fetched ahead: its last token; 0: none. */
static inline int64_t
round_spare(const struct lease *l)
{
	const struct round_held *t = l->round != NULL ? round_held(l) : NULL;

	if (t == NULL || t->spare_first == 0)
		return 0;
	assert(t->spare_first <= t->spare_last);
	return t->spare_last;
}

/* HELD or not: the previous owners of a lease that not all masters have adopted; NULL: none. */
static inline struct previous_owners *
lease_previous(const struct lease *l)
{
	return l->state == LEASE_HELD && l->round != NULL ? round_held(l)->previous : NULL;
}

/* The last of its tokens, also of those fetched ahead; 0: it has none. */
static inline int64_t
round_newest(const struct lease *l)
{
	if (l->state != LEASE_HELD)
		return 0;
	return round_spare(l) > 0 ? round_spare(l) : lease_held(l)->token_last;
}

/* The vote at this master. */
static inline struct lease_vote *
lease_vote_of(const struct lease *l, unsigned master)
{
	const struct lease_vote *votes = l->votes == 0 ? l->within[0].grown : l->within;

	assert(l->votes == 0 || master < l->votes);
	return (struct lease_vote *)(uintptr_t)&votes[master];
}

static inline bool
lease_vote_is_ours(const struct lease *l, unsigned i)
{
	assert(i < 8 * sizeof(l->ours));
	return (l->ours >> i & 1) != 0;
}

/* A vote of a recovered lease: it counts as ours, and its master has neither adopted nor refused it yet. */
static inline bool
lease_vote_is_unadopted(const struct lease *l, unsigned i)
{
	const struct previous_owners *previous = lease_previous(l);

	return previous != NULL && (previous->masters >> i & 1) != 0;
}

static inline bool
lease_vote_is_odd(const struct lease *l, unsigned i)
{
	assert(i < 8 * sizeof(l->ours));
	return (l->odd >> i & 1) != 0;
}

/*
 * lease_votes_grow(): there are more masters than when the lease was made, and it gets a vote at each of
 * them. lease_vote_drop(): its master is another server from now on. What the server before it said counts no
 * more, nor any answer of it that is still to come.
 *
 * Such a vote is valid for as long as the lease already is, less a millisecond. So it keeps what was promised
 * under the set before, adds nothing to it, and counts for no coming round. A newcomer gives nothing to
 * others for that long. Without memory the process ends (R7).
 */
void lease_votes_grow(struct core *core, struct lease *l, unsigned from, unsigned to);
void lease_vote_drop(struct core *core, struct lease *l, unsigned i);

void lease_votes_free(struct lease *l);

/* The master gave slots that are not those of the permit lease. */
void lease_vote_set_odd(struct lease *l, unsigned i);

/* Nothing of an earlier attempt counts any more. */
void lease_votes_clear(const struct core *core, struct lease *l);

/* The call by which a vote of a held lease can be renewed or taken (again) now. False: a question is under
 * way, or the master can be asked for neither. */
bool lease_vote_question(const struct core *core, const struct lease *l, unsigned i, enum call_op *op);

/* Asks the master. patience_ms: how long from now an ACQUIRE or RECLAIM may take to arrive; queue_ms as in a
 * call. */
void lease_vote_ask(struct core *core, struct lease *l, unsigned i, enum call_op op, int64_t patience_ms,
	int64_t queue_ms);

/* The vote ends ms earlier than was counted; so does what a yes to a question under way makes of it. */
void lease_vote_shorten(struct lease *l, unsigned i, int64_t ms);

/* An answer to its question. */
void lease_vote_take(struct core *core, struct lease *l, const struct vote *vote);

/* How many votes are ours. A permit lease that is being acquired: how many gave the same slots. */
unsigned lease_votes_ours(const struct core *core, const struct lease *l);
unsigned lease_votes_asking(const struct core *core, const struct lease *l);

/* How many votes are valid until then. */
unsigned lease_votes_until(const struct core *core, const struct lease *l, int64_t ms);

/* How many refusals name the same holder, for the holder that most of them name. */
unsigned lease_votes_holder(const struct core *core, const struct lease *l);

/* Whether a yes of every master that can be asked now would prolong the lease. */
bool lease_votes_can_prolong(const struct core *core, const struct lease *l);

/* Until when a majority of the votes is valid. */
int64_t lease_votes_valid_until_ms(const struct core *core, const struct lease *l);

/* Tokens to which a majority was strictly raised in this round. False: there are none. They are taken
 * once. */
bool lease_votes_tokens(const struct core *core, struct lease *l, int64_t *first, int64_t *last);

/* There are more masters: what lease_votes_grow() and round_grow() do, if there is a round. */
void lease_grow(struct core *core, struct lease *l, unsigned from, unsigned to);

#endif
