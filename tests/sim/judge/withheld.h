/*
 * withheld: the checker's part about withheld names (4.5, 4.9). If a session does not end properly, its holds
 * are withheld until the deadline that could have been told is over, and for the crash-delay of their rule.
 * While its daemon keeps the lease, no other session gets the name before, unless the client
 * has ended, or gave up the hold that BREAK took from it.
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

/* After each step of a daemon: until when this hold of a connected session is sure, in true time and by the
 * daemon's clock; and whether the daemon still has the hold. */
void withheld_valid(struct hold *hold, int64_t valid_us, int64_t valid_ms);
void withheld_look(struct world *world, const struct hold *hold, bool there);

/* Whether a withheld hold of this name has just ended, or is about to end. */
bool withheld_ends(const struct world *world, const struct host *host, unsigned name);

#endif
