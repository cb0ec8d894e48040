/*
 * withheld: the checker's part about names that are withheld (4.5, 4.9). What a session leaves behind that
 * did not end it itself is withheld until what could have been told is over, and for the crash-delay of its
 * rule; as long as its daemon keeps the lease the name is nobody else's before. A leap takes nothing back
 * that was told: then the lease counts for as long as before, also for a hold that began after the leap.
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

/* After each step of a daemon: what its leases are sure for; what it is sure of for this hold of a session
 * that is connected, in true time and by its clock; whether it still has this one. */
void withheld_step(struct host *host, int64_t now_ms);
void withheld_valid(struct hold *hold, int64_t valid_us, int64_t valid_ms);
void withheld_look(struct world *world, const struct hold *hold, bool there);

/* Whether something that was withheld of this name has just ended, or is about to. */
bool withheld_ends(const struct world *world, const struct host *host, unsigned name);

#endif
