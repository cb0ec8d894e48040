/*
 * quorum: the masters together. A lease counts when a majority of all masters gave it, so any two leases of a
 * name share a master, and a minority may be gone, silent or without memory.
 *
 * With one master that one is the majority; nothing here is special about it.
 */
#ifndef CORE_QUORUM_H
#define CORE_QUORUM_H

#include "daemon/core/state.h"

/* How many masters make a majority of all. */
unsigned quorum_majority(const struct core *core);

/* So many can be asked for new leases on this link that a majority may say yes. */
bool quorum_usable(const struct core *core, unsigned link);

/* It is not, but may be in a moment: the answer to a greeting is under way. */
bool quorum_near(const struct core *core, unsigned link);

/* Why it is not, for who asked. */
void quorum_refusal(const struct core *core, unsigned link, struct reply *why);

/* Each master that is not in use on this link, and why; "" when all are. */
void quorum_missing(const struct core *core, unsigned link, char *out, size_t room);

/*
 * The master on which the queue of this name lives: all daemons that see the same masters in use find the
 * same one, and a master that goes away moves only the names it had. A majority must be usable.
 */
unsigned quorum_queue_master(const struct core *core, struct slice name, unsigned link);

/* Its timer, and what follows from the end of a guard. */
void quorum_timer(struct core *core, struct master *m);

/* By how much our clock may have stood still within a guard, for what leases have at this master, ms; 0: the
 * clocks of no majority went ahead. Where it has shown nothing itself, it is the most that any master has:
 * one that shows less may have stepped back. */
int64_t quorum_stood_ms(const struct core *core, const struct master *master);

#endif
