/*
 * quorum: the masters together. A lease counts if a majority of all masters gave it. So any two leases of a
 * name share a master, and a minority may be gone, silent or without memory.
 *
 * With one master, that one is the majority; nothing here treats it as a special case.
 */
#ifndef CORE_QUORUM_H
#define CORE_QUORUM_H

#include "daemon/core/state.h"

/* How many masters make a majority of all. */
unsigned quorum_majority(const struct core *core);

/* A majority can be asked for new leases on this link. */
bool quorum_usable(const struct core *core, unsigned link);

/* No majority is usable now, but one may be in a moment: the answer to a greeting is under way. */
bool quorum_near(const struct core *core, unsigned link);

/* Why no majority is usable, as the answer of a LOCK. */
void quorum_refusal(const struct core *core, unsigned link, struct reply *why);

/* Each master that is not in use on this link, and why; "": all are in use. */
void quorum_missing(const struct core *core, unsigned link, char *out, size_t room);

/*
 * The master on which the queue of this name lives. All daemons that see the same masters in use find the
 * same one, and a master that goes away moves only the names whose queues it had. A majority must be usable.
 */
unsigned quorum_queue_master(const struct core *core, struct slice name, unsigned link);

/* Its timer, and what follows from the end of a guard. */
void quorum_timer(struct core *core, struct master *m);

/* By how much our clock may have stood still within a guard, to be taken off what leases have at this master,
 * ms; 0: the clocks of no majority went ahead. If this master has shown nothing itself, the result is the
 * most that any master has shown: a clock that shows less may have stepped back. */
int64_t quorum_stood_ms(const struct core *core, const struct master *master);

#endif
