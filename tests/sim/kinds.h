/*
 * kinds: the checker's part about names of one kind at a time (3.26, 3.27). Who is refused because a name is
 * of another kind, or a semaphore has another LIMIT, is told the truth: somebody held it so or waited for it,
 * a short while ago at most. Who locks it otherwise than others hold it is none of their company (checker.c).
 */
#ifndef SIM_KINDS_H
#define SIM_KINDS_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"
#include "tests/sim/plan.h"

#include <stdint.h>

struct world;

#define KINDS_LIMITS 3 /* exclusive and shared, and two LIMITs */

struct kinds {
	int64_t last_us[PLAN_NAMES_MAX][KINDS_LIMITS]; /* somebody had it or waited for it so; 0: never */
};

/* Looks every now and then, from now on. */
void kinds_watch(struct world *world);

/* Somebody asks for it so, or ends that. limit 0: it is no semaphore. */
void kinds_touched(struct world *world, unsigned name, int64_t limit);

/* A LOCK is refused for the kind or the LIMIT of the name. */
void kinds_refused(struct world *world, const struct conn *conn, unsigned name, int64_t limit, enum code code,
	const char *text);

#endif
