/*
 * host: one daemon of the world: a real core with a simulated driver, and its paths to the masters.
 *
 * It has a clock of its own (rate and origin). It may be paused, die, and be restarted with another
 * daemon-id.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "daemon/core/core.h"
#include "daemon/redis/call.h"
#include "daemon/redis/replicas.h"
#include "tests/sim/fault/clock_error.h"
#include "tests/sim/fault/recovery.h"
#include "tests/sim/fault/rollout.h"
#include "tests/sim/judge/clock_jumps.h"
#include "tests/sim/judge/set_takeover.h"
#include "tests/sim/world/conn.h"
#include "tests/sim/world/ledgers.h"
#include "tests/sim/world/plan.h"
#include "tests/sim/world/route.h"

#include <stdbool.h>
#include <stdint.h>

#define WORLD_RULES 4 /* of the foreign name, of a and of b if they have one, and of all names */

struct server;
struct world;

/* How many masters are in these states, by a daemon's own knowledge. */
struct opinion {
	unsigned admitted;
	unsigned usable; /* admitted, identified on all links, and not silent */
	unsigned guarded;
	bool changed; /* the opinion of a master changed in the current step */
	bool refused; /* the masters refuse its list of masters */
};

struct host {
	struct world *world;
	unsigned index;
	bool alive;
	bool refusing; /* it was told to drain, and grants nothing new */
	bool draining; /* it no longer waits for holders */
	bool hurried;  /* because the WAIT of DRAIN was over */
	int64_t drain_until_us;
	bool ending;   /* it is about to exit */
	uint64_t life; /* a new number for each process */
	size_t calls;  /* without a vote yet */
	struct core *core;
	struct actions actions;
	struct opinion opinion; /* before the current step */
	struct call_settings call_settings;

	struct rule rules[WORLD_RULES];         /* as it last read them */
	int64_t least_lease_ms[PLAN_NAMES_MAX]; /* the shortest lease by the rules of this life */

	bool half;               /* it started with leases of half the length (rollout.h) */
	enum roll_length length; /* with which it starts next */
	int64_t relied_us; /* private: the record says so at present, and said so when the daemon started */
	int64_t begun_us;
	int64_t hello_us;         /* when its master first told it a memory; INT64_MAX: not yet */
	int64_t guarded_lease_ms; /* the lease that its guards wait for, by its HELLOs and their answers
			       (hellos.h) */

	int64_t ppm;     /* how fast its clock runs */
	int64_t born_us; /* true time of the process' start */
	int64_t base_ms; /* CLOCK_BOOTTIME at that time */
	int64_t wall_offset_us;
	struct clock_error still; /* by how much its clock is behind because the host stood still */
	int64_t paused_until_us;
	bool handing;            /* it hands over: it makes no new links, and reads no client (handover.h) */
	int64_t gives_up_us;     /* handing: calls that are not answered by then are given up */
	int64_t slow_us;         /* handing: how long the next process takes to come up */
	struct buffer state;     /* what that will load */
	bool lacked;             /* it could use no majority when it began to hand over last */
	int64_t handed_us;       /* when it was handed over last */
	int64_t unread_until_us; /* it reads no client until then */
	int64_t unread_until_ms; /* the same by its clock, which may stand still */
	struct core_settings settings; /* with which its core began */
	struct ledgers ledgers;
	struct recovery recovery;
	int64_t withheld_until_us[PLAN_NAMES_MAX]; /* as it has said, in any life, or was told of what it has
						      not given up */
	int64_t stun_us; /* it will stand still for so long when a master has renewed a lease; 0: no */
	struct clock_jumps jumps[CORE_SLOTS_MAX]; /* of its masters' clocks */
	struct set_takeover decided;
	unsigned masters;               /* number of masters that it knows */
	unsigned place[CORE_SLOTS_MAX]; /* the world's server in each slot; PLAN_MASTERS_MAX: none */
	unsigned moves[CORE_SLOTS_MAX]; /* the server that will be in the slot */
	bool moving[CORE_SLOTS_MAX];    /* the slot changes with the next turn */
	bool first_list;       /* it starts next with the first list of a world where the set is changed */
	conn_id operator_conn; /* the operator's connection; 0: none yet */
	const char *where[PLAN_MASTERS_MAX]; /* by name */
	struct route ways[PLAN_MASTERS_MAX]; /* by the server's index in the world */
	/* With sentinels: */
	unsigned aim;                 /* the server that the sentinels have named */
	const struct server *answers; /* the server whose answer it gets in this step; NULL: none */
	int64_t answered_us;          /* when that server gave the answer */
	int64_t asked_us;             /* when that server was asked */
	int64_t deaf_until_us;        /* it receives nothing from the sentinels */
	struct replicas replicas;
	bool probing;
	bool flushing;
	bool listens;     /* to the ends of other programs' locks of the last name */
	int64_t timer_us; /* when the core's timer is due; INT64_MAX: none */
	uint64_t timers;
};

void host_init(struct world *world, unsigned index);
void host_start(struct host *host);
void host_crash(struct host *host);
/* Replaces it by a copy of another live daemon, as if a snapshot of its machine were started. */
void host_clone(struct host *host, const struct host *of);
/* Replaces it by a daemon that goes on from a copy of the ledger of another one, on the same machine. */
void host_copy(struct host *host, const struct host *of, struct slice ledger);
void host_done(struct host *host);

/* Its rules are other ones: what follows from them for its settings. */
void host_ruled(struct host *host);

/* The daemon reloads its configuration, which now has these rules. */
void host_reload(struct host *host, const struct rule *rules);
/* The rule of a name, by its configuration. */
const struct rule *host_rule(const struct host *host, unsigned name);
int64_t host_lease_ms(const struct host *host, unsigned name);

int64_t host_ms(const struct host *host);
/* When it reads from its clients again, at the earliest. */
int64_t host_reads_us(const struct host *host);
/* Its clocks, and new random numbers. */
struct now host_now(struct host *host);
/* The host stood still for ms without knowing it: its clock is behind by ms more. */
void host_stand_still(struct host *host, int64_t ms);
/* The true time at which its clock shows ms. */
int64_t host_true_us(const struct host *host, int64_t ms);
/* Feeds one event to the core, and carries out its actions. The host must be alive and not paused. */
void host_step(struct host *host, struct event *event);

/* Its sentinels now name this server, and know these, a bit for each. */
void host_aim(struct host *host, unsigned server, unsigned known);
/* The pool's part about replicas: asks again whether they are back; and the time limit for their
 * acknowledgement. */
void host_probe_later(struct host *host);
int64_t host_wait_us(const struct host *host);

/* Its path to the n-th of its masters. */
struct route *host_way(struct host *host, unsigned master);

/* The slot of this server in its core; CORE_SLOTS_MAX: none. */
unsigned host_master_of(const struct host *host, const struct server *server);

/* The daemon and its path to this master are without fault, and it has admitted the master. */
bool host_sound_at(const struct host *host, const struct server *server);

/* This master's process has ended, and with it all its connections. */
void host_server_gone(struct host *host, const struct server *server);

#endif
