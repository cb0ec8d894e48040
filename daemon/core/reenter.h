/*
 * reenter: a LOCK of a name that its session and tag hold already.
 *
 * With a tag it adds one to the count of the hold, and never changes anything else; without, HELD. A hold
 * that does not suffice for what is asked is UPGRADE: two that waited for more while they have some would
 * wait for each other.
 */
#ifndef CORE_REENTER_H
#define CORE_REENTER_H

#include "daemon/core/state.h"

/* What a LOCK that finds its hold is told. */
void reenter_lock(struct core *core, struct grant *g, const struct command *c, struct reply *out);

/* Its turn has come; but another connection of its session was granted meanwhile what it asks for. True: it
 * has been answered, and is gone. */
bool reenter_waiter(struct core *core, struct waiter *w);

#endif
