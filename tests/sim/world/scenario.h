/*
 * scenario: the main schedules as stories: the messages between daemons, clients and masters of the
 * simulator, without chance.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "tests/sim/world/world.h"

#define PLAY_CLIENTS 4

struct scenario {
	struct world w;
	struct conn *conns[PLAY_CLIENTS];
	size_t told; /* how much of the trace has been returned */
};

/* Begins with `hosts` daemons, connected to `masters` admitted masters. */
void scenario_begin(struct scenario *play, unsigned hosts, unsigned masters);
/* The same, and the name b is a semaphore of so many permits. */
void scenario_begin_permits(struct scenario *play, unsigned hosts, unsigned masters, int64_t permits);
void scenario_end(struct scenario *play);

void scenario_pass_ms(struct scenario *play, int ms);

/* Client c connects to daemon d by TCP, so that a disconnect is not a clean end. */
void scenario_connect(struct scenario *play, unsigned c, unsigned d);

/* Sends the request, and runs everything that follows. */
void scenario_ask(struct scenario *play, unsigned c, const struct request *request);

/* The messages since the last call, without times and HELLOs; T is a token, D the daemon-id of a lease.
 * Valid until the next call. */
const char *scenario_story(struct scenario *play);

#endif
