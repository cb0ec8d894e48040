/*
 * events: the checker's part about EVENTS (6.5). Each hold has an event for its grant, in the step of the
 * grant, and one event for its end (released, lost or withheld), in the step in which the daemon ends it.
 */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_RELEASED 64

struct hold;
struct host;
struct note;
struct world;

/* One daemon's events in the current step. */
struct events {
	int64_t unlocked; /* token of the hold that UNLOCK has ended; 0: none */
	unsigned n;
	int64_t released[EVENTS_RELEASED]; /* tokens with the event `released` */
};

void events_note(struct host *host, const struct note *note);

/* UNLOCK has ended the hold; the event has to follow in the same step. */
void events_unlocked(struct world *world, const struct hold *hold);

/* For each hold after each step of a daemon; there: the daemon has it. */
void events_look(struct world *world, const struct hold *hold, bool there);
void events_step(struct world *world, const struct host *host);

#endif
