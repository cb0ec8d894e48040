/*
 * masterset_slots: compares a set of masters with the slots of this daemon: which server is in which slot,
 * and what has to be moved when another set is agreed on. A part of masterset.
 */
#ifndef CORE_MASTERSET_SLOTS_H
#define CORE_MASTERSET_SLOTS_H

#include "daemon/core/members.h"

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

/* The master in the slot of this member; NULL: none. */
struct master *slot_of_member(struct core *core, uint64_t id);

/* Moves slots, and opens new ones, so that each member of this set has one. Servers that have left get a slot
 * behind the members for a while, in which they are told of the set. */
void slots_take(struct core *core, const struct members *list);

#endif
