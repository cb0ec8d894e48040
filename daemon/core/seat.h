/*
 * seat: what one master is to the lease of one name; see struct seat.
 *
 * A seat is asked one question at a time and gets one answer for it: ACQUIRE takes the seat, or takes it
 * again where it was missed; RENEW keeps it; RECLAIM asserts it where the master is guarded. The validity of
 * a seat counts from before the question left. The lease is valid for as long as a majority of its seats is.
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
 * seats_grow(): there are more masters than when the lease was made, and it gets a seat at each of them.
 * seat_empty(): its master is another server from now on. What the server before it said counts no more, nor
 * any answer of it that is still to come.
 *
 * Such a seat is valid for as long as the lease already is, less a millisecond. So it keeps what was promised
 * under the set before, adds nothing to it, and counts for no coming round. A newcomer gives nothing to
 * others for that long. Without memory the process ends (R7).
 */
void seats_grow(struct core *core, struct lease *l, unsigned from, unsigned to);
void seat_empty(struct lease *l, unsigned i);

void seats_free(struct lease *l);

/* The master gave slots that are not those of the permit lease. */
void seat_set_odd(struct lease *l, unsigned i);

/* Nothing of an earlier attempt counts any more. */
void seats_clear(const struct core *core, struct lease *l);

/* The call by which a seat of a held lease can be kept or taken (again) now. False: a question is under way,
 * or the master can be asked for neither. */
bool seat_question(const struct core *core, const struct lease *l, unsigned i, enum call_op *op);

/* Asks the master. patience_ms: how long from now an ACQUIRE or RECLAIM may take to arrive; queue_ms as in a
 * call. */
void seat_ask(struct core *core, struct lease *l, unsigned i, enum call_op op, int64_t patience_ms,
	int64_t queue_ms);

/* The seat ends ms earlier than was counted; so does what a yes to a question under way makes of it. */
void seat_shorten(struct lease *l, unsigned i, int64_t ms);

/* An answer to its question. */
void seat_heard(const struct core *core, struct lease *l, const struct vote *vote);

/* How many seats are ours. A permit lease that is being acquired: how many gave the same slots. */
unsigned seats_ours(const struct core *core, const struct lease *l);
unsigned seats_asking(const struct core *core, const struct lease *l);

/* How many seats are valid until then. */
unsigned seats_until(const struct core *core, const struct lease *l, int64_t ms);

/* How many refusals name the same holder, for the holder that most of them name. */
unsigned seats_holder(const struct core *core, const struct lease *l);

/* Whether a yes of every master that can be asked now would prolong the lease. */
bool seats_can_prolong(const struct core *core, const struct lease *l);

/* Until when a majority of the seats is valid. */
int64_t seats_valid_ms(const struct core *core, const struct lease *l);

/* Tokens to which a majority was strictly raised in this round. False: there are none. They are taken
 * once. */
bool seats_tokens(const struct core *core, struct lease *l, int64_t *first, int64_t *last);

#endif
