/*
 * members: reads and writes a set of masters in the form in which a master stores it.
 *
 *     set      '<generation> <id>:<way> <id>+<way> ...', ids of 16 hexadecimal digits in rising order;
 *              '+' for a member that came with this generation, ':' for the others
 *     places   '<place> <place> ...', in the same order, for people; and ' | <place> ...' of servers that
 *              have left, the newest first, as many as fit
 *
 * masterset.h says what sets are for. Nothing that a master tells is trusted.
 */
#ifndef CORE_MEMBERS_H
#define CORE_MEMBERS_H

#include "daemon/core/state.h"

#define MEMBERS_MAX            15 /* the most that can be read; more than any daemon has */
#define MEMBERS_LEFT_MAX       8
#define MEMBERS_GENERATION_MAX INT64_C(1000000000000)

/* The slices point into the text that was read. */
struct members {
	int64_t generation; /* 0 .. MEMBERS_GENERATION_MAX */
	unsigned n;
	unsigned came_n; /* how many came with this generation */
	uint64_t ids[MEMBERS_MAX];
	bool came[MEMBERS_MAX];
	struct slice ways[MEMBERS_MAX];
	struct slice places[MEMBERS_MAX]; /* n == 0: not told */
	unsigned left_n;
	struct slice left[MEMBERS_LEFT_MAX]; /* places */
};

/* A place as a set has it: without blanks, because blanks separate the places of a list. */
void members_place(char out[MASTERSET_PLACE_MAX], const char *where);

/* False: no script of ours stores that. */
bool members_read(struct slice set, struct slice places, struct members *members);

/* Sorts the members by id. set and places have room for MASTERSET_TEXT_MAX and MASTERSET_PLACES_MAX bytes;
 * there are no more members than CORE_MASTERS_MAX. Places of servers that have left are dropped if they do
 * not fit. */
void members_write(struct members *members, char *set, char *places);

/* How many bytes of this text of places belong to members: for "%.*s". */
int members_shown(const char *places);

/* The member with this id; -1: none. */
int members_find(const struct members *members, uint64_t id);

/* The member at this place; -1: none. */
int members_at(const struct members *members, struct slice place);

/* Whether a server at this place has left. */
bool members_left(const struct members *members, struct slice place);

#endif
