/*
 * members: reads and writes a set of masters in the form in which a master stores it.
 *
 *     set      '<generation> <id>:<way> <id>+<way> ...', ids of 16 hexadecimal digits in rising order;
 *              '+' for a member that came with this generation, ':' for the others
 *     places   '<place> <place> ...', in the same order, for people; and ' | <place> ...' of servers that
 *              have left, the newest first, as many as fit
 *
 * Nothing that a master tells is trusted.
 */
#ifndef CORE_MEMBERS_H
#define CORE_MEMBERS_H

#include "daemon/core/base/settings.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct master;

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
	struct slice places[MEMBERS_MAX]; /* n == 0: not reported */
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

/*
 * The slots of this daemon, compared with a set: which server is in which slot, and what has to be moved when
 * another set is agreed on.
 */

/* Which member the master of this slot is: by its id; without a memory, by what it was in this daemon's life,
 * or by place and way. -1: none, or not known. */
int slot_member(const struct members *list, const struct master *m);

/* Whether it may be a member. One that cannot be reached may be any member, unless it has left. ours: our
 * set; NULL: none is agreed on here. */
bool slot_fits(const struct members *ours, const struct members *list, const struct master *m);

/* Whether our masters are the members of this set. */
bool slots_fit(const struct core *core, const struct members *ours, const struct members *list);

/* Whether each of our masters is a member of this set, or a server that has left it: then the set came from
 * ours by changes. */
bool slots_follow(const struct core *core, const struct members *ours, const struct members *list);

/* Whether our masters have the places and ways of this set. */
bool slots_named(const struct core *core, const struct members *list);

/* How many of our masters are members of this set, by the ids that they have reported. */
unsigned slots_shared(const struct core *core, const struct members *list);

/* The master in the slot of this member; NULL: none. */
struct master *slot_of_member(struct core *core, uint64_t id);

/* Moves slots, and opens new ones, so that each member of this set has one. Servers that have left get a slot
 * behind the members for a while, in which they are told of the set. */
void slots_take(struct core *core, const struct members *list);

/* The list fits, and has left the address of a slot, as after a REPLACE by another address of the same
 * server: the slot goes to the address in the list. Another name that a daemon has for a server stays. */
void slots_reroute(struct core *core, const struct members *list);

#endif
