/*
 * move: which server each slot of core.masters is, and how many of the slots are members of the set.
 *
 * The members come first, behind them newcomers, and servers that have left, while a change needs them. What
 * a change means for leases is in reseat.h.
 */
#ifndef CORE_MOVE_H
#define CORE_MOVE_H

#include "daemon/core/state.h"

/* Where the configuration says; behind its masters the slots are closed. */
void master_init(struct core *core, struct master *m, unsigned index);

/*
 * From now on the slot is reached at this place, in this way, as a set names them (masterset.h); place.n ==
 * 0: it is closed. What stood on the server before is gone from it: its seat in every lease is empty, and
 * answers that are under way count no more. It is AWAY until a link is up. Emits ACTION_MASTER.
 */
void master_move(struct core *core, struct master *m, struct slice place, struct slice way);

/* The very server that it was is reached at another place from now on, or in another way. Its calls are
 * answered and its links told down as on any loss of them. Emits ACTION_MASTER. */
void master_reroute(struct core *core, struct master *m, struct slice place, struct slice way);

/*
 * So many masters are members from now on, more than before: settings.masters. The newcomers stand in their
 * slots already. Leases keep the seats that they have, and get empty ones. Where there was one master there
 * are no latches any more: who asks about one is refused (latch_known()).
 */
void masters_resize(struct core *core, unsigned masters);

#endif
