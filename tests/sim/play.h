/*
 * play: the main schedules as stories: daemons, clients and masters of the simulator, without chance, and
 * what they say to each other.
 */
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "tests/sim/world.h"

#define PLAY_CLIENTS 4

struct play {
	struct world w;
	struct conn *conns[PLAY_CLIENTS];
	size_t told; /* how much of the trace has been looked at */
};

/* So many daemons that are connected to so many admitted masters. */
void play_begin(struct play *play, unsigned hosts, unsigned masters);
/* The same, and the name b is a semaphore of so many permits. */
void play_begin_permits(struct play *play, unsigned hosts, unsigned masters, int64_t permits);
void play_end(struct play *play);

void play_pass_ms(struct play *play, int ms);

/* Client c connects to daemon d, by TCP, so that going away is not a clean end. */
void play_connect(struct play *play, unsigned c, unsigned d);

/* Sends it, and lets what follows happen. */
void play_ask(struct play *play, unsigned c, const struct request *request);

/* What has been said since it was last asked. Times, tokens and greetings are left out of the lines; T is a
 * token, D the daemon-id of a lease. Valid until it is asked again. */
const char *play_story(struct play *play);

#endif
