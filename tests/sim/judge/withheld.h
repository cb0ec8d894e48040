/*
 * withheld: the checker's part about withheld names (4.5, 4.9). If a session does not end properly, its holds
 * are withheld until the deadline that could have been told is over, and for the crash-delay of their rule:
 * this looks that they are at once, and not for longer. That nobody gets the name before is exclusion, and
 * for how long at least the daemon says that it withholds it is judged in losses.
 */
#ifndef SIM_WITHHELD_H
#define SIM_WITHHELD_H

#include "daemon/core/base/action.h"

#include <stdbool.h>
#include <stdint.h>

struct hold;
struct host;
struct world;

void withheld_note(struct host *host, const struct note *note);

/* A session has ended, but not properly: its holds are withheld now. */
void withheld_left(struct world *world, struct host *host, session_id session);

/* A hold has ended, and its daemon has yet to give it up: if that crashes before, the hold is withheld until
 * what was told of it is over. */
void withheld_ended(const struct hold *hold);

/* After each step of a daemon: until when this hold of a connected session is sure, in true time and by the
 * daemon's clock. */
void withheld_valid(struct hold *hold, int64_t valid_us, int64_t valid_ms);

/* Whether a withheld hold of this name has just ended, or is about to end. */
bool withheld_ends(const struct world *world, const struct host *host, unsigned name);

#endif
