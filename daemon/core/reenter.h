/*
 * reenter: a LOCK of a name that its session and tag hold already.
 *
 * With a tag it adds one to the count of the hold and changes nothing else; without a tag the answer is HELD.
 * If the hold does not suffice for what is asked, the answer is UPGRADE: two sessions that each hold some and
 * wait for more would wait for each other.
 */
#ifndef CORE_REENTER_H
#define CORE_REENTER_H

#include "daemon/core/state.h"

/* The answer of a LOCK that finds its hold. */
void reenter_lock(struct core *core, struct grant *g, const struct command *c, struct reply *out);

/* It is a waiter's turn, but meanwhile another connection of its session was granted what it asks for. True:
 * it has been answered and is gone. */
bool reenter_waiter(struct core *core, struct waiter *w);

#endif
