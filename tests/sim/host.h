/*
 * host: one daemon of the world: a real core with a simulated driver, and its ways to the masters.
 *
 * It has a clock of its own (rate and origin), may stand still, die and come back with another daemon-id.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "daemon/core/core.h"
#include "daemon/redis/call.h"
#include "daemon/redis/replicas.h"
#include "tests/sim/conn.h"
#include "tests/sim/drift.h"
#include "tests/sim/leaps.h"
#include "tests/sim/plan.h"
#include "tests/sim/way.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_RULES 4 /* that of the foreign name, of a and of b where they have any, and of all */

struct server;
struct world;

/* How many masters a daemon thinks are so. */
struct opinion {
	unsigned admitted;
	unsigned usable; /* admitted, greeted on all links, and not silent */
	unsigned guarded;
	bool changed;      /* of one of them, in the step that runs */
	bool refused;      /* they refuse its list of masters */
	int64_t resume_ms; /* guards are over then, of so many that there may be a majority; 0: there may be
			    */
};

struct host {
	struct world *world;
	unsigned index;
	bool alive;
	bool refusing; /* it is told to stop, and takes nothing new */
	bool draining; /* and waits for nobody who holds any more */
	bool hurried;  /* because its time was over */
	int64_t drain_until_us;
	bool ending;   /* it has given up, and is about to be gone */
	uint64_t life; /* one number for each process */
	struct core *core;
	struct actions actions;
	struct opinion opinion; /* before the step that runs */
	struct call_settings call_settings;

	struct rule rules[WORLD_RULES];         /* as it has read them last */
	int64_t least_lease_ms[PLAN_NAMES_MAX]; /* by the rules that it has had in this life */

	bool half;          /* it started with half the leases (roll.h) */
	int64_t reload_us;  /* when it last read other rules */
	int64_t guarded_ms; /* its guards wait for so long a lease, as it has said and been told (greets.h) */

	int64_t ppm;     /* how fast its clock runs */
	int64_t born_us; /* true time of the process' start */
	int64_t base_ms; /* what CLOCK_BOOTTIME showed then */
	int64_t wall_offset_us;
	struct drift still;                 /* by how much its clock is behind, as it stood still */
	int64_t longest_ms[PLAN_NAMES_MAX]; /* so long was its lease of each name sure, by this clock, before
					     * clocks leapt; 0: it has none */

	int64_t paused_until_us;
	bool leapt;            /* it has said so of a clock, in the step that runs */
	int64_t stunned_us;    /* when its host last went on after it had stood still; 0: never */
	int64_t copy_ended_us; /* another process with its daemon-id ended then; 0: none; and a call for
				* leases of an ended one last ran then, at each server; 0: none did */
	int64_t copy_ran_us[PLAN_MASTERS_MAX];
	struct leaps leaps[CORE_SLOTS_MAX]; /* of its masters' clocks */
	int64_t shuns_us[CORE_SLOTS_MAX];   /* one leapt, and it has not admitted that master since */
	bool greeted_late;              /* a greeting of this life ran when nobody waited for it any more */
	unsigned masters;               /* so many does it know: */
	unsigned place[CORE_SLOTS_MAX]; /* which one of the world is in each slot; PLAN_MASTERS_MAX: none, */
	unsigned moves[CORE_SLOTS_MAX]; /* and is to be, */
	bool moving[CORE_SLOTS_MAX];    /* from the next turn on */
	conn_id operator_conn;          /* who changes the set of masters here; 0: nobody yet */
	const char *where[PLAN_MASTERS_MAX]; /* by name */
	struct way ways[PLAN_MASTERS_MAX];   /* by their place */
	/* Where there are sentinels: */
	unsigned aim;                 /* the server that they have named, */
	const struct server *answers; /* and the one whose answer it is being told; NULL: none, */
	int64_t answered_us;          /* and when that one gave it */
	int64_t asked_us;             /* and was asked then */
	int64_t deaf_until_us;        /* it hears nothing of them */
	struct replicas replicas;
	bool probing;
	bool flushing;
	bool listens;     /* to the ends of somebody else's locks of the last name */
	int64_t timer_us; /* the alarm that is set; INT64_MAX: none */
	uint64_t timers;
};

void host_init(struct world *world, unsigned index);
void host_start(struct host *host);
void host_crash(struct host *host);
/* Its place is taken by a copy of another that is alive: a machine's image that is started once more. */
void host_clone(struct host *host, const struct host *of);
void host_done(struct host *host);

/* Reads its configuration anew: this is in it now. */
void host_reload(struct host *host, const struct rule *rules);
/* The rule of a name, by its configuration. */
const struct rule *host_rule(const struct host *host, unsigned name);
int64_t host_lease_ms(const struct host *host, unsigned name);

int64_t host_ms(const struct host *host);
/* Its clock is behind by so much more from now on: the host stood still, and does not know. */
void host_stand_still(struct host *host, int64_t ms);
/* The true time at which its clock shows ms. */
int64_t host_true_us(const struct host *host, int64_t ms);
/* One event into the core, and all that follows from it. The host must be alive and not paused. */
void host_step(struct host *host, struct event *event);

/* Its sentinels name this server now. */
void host_aim(struct host *host, unsigned server);
/* What its pool does about replicas: asks how many are connected, when a link to that server is up; looks
 * again whether they are back; how long they have to acknowledge. */
void host_see_replicas(struct host *host, const struct server *server);
void host_probe_later(struct host *host);
int64_t host_wait_us(const struct host *host);

/* Whether its list of masters is not that of the world, which a rival goes by. */
bool host_has_other_list(const struct host *host);

/* Its way to the n-th of its masters. */
struct way *host_way(struct host *host, unsigned master);

/* Which slot of its core this is; CORE_SLOTS_MAX if it is in none. */
unsigned host_master_of(const struct host *host, const struct server *server);

/* Nothing is wrong with it and its way to this master, and it has admitted it. */
bool host_sound_at(const struct host *host, const struct server *server);

/* This master's process has ended, and with it all connections to it. */
void host_server_gone(struct host *host, const struct server *server);

#endif
