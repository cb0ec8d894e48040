/*
 * move: which server each slot of core.masters is, and how many of the slots are members of the set.
 *
 * The members come first. Behind them are newcomers, and servers that have left while a change still needs
 * them. quorum.h says what a change means for leases.
 */
#ifndef CORE_MOVE_H
#define CORE_MOVE_H

#include "daemon/core/state.h"

/* The place that the configuration names; slots behind its masters are closed. */
void master_init(struct core *core, struct master *m, unsigned index);

/*
 * From now on the slot is the server at this place, reached in this way, as a set names them (masterset.h);
 * place.n == 0: the slot is closed. What the server before had is gone: its seat in every lease is empty, and
 * answers under way no longer count. The slot is AWAY until a link is up. Emits ACTION_MASTER.
 */
void master_move(struct core *core, struct master *m, struct slice place, struct slice way);

/* The same server is reached at another place or in another way from now on. Its calls are answered and its
 * links reported down, as for any lost link. Emits ACTION_MASTER. */
void master_reroute(struct core *core, struct master *m, struct slice place, struct slice way);

/*
 * From now on so many masters are members, more than before: settings.masters. The newcomers are in their
 * slots already. Leases keep their seats and get empty ones. With more than one master there are no latches
 * any more: requests about them are refused (latch_known()).
 */
void masters_resize(struct core *core, unsigned masters);

#endif
