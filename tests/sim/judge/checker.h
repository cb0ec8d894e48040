/*
 * checker: watches the whole run for violations of GUARANTEES.md.
 *
 * Each request gets one of the documented answers, in time. Waiters of one daemon are served in their order.
 * held.h knows the holders, and grants.h checks each grant.
 */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "daemon/core/base/action.h"
#include "daemon/redis/call.h"
#include "tests/sim/judge/bundles.h"
#include "tests/sim/judge/grants.h"
#include "tests/sim/judge/held.h"
#include "tests/sim/judge/session_terms.h"
#include "tests/sim/judge/waits.h"
#include "tests/sim/world/conn.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct checker {
	struct hold *holds;
	struct wait *waits;
	struct pacts pacts;
	struct bundle_wait *bundles;
	int64_t token[PLAN_NAMES_MAX];     /* greatest token of all grants */
	int64_t exclusive[PLAN_NAMES_MAX]; /* greatest token of exclusive grants */
	/* The life of a daemon in which a master told it that a name has another kind or LIMIT. */
	uint64_t refused[PLAN_NAMES_MAX][PLAN_HOSTS_MAX];
	uint64_t grants;
	uint64_t answers;
};

const char *checker_name(unsigned name);
unsigned checker_name_of(struct slice text);

void checker_done(struct world *world);

/* Actions of daemons. */
void checker_command(struct world *world, struct conn *conn);
void checker_reply(struct world *world, struct conn *conn, const struct reply *reply);
void checker_push(struct world *world, struct conn *conn, const struct push *push);
void checker_step(struct world *world, struct host *host, int64_t now_ms);
void checker_subscribed(struct world *world, const struct host *host);

#endif
