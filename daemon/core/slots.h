/*
 * slots: which permits of a name a permit lease consists of, as the text in which the masters name them:
 * "3,7".
 *
 * The permits of a name are so many slots, each with an owner of its own at each master. A permit lease of k
 * permits is k slots, and at a majority of the masters the same ones: then no two permit leases have a slot
 * in common. Asked for any, several masters may give different ones; what most of them gave or could give is
 * then the offer, and the next round asks for exactly that.
 */
#ifndef CORE_SLOTS_H
#define CORE_SLOTS_H

#include "daemon/core/state.h"

/* What might be had is known. */
bool slots_are_offered(const struct lease *l);

/* Neither asked for nor offered any more. */
void slots_forget(struct core *core, struct lease *l);
void slots_forget_offer(struct core *core, struct lease *l);

/* A master gave some, or could: seat_heard() has noted it. Keeps what most have in common. */
void slots_offered(struct core *core, struct lease *l, struct slice text);

/* A master gave this after the round was won: seat_heard() has noted it. If it is something else than the
 * permit lease, the seat is not ours, and it has to be given back there. */
void slots_heard(struct lease *l, const struct vote *vote);

/* The round is lost: the next one asks for the offer, or for any when there is none. */
void slots_ask_offer(struct core *core, struct lease *l);

/* The round is won: what a majority gave is the permit lease; seats that gave others are not ours, and have
 * something to be released. False: out of memory, nobody knows what was given. */
bool slots_won(struct core *core, struct lease *l) __attribute__((warn_unused_result));

#endif
