/*
 * members: a set of masters as a master stores it, taken apart.
 *
 *     set      '<generation> <id>:<way> <id>:<way> ...', ids of 16 hexadecimal digits in rising order
 *     places   '<place> <place> ...', in the same order, for people
 *
 * masterset.h says what sets are for. Nothing that a master tells is trusted.
 */
#ifndef CORE_MEMBERS_H
#define CORE_MEMBERS_H

#include "daemon/core/state.h"

#define MEMBERS_MAX 15 /* that can be read; more than any daemon has */

/* Slices point into what was told. */
struct members {
	int64_t generation;
	unsigned n;
	uint64_t ids[MEMBERS_MAX];
	struct slice ways[MEMBERS_MAX];
	struct slice places[MEMBERS_MAX]; /* n == 0: it was not told */
};

/* A place as a set has it: without blanks, because they separate the places of a list. */
void members_place(char out[MASTERSET_PLACE_MAX], const char *where);

/* False: no script of ours stores that. */
bool members_read(struct slice set, struct slice places, struct members *members);

/* Which one has this id; -1: none. */
int members_find(const struct members *members, uint64_t id);

#endif
