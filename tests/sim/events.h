/*
 * events: the checker's part about EVENTS (6.5): of each hold its grant is told, in the step that gives it,
 * and one end: released, lost or withheld, in the step in which the daemon has it no more.
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

/* Of one daemon, in the step that runs. */
struct events {
	int64_t unlocked; /* the token of what UNLOCK has ended; 0: nothing */
	unsigned n;
	int64_t released[EVENTS_RELEASED]; /* what was told to be released */
};

void events_note(struct host *host, const struct note *note);

/* UNLOCK has ended it: that is told in the same step. */
void events_unlocked(struct world *world, const struct hold *hold);

/* After each step of a daemon, of each hold; there: the daemon has it. */
void events_look(struct world *world, const struct hold *hold, bool there);
void events_step(struct world *world, const struct host *host);

#endif
