/*
 * masterset_change: another set follows the set of masters, while leases go on. A part of masterset.
 *
 * The next set is one generation further. It replaces one member, adds two, or is the same list with other
 * ways; the members that stay are a majority of the set in force. Each daemon that knows of it takes it
 * through two steps at all members that stay, the second when all have taken the first:
 *
 *     OFFERED ──all that stay──▶ ACCEPTED ──all that stay, and all living daemons know of it──▶ in force
 *
 * An offer gives way to one of a later generation; an accepted set gives way to none. Two next sets share a
 * member that stays, so at most one of them comes into force. A daemon gives the set in force to the members
 * that stay; they refuse calls for the set before. Once a majority of that set does so, newcomers get the
 * set. They are like members that have lost their memory: guarded until all leases of the set before are
 * over. The lists of other daemons follow when they are told (masterset_slots.h).
 */
#ifndef CORE_MASTERSET_CHANGE_H
#define CORE_MASTERSET_CHANGE_H

#include "daemon/core/masterset.h"
#include "daemon/core/members.h"

/* In place of a set: no master stores it, and a master that stores any set does not register a daemon that
 * gives it. */
#define MASTERSET_NOBODYS "0"

/* Our set. False: there is none yet. */
bool masterset_members(const struct core *core, struct members *list);

/* The tag of a set in calls; never 0. */
uint32_t masterset_tag(const char *text);

/* Copies as much as fits, with a NUL. */
void masterset_copy(char *to, size_t room, struct slice from);

/* This set is in force from now on. */
void masterset_take(struct core *core, struct slice text, struct slice places);

/* Whether this next set may follow ours: the members that stay are a majority, and so on. */
bool masterset_may_follow(const struct members *ours, const struct members *next);

/* This next set is known from now on. */
void masterset_next(struct core *core, struct slice text, struct slice places);

/* Puts the next set into a HELLO for a member. */
void masterset_ask_next(const struct core *core, const struct master *m, struct call *hello);

/* Takes what a member of our set tells of the next set. */
void masterset_told_next(struct core *core, struct master *m, const struct vote *vote);

/* The same for a slot behind the members: a newcomer that is looked at, or a server that has left. */
void masterset_ask_behind(const struct master *m, struct call *hello);
enum membership masterset_told_behind(struct core *core, struct master *m, const struct vote *vote);

/* What was asked for here goes on: a next set is known; another set is in force (masterset_request.c). */
void masterset_request_next(struct core *core);
void masterset_request_done(struct core *core);

/* Another set is in force here. */
void masterset_changed(struct core *core);

#endif
