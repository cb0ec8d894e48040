/*
 * quorum: the masters together. A lease counts if a majority of all masters gave it. So any two leases of a
 * name share a master, and a minority may be gone, silent or without memory.
 *
 * With one master, that one is the majority; nothing here treats it as a special case.
 */
#ifndef CORE_QUORUM_H
#define CORE_QUORUM_H

#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct reply;

/* What is known of the masters together. */
struct quorum {
	struct retired_server
		retired[RETIRED_MAX]; /* servers that slots have been; each once, the latest first */
	bool reconfigured; /* the masters have changed: leases have to follow before anything else (quorum.h)
			    */
	bool left;         /* the daemon ends, and sends its masters no HELLO any more */
	uint16_t rerouted; /* core.resumes: a bit for each slot that is not what the configuration names there
			    */
	unsigned votes;    /* votes that each lease has by now */
	/* One master has become three: before this time no newcomer can have been admitted by any daemon. */
	int64_t newcomers_until_ms;
	int64_t alone_until_ms;   /* until then recovered leases are valid that a single master gave; 0: there
			       are   none */
	int64_t highest;          /* highest token seen anywhere */
	int64_t past;             /* highest token seen before a master's memory last changed */
	int64_t guarded_lease_ms; /* the longest lease that guards wait for (master.h) */
	struct binding binding;   /* what settings before these have bound */
	uint32_t set_tag;         /* of the set that is agreed on, in every call; 0: none is */
};

/* How many masters make a majority of all. */
unsigned quorum_majority(const struct core *core);

/* A WAIT is over, and this is why it cannot be granted. True: the masters are missing because this daemon is
 * being handed over, or has just been; the timer is armed again, for a moment later. */
bool quorum_puts_off(struct core *core, struct timer *timer, const struct reply *why);

/*
 * The master on which the queue of this name lives. All daemons that see the same masters in use find the
 * same one, and a master that goes away moves only the names whose queues it had. A majority must be usable.
 */
unsigned quorum_queue_master(const struct core *core, struct slice name, unsigned link);

#endif
