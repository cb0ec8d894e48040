/*
 * kinds: the checker's part about names of one kind at a time (3.26, 3.27). If a LOCK is refused because the
 * name has another kind or another LIMIT, some session held the name so or waited for it, at most a short
 * time ago. A lease without holders is not a valid reason: its daemon is told, and releases it before the
 * masters are asked again.
 */
#ifndef SIM_KINDS_H
#define SIM_KINDS_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"
#include "tests/sim/world/plan.h"

#include <stdint.h>

struct host;
struct wait;
struct world;

#define KINDS_LIMITS 3 /* exclusive and shared, and two LIMITs */

struct kinds {
	int64_t last_us[PLAN_NAMES_MAX][KINDS_LIMITS]; /* when it was last held or waited for so; 0: never */
};

/* Checks periodically from now on. */
void kinds_watch(struct world *world);

/* A session requests it so, or ends that. limit 0: not a semaphore. */
void kinds_touched(struct world *world, unsigned name, int64_t limit);

/* A LOCK arrives at this daemon. If all leases of its name are without holders, the daemons that keep them,
 * one bit each; else 0. */
unsigned kinds_keepers(struct world *world, const struct host *host, unsigned name);

/* A number that identifies the connections over which these daemons listen. */
uint64_t kinds_inboxes(const struct world *world, unsigned keepers);

/* A LOCK is refused for the kind or the LIMIT of the name. */
void kinds_refused(struct world *world, const struct wait *v, enum code code, const char *text);

#endif
