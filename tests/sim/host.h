/*
 * host: one daemon of the world: a real core with a simulated driver, pool and inbox around it.
 *
 * It has a clock of its own (rate and origin), may stand still, die and come back with another daemon-id.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "daemon/call.h"
#include "daemon/core/core.h"
#include "tests/sim/conn.h"
#include "tests/sim/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define HOST_WIRES_MAX 2

struct world;

struct host {
	struct world *world;
	unsigned index;
	bool alive;
	bool draining;
	uint64_t life; /* one number for each process */
	struct core *core;
	struct actions actions;
	struct call_settings call_settings;

	int64_t ppm;     /* how fast its clock runs */
	int64_t born_us; /* true time of the process' start */
	int64_t base_ms; /* what CLOCK_BOOTTIME showed then */
	int64_t wall_offset_us;

	int64_t paused_until_us;
	int64_t cut_until_us;  /* nothing gets through to the master and back */
	int64_t slow_until_us; /* everything from the master, and perhaps to it, takes long */
	bool slow_there;       /* to it too */

	struct wire wires[HOST_WIRES_MAX];
	bool flushing;
	struct inbox {
		bool up;
		uint64_t life;
		uint64_t server_life;
		int64_t arrives_us;
	} inbox;
	int64_t timer_us; /* the alarm that is set; INT64_MAX: none */
	uint64_t timers;
};

void host_init(struct world *world, unsigned index);
void host_start(struct host *host);
void host_crash(struct host *host);
void host_drain(struct host *host);
void host_done(struct host *host);

int64_t host_ms(const struct host *host);
/* The true time at which its clock shows ms. */
int64_t host_true_us(const struct host *host, int64_t ms);
/* How long a message takes to the master (there) or back. */
int64_t host_delay(struct host *host, bool there);

/* One event into the core, and all that follows from it. The host must be alive and not paused. */
void host_step(struct host *host, struct event *event);

/* A message of the master to this channel: 1 when somebody listens. */
int host_published(struct host *host, struct slice channel, struct slice message);
void host_server_gone(struct host *host);
void host_break_inbox(struct host *host);

#endif
