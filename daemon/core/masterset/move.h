/*
 * move: which server each slot of core.masters is, and how many of the slots are members of the set.
 *
 * The members come first. Behind them are newcomers, and servers that have left while a change still needs
 * them. quorum.h says what a change means for leases.
 */
#ifndef CORE_MOVE_H
#define CORE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct master;
struct slice;

/* The place that the configuration names; slots behind its masters are closed. */
void master_init(struct core *core, struct master *m, unsigned index);

/* A core that goes on from a ledger, before its first step: the slot begins as the server at this place,
 * which is perhaps not the one that the configuration names. */
void master_begin_at(struct core *core, struct master *m, struct slice place, struct slice way);

/* Likewise: leases that were recovered, the last of them valid until then, had been given by a single master,
 * which is in the first slot. */
void masters_were_one(struct core *core, int64_t valid_until_ms);

/*
 * From now on the slot is the server at this place, reached in this way, as a set names them;
 * place.n == 0: the slot is closed. What the server before had is gone: its vote for every lease is dropped,
 * and answers under way no longer count. The slot is AWAY until a link is up. Emits ACTION_MASTER.
 */
void master_move(struct core *core, struct master *m, struct slice place, struct slice way);

/* The same server is reached at another place or in another way from now on. Its calls are answered and its
 * links reported down, as for any lost link. Emits ACTION_MASTER. */
void master_reroute(struct core *core, struct master *m, struct slice place, struct slice way);

/* Emits ACTION_MASTER: which server the slot is. */
void master_tell_place(struct core *core, const struct master *m);

/*
 * From now on so many masters are members, more than before: settings.masters. The newcomers are in their
 * slots already. Leases keep their votes and get empty ones. With more than one master there are no latches
 * any more: requests about them are refused (latch_known()).
 */
void masters_resize(struct core *core, unsigned masters);

#endif
