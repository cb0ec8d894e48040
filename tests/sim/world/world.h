/*
 * world: one simulated run: masters, daemons, clients, the network between them, and the checker.
 *
 *     client ──conn──▶ host (a daemon: core and pool) ──way──▶ server (a master's process and clock)
 *                        checker looks at everything
 *
 * Everything happens in the jobs of one schedule at true time (now_us); each party has its own clock. All
 * random numbers come from one rng. Nothing here reads a real clock, a file or an address.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/sim/judge/ballot.h"
#include "tests/sim/judge/checker.h"
#include "tests/sim/judge/events.h"
#include "tests/sim/judge/fair.h"
#include "tests/sim/judge/fault_free.h"
#include "tests/sim/judge/latches.h"
#include "tests/sim/judge/limits.h"
#include "tests/sim/judge/lineage.h"
#include "tests/sim/judge/losses.h"
#include "tests/sim/judge/orphan.h"
#include "tests/sim/judge/owed_releases.h"
#include "tests/sim/judge/progress.h"
#include "tests/sim/judge/promise.h"
#include "tests/sim/judge/recorder.h"
#include "tests/sim/judge/refusals.h"
#include "tests/sim/judge/rule.h"
#include "tests/sim/world/client.h"
#include "tests/sim/world/conns.h"
#include "tests/sim/world/foreign_client.h"
#include "tests/sim/world/host.h"
#include "tests/sim/world/moment.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/rng.h"
#include "tests/sim/world/schedule.h"
#include "tests/sim/world/sentinels.h"
#include "tests/sim/world/server.h"
#include "tests/sim/world/trace.h"

#define WORLD_WALL_US INT64_C(1760000000000000) /* true wall clock at the beginning */

struct world {
	struct plan plan;
	struct rng rng;
	struct schedule schedule;
	struct trace trace;
	int64_t now_us;
	uint64_t serials; /* last number of a connection, request or process */
	struct server servers[PLAN_MASTERS_MAX];
	struct sentinels sentinels;
	int64_t apart_until_us[PLAN_MASTERS_MAX]
			      [PLAN_MASTERS_MAX]; /* until when nothing passes from one server to the other */
	struct all_parcels parcels;
	struct host hosts[PLAN_HOSTS_MAX];
	struct client clients[PLAN_CLIENTS_MAX];
	struct all_flights flights;
	struct conns conns;
	struct checker checker;
	struct recorder recorder;
	struct latches latches;
	struct losses losses;
	struct fair fair[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];
	struct fault_free well;
	struct promises *promises;
	bool lost_here[PLAN_HOSTS_MAX];     /* in the current step a daemon lost a hold or a lease */
	bool released_here[PLAN_HOSTS_MAX]; /* in the current step a hold was released there, perhaps a part
					       of an MLOCK */
	const struct conn *closes; /* the connection whose end its daemon gets in this step; NULL: none */
	bool closes_clean;         /* that end releases the holds of its session */
	struct orphans orphans[PLAN_MASTERS_MAX];
	struct given_back given[PLAN_HOSTS_MAX];
	struct progress progress;
	struct foreign_client rival;
	struct events events[PLAN_HOSTS_MAX];
	struct ballot ballots[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];
	struct owed_releases debts[PLAN_HOSTS_MAX][PLAN_MASTERS_MAX][PLAN_NAMES_MAX];
	struct rule rules[WORLD_RULES];     /* the rules of a daemon that starts now */
	bool change_left[PLAN_MASTERS_MAX]; /* it was not a member for a time */
	bool change_done;                   /* the set consists of the first servers */
	bool change_answered;               /* the operators' last request was answered */
	struct kins kins;
	struct core_settings settings;
	enum phase { PHASE_FAULTS, PHASE_CALM, PHASE_DRAIN } phase;
	int64_t calm_us; /* from then on all that was wrong is over; INT64_MAX: not known yet */
	int away;        /* this master is away on purpose; -1: none */
	const struct conn
		*comes_back; /* its LOCK resumes a wait of its session in this step; NULL: none does */
	struct moment moment;
	struct last_note last_notes[PLAN_HOSTS_MAX][PLAN_NAMES_MAX];
	struct failure failure;
	bool failed;
};

/* The first failure is kept, and ends the run. The message begins with the word of a rule (rule.h), and says
 * who, and which name and token; what world.moment knows is printed with it. */
#define world_fail(world, ...)                                                                               \
	do {                                                                                                 \
		_Static_assert(RULE_KNOWS(__VA_ARGS__, 0), "a message begins with the word of a rule");      \
		world_failed(world, __VA_ARGS__);                                                            \
	} while (0)

void world_failed(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a job after a delay. */
void world_after(struct world *world, int64_t delay_us, job_run *run, void *arg, uint64_t a, void *data);

void world_open(struct world *world, const struct plan *plan, bool keep_trace);
void world_run_until(struct world *world, int64_t until_us);
void world_close(struct world *world);

/* Whether all daemons have the same masters, and have had time to agree. Then liveness is checked, too. */
bool world_alike(const struct world *world);

/* Whether what was wrong is over, guards and the leases of the dead included. */
bool world_calm(const struct world *world);

/* The whole life: faults, calm, drain, and the checks between. */
void world_live(struct world *world);

#endif
