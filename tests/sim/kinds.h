/*
 * kinds: the checker's part about names of one kind at a time (3.26, 3.27). Who is refused because a name is
 * of another kind, or a semaphore has another LIMIT, is told the truth: somebody held it so or waited for it,
 * a short while ago at most. A lease that a daemon keeps for nobody is no such reason: that daemon is told,
 * and gives it back before the masters are asked once more. Who locks it otherwise than others hold it is
 * none of their company (checker.c).
 */
#ifndef SIM_KINDS_H
#define SIM_KINDS_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"
#include "tests/sim/plan.h"

#include <stdint.h>

struct host;
struct wait;
struct world;

#define KINDS_LIMITS 3 /* exclusive and shared, and two LIMITs */

struct kinds {
	int64_t last_us[PLAN_NAMES_MAX][KINDS_LIMITS]; /* somebody had it or waited for it so; 0: never */
};

/* Looks every now and then, from now on. */
void kinds_watch(struct world *world);

/* Somebody asks for it so, or ends that. limit 0: it is no semaphore. */
void kinds_touched(struct world *world, unsigned name, int64_t limit);

/* A LOCK comes to this daemon: those that keep leases of its name for nobody, one bit each, if that is all
 * there is of it anywhere; else 0. */
unsigned kinds_keepers(struct world *world, const struct host *host, unsigned name);

/* The connections over which they listen: one number that no others have. */
uint64_t kinds_inboxes(const struct world *world, unsigned keepers);

/* A LOCK is refused for the kind or the LIMIT of the name. */
void kinds_refused(struct world *world, const struct wait *v, enum code code, const char *text);

#endif
