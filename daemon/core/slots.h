/*
 * slots: which permits of a name a permit lease consists of, as the text in which the masters name them:
 * "3,7".
 *
 * The permits of a name are slots, each with an owner of its own at each master. A permit lease of k permits
 * is k slots, the same ones at a majority of the masters: so no two permit leases have a slot in common. If a
 * round asks for any slots, masters may give different ones. What most of them gave or could give is then the
 * offer, and the next round asks for exactly that.
 */
#ifndef CORE_SLOTS_H
#define CORE_SLOTS_H

#include "daemon/core/state.h"

/* It is known which slots might be had. */
bool slots_are_offered(const struct lease *l);

/* slots_forget(): neither asked for nor offered any more; slots_forget_offer(): not offered. */
void slots_forget(struct core *core, struct lease *l);
void slots_forget_offer(struct core *core, struct lease *l);

/* A master gave slots, or could give them, and seat_heard() has noted it. Keeps what most have in common. */
void slots_offered(struct core *core, struct lease *l, struct slice text);

/* A master gave these slots after the round was won, and seat_heard() has noted it. If they are not those of
 * the permit lease, the seat is not ours, and they have to be given back there. */
void slots_heard(struct lease *l, const struct vote *vote);

/* The round is lost: the next one asks for the offer, or for any slots if there is none. */
void slots_ask_offer(struct core *core, struct lease *l);

/* The round is won: what a majority gave is the permit lease. Seats that gave other slots are not ours, and
 * have something to be released. False: out of memory, and it is unknown what was given. */
bool slots_won(struct core *core, struct lease *l) __attribute__((warn_unused_result));

#endif
