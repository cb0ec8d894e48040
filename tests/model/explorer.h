/*
 * explorer: visits every state that a model can reach, breadth first, so that the first one that breaks a
 * promise lies at the end of a shortest way.
 *
 *     begin ──moves──▶ offered states ──normalize──▶ new? ──▶ broken? ──▶ its own moves, later
 *                                                     └ seen before: dropped
 *
 * main.c calls it, models offer states to it. It draws nothing by chance: the same model gives the same
 * states in the same order.
 */
#ifndef MODEL_EXPLORER_H
#define MODEL_EXPLORER_H

#include "tests/model/model.h"

#include <stdio.h>

enum verdict {
	VERDICT_HOLDS,   /* every reachable state was seen and none breaks a promise */
	VERDICT_REFUTED, /* see promise and steps */
	VERDICT_EMPTY,   /* holds, but some landmark was never met: see promise */
	VERDICT_LARGE,   /* more than states_max states */
};

struct finding {
	enum verdict verdict;
	size_t states;       /* different ones that were met */
	unsigned steps;      /* of the way to the broken promise */
	const char *promise; /* what was broken, or the landmark that is missing; NULL: neither */
};

/* How far to look. */
struct bounds {
	unsigned depth;    /* 1 and up: the models' own bounds grow with it */
	size_t states_max; /* below 2^31 */
	bool plain; /* without normalize(): more states, and the same verdict, or normalize() is wrong */
};

/* Explores the variant. A way to a broken promise is written to trace, one numbered step a line, unless trace
 * is NULL. Exits with a message when memory runs out. */
struct finding explorer_run(
	const struct model *model, const struct variant *variant, const struct bounds *bounds, FILE *trace);

/* For moves(): here is what one step leads to. The text says which step, as in "m1 grants A". */
void explorer_offer(struct explorer *ex, const void *next, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a turn, as models call what moves() works with: the state it came from, the one it makes of
 * that, the explorer. Offers the next state, and starts afresh. */
#define OFFER(turn, ...)                                                                                     \
	(explorer_offer((turn)->ex, &(turn)->next, __VA_ARGS__), (turn)->next = *(turn)->from)

/* For normalize(): sorts count records of size bytes each by their bytes. */
void explorer_sort(void *records, size_t count, size_t size);

/* For normalize(): the next order of count small numbers after this one, in place; false after the last,
 * which leaves them ascending again. */
bool explorer_permute(uint8_t *order, size_t count);

#endif
