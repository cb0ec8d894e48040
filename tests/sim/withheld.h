/*
 * withheld: the checker's part about names that are withheld (4.5, 4.9). What a session leaves behind that
 * did not end it itself is withheld until what could have been told is over, and for the crash-delay of its
 * rule; as long as its daemon keeps the lease the name is nobody else's before.
 */
#ifndef SIM_WITHHELD_H
#define SIM_WITHHELD_H

#include "daemon/core/action.h"

#include <stdbool.h>
#include <stdint.h>

struct hold;
struct host;
struct world;

void withheld_note(struct host *host, const struct note *note);

/* A session has ended, and not by its holder: what it held is withheld by now. */
void withheld_left(struct world *world, struct host *host, session_id session);

/* After each step of a daemon: whether it still has this one. */
void withheld_look(struct world *world, const struct hold *hold, bool there);

/* Whether something that was withheld of this name has just ended, or is about to. */
bool withheld_ends(const struct world *world, const struct host *host, unsigned name);

#endif
