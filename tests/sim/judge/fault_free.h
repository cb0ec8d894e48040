/*
 * fault_free: since when a daemon and a master have no fault between them, as the checker sees it from
 * outside, and since when a name is neither held nor wanted. Other parts of the checker use these times as
 * bounds.
 */
#ifndef SIM_FAULT_FREE_H
#define SIM_FAULT_FREE_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct vote;
struct world;

struct fault_free {
	int64_t since_us[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX]; /* since when the daemon can use that master;
							       INT64_MAX: it cannot */
	int64_t kept_us[PLAN_HOSTS_MAX]
		       [PLAN_MASTERS_MAX]; /* since when it can at least renew and reclaim there */
	int64_t member_us[PLAN_HOSTS_MAX]
			 [PLAN_MASTERS_MAX]; /* where the set is changed: since when it can renew at that
						server, as a member of its set; INT64_MAX: it cannot */
	bool busy[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX]
		 [PLAN_NAMES_MAX];       /* when the master last answered that another daemon has the lease */
	int64_t free_us[PLAN_NAMES_MAX]; /* since when it is neither held, wanted nor queued for */
	int64_t unused_us[PLAN_HOSTS_MAX][PLAN_NAMES_MAX]; /* since when a lease is kept without holders;
							      INT64_MAX: none is */
	uint64_t touched[PLAN_NAMES_MAX];                  /* number of its requests and grants */
	uint64_t here[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];     /* the same at each daemon */
};

/* Checks periodically from now on. */
void fault_free_watch(struct world *world);
/* Only looks at the members of the sets of daemons, in a world where the set is changed. */
void fault_free_watch_members(struct world *world);

/* Whether the daemon could keep its lease of a name for so long at a majority, or at the only master during a
 * guard. If a call takes long, the attempts of others at a master that it lacks may prevent each of its own.
 */
bool fault_free_keeps(const struct world *world, const struct host *host, unsigned name, int64_t for_us);

/* Whether it is now neither held nor wanted. */
bool fault_free_free(const struct world *world, unsigned name);

/* It is requested or granted at this daemon. */
void fault_free_touched(struct host *host, unsigned name);

/* A master's answer about a lease. */
void fault_free_voted(struct host *host, const struct vote *vote);

/* All times of this daemon start again. */
void fault_free_host_starts(struct world *world, const struct host *host);

#endif
