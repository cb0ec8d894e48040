/*
 * rescan: a look at all names, when a master's state has changed: who waits looks again, what is held catches
 * up or is asserted again where it may have been forgotten.
 *
 * There may be a million names that are just held. Who waits has his look at once, the others have theirs
 * some thousands in each ms, and clients are served between. That takes nothing from anybody: a lease is good
 * for as long as it was, and its own timer renews or reclaims it in time without a rescan, too.
 */
#ifndef CORE_RESCAN_H
#define CORE_RESCAN_H

#include "daemon/core/state.h"

#define RESCAN_LOOKS 5000 /* at names, in one turn: a millisecond or so */

/* Takes ms off what every lease has at this master, because our clock may have stood still for so long.
 * All in one turn, however many there are: until then a session may be told of too long a deadline. */
void rescan_shorten(struct core *core, struct master *m, int64_t ms);

/* Before a step ends: begins what has been asked for. */
void rescan_begin(struct core *core);

/* Time to go on. */
void rescan_timer(struct core *core);

#endif
