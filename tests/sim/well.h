/*
 * well: since when nothing is wrong between a daemon and a master, as the checker sees it from outside, and
 * since when nobody has or wants a name. Other parts judge by it what may no longer be.
 */
#ifndef SIM_WELL_H
#define SIM_WELL_H

#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct vote;
struct world;

struct well {
	int64_t since_us[PLAN_HOSTS_MAX]
			[PLAN_MASTERS_MAX]; /* the daemon can use that master; INT64_MAX: cannot */
	int64_t kept_us[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX]; /* or at least renew and reclaim there */
	bool busy[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX]
		 [PLAN_NAMES_MAX]; /* another daemon has the lease there, it said last */
	int64_t ill_us[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX]; /* since when it cannot use that master */
	int64_t used_us[PLAN_HOSTS_MAX]
		       [PLAN_MASTERS_MAX]; /* since when it tries to; INT64_MAX: it does not */
	int64_t free_us[PLAN_NAMES_MAX];   /* nobody has it, wants it, or stands in its queue */
	int64_t unused_us[PLAN_HOSTS_MAX]
			 [PLAN_NAMES_MAX];             /* a lease is kept for nobody; INT64_MAX: it is not */
	uint64_t touched[PLAN_NAMES_MAX];              /* how often somebody came for it or got it, */
	uint64_t here[PLAN_HOSTS_MAX][PLAN_NAMES_MAX]; /* or did so at this daemon */
};

/* Looks every now and then, from now on. */
void well_watch(struct world *world);

/* Since when, by true time, a majority of the masters is in use for it without a break; all: every one;
 * INT64_MAX: it is not. */
int64_t well_majority_us(const struct world *world, const struct host *host);
int64_t well_all_us(const struct world *world, const struct host *host);
/* Whether it could keep its lease of a name for so long at a majority, or at the only master while that is
 * guarded: no key of another program was in the way. Where a question takes long, the bids of others for a
 * master that it lacks may be in its way each time that it asks. */
bool well_keeps(const struct world *world, const struct host *host, unsigned name, int64_t for_us);

/* Whether nobody has it or wants it, now. */
bool well_free(const struct world *world, unsigned name);

/* Somebody asks this daemon for it, or is granted it there. */
void well_touched(struct host *host, unsigned name);

/* What a master says of a lease. */
void well_voted(struct host *host, const struct vote *vote);

/* Everything begins anew for this daemon. */
void well_host_starts(struct world *world, const struct host *host);

#endif
