/*
 * seat: what one master is to the lease of one name; see struct seat.
 *
 * A seat is asked one question at a time and gets one answer for it: ACQUIRE takes it, or takes it again
 * where it was missed; RENEW keeps it; RECLAIM asserts it where the master is guarded. What a seat is good
 * for counts from before the question left, so the lease is good until the time that a majority of its seats
 * reaches.
 */
#ifndef CORE_SEAT_H
#define CORE_SEAT_H

#include "daemon/core/state.h"

static inline bool
seat_is_ours(const struct lease *l, unsigned i)
{
	return (l->ours >> i & 1) != 0;
}

static inline bool
seat_is_odd(const struct lease *l, unsigned i)
{
	return (l->odd >> i & 1) != 0;
}

/*
 * There are more masters than when the lease was made: it has a seat at each of them from now on. Or its
 * master is another server from now on: what the former one said counts no more, nor what it is about to say.
 *
 * Such a seat is good for as long as the lease is good already, less a millisecond: it keeps what was
 * promised under the set of before, adds nothing to it, and counts for no round that is to come. A newcomer
 * gives nothing to others for that long. Without memory the process ends (R7).
 */
void seats_grow(struct core *core, struct lease *l, unsigned from, unsigned to);
void seat_empty(struct lease *l, unsigned i);

void seats_free(struct lease *l);

/* Its master gave slots that the permit lease does not consist of. */
void seat_set_odd(struct lease *l, unsigned i);

/* Nothing of an earlier attempt counts any more. */
void seats_clear(const struct core *core, struct lease *l);

/* How a seat of a lease that is held can be kept or taken (again) now. False: it is asked already, or not at
 * all. */
bool seat_question(const struct core *core, const struct lease *l, unsigned i, enum call_op *op);

/* Asks. patience_ms: how long from now an ACQUIRE or RECLAIM may take to arrive; queue_ms as in a call. */
void seat_ask(struct core *core, struct lease *l, unsigned i, enum call_op op, int64_t patience_ms,
	int64_t queue_ms);

/* The seat ends ms earlier than was counted, and so does what a question under way makes of it. */
void seat_shorten(struct lease *l, unsigned i, int64_t ms);

/* An answer to its question. */
void seat_heard(const struct core *core, struct lease *l, const struct vote *vote);

/* How many are; of a permit lease that is asked for, how many gave the same slots. */
unsigned seats_ours(const struct core *core, const struct lease *l);
unsigned seats_asking(const struct core *core, const struct lease *l);

/* How many are good until then. */
unsigned seats_until(const struct core *core, const struct lease *l, int64_t ms);

/* How many of the refusals name the same holder, where that is the most. */
unsigned seats_holder(const struct core *core, const struct lease *l);

/* Whether a yes of all masters that can be asked now would prolong the lease. */
bool seats_can_prolong(const struct core *core, const struct lease *l);

/* Until when a majority is good. */
int64_t seats_valid_ms(const struct core *core, const struct lease *l);

/* Tokens that a majority has strictly been raised to in this round. False: there are none. Taken once. */
bool seats_tokens(const struct core *core, struct lease *l, int64_t *first, int64_t *last);

#endif
