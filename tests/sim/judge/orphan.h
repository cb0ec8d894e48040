/*
 * orphan: looks for leases at a master that their daemon has forgotten (R2): the daemon is alive and
 * connected, and neither has the lease nor requests it. It must release such a lease long before the lease
 * ends by itself.
 */
#ifndef SIM_ORPHAN_H
#define SIM_ORPHAN_H

#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct host;
struct server;
struct world;

/* At one master. */
struct orphans {
	int64_t since_us[PLAN_NAMES_MAX]; /* INT64_MAX: it is none */
	char owner[PLAN_NAMES_MAX][64];
	char back[PLAN_NAMES_MAX][64];    /* the owner of a lease from a memory that went back; empty: none */
	int64_t sound_us[PLAN_HOSTS_MAX]; /* since when this process's path to the master is without fault */
	uint64_t life[PLAN_HOSTS_MAX];    /* of this process */
};

/* The last attempts that each daemon has released. */
#define ORPHAN_GIVEN 64
struct given_attempt {
	uint64_t attempt;
	unsigned name;
	int64_t at_us;
	int64_t until_us[PLAN_MASTERS_MAX]; /* deadline of an acquire of it that ran there; 0: none did */
};
struct given_back {
	uint64_t life; /* of the daemon */
	unsigned next;
	struct given_attempt of[ORPHAN_GIVEN];
};

/* A daemon releases this attempt at one master or more. From then on it has the lease nowhere, even if calls
 * arrive late. */
void orphan_given(struct host *host, unsigned name, uint64_t attempt);
/* An acquire of this daemon runs at this server. If it arrives after the release, its lease is released again
 * at its deadline. */
void orphan_acquire_ran(const struct server *server, const struct host *host, const struct call *call);
/* Whether this attempt was released. A later answer no longer belongs to the call. */
bool orphan_is_given(const struct host *host, uint64_t attempt);

/* Checks periodically from now on. */
void orphan_watch(struct world *world);

/* The memory of this server has gone back while it ran. */
void orphan_back(struct server *server);

#endif
