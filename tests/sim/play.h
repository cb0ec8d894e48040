/*
 * play: the main schedules as stories: the messages between daemons, clients and masters of the simulator,
 * without chance.
 */
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "tests/sim/world.h"

#define PLAY_CLIENTS 4

struct play {
	struct world w;
	struct conn *conns[PLAY_CLIENTS];
	size_t told; /* how much of the trace has been returned */
};

/* Begins with `hosts` daemons, connected to `masters` admitted masters. */
void play_begin(struct play *play, unsigned hosts, unsigned masters);
/* The same, and the name b is a semaphore of so many permits. */
void play_begin_permits(struct play *play, unsigned hosts, unsigned masters, int64_t permits);
void play_end(struct play *play);

void play_pass_ms(struct play *play, int ms);

/* Client c connects to daemon d by TCP, so that a disconnect is not a clean end. */
void play_connect(struct play *play, unsigned c, unsigned d);

/* Sends the request, and runs everything that follows. */
void play_ask(struct play *play, unsigned c, const struct request *request);

/* The messages since the last call, without times and greetings; T is a token, D the daemon-id of a lease.
 * Valid until the next call. */
const char *play_story(struct play *play);

#endif
