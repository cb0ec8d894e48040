/*
 * orphan: looks for leases at a master that their daemon has forgotten (R2): it lives, is connected,
 * and neither has them nor asks for them. Such a lease must be given back long before it ends by itself.
 */
#ifndef SIM_ORPHAN_H
#define SIM_ORPHAN_H

#include "tests/sim/plan.h"

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
	char back[PLAN_NAMES_MAX][64];    /* it came with a memory that went back; empty: none */
	int64_t sound_us[PLAN_HOSTS_MAX]; /* since when nothing is wrong with this process's way there */
	uint64_t life[PLAN_HOSTS_MAX];    /* of this process */
};

/* What a daemon has given back, the last ones of each. */
#define ORPHAN_GIVEN 64
struct given_attempt {
	uint64_t attempt;
	unsigned name;
	int64_t at_us;
	int64_t until_us[PLAN_MASTERS_MAX]; /* the deadline of an acquire of it that ran there; 0: none did */
};
struct given_back {
	uint64_t life; /* of the daemon */
	unsigned next;
	struct given_attempt of[ORPHAN_GIVEN];
};

/* A daemon releases what it asked for with this attempt, at one master or more: from then on it has it
 * nowhere, whatever arrives late. */
void orphan_given(struct host *host, unsigned name, uint64_t attempt);
/* An acquire of this daemon runs at this server. If it comes behind the release, the lease that it makes is
 * released once more at its deadline. */
void orphan_acquire_ran(const struct server *server, const struct host *host, const struct call *call);
/* Whether it has: what comes later is no answer to that question any more. */
bool orphan_is_given(const struct host *host, uint64_t attempt);

/* Looks every now and then, from now on. */
void orphan_watch(struct world *world);

/* The memory of this server has gone back while it ran. */
void orphan_back(struct server *server);

/* A call runs at this server, of a process with this daemon-id that has ended. Such a call may renew a lease:
 * the master stood still meanwhile. */
void orphan_copy_ran(struct server *server, const char *daemon_id, const struct call *call);

/* Whether leases may be left there of another process with the daemon-id of this one, which has ended. */
bool orphan_of_copy(const struct host *host, const struct server *server);

#endif
