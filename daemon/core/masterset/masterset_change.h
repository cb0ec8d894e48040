/*
 * masterset_change: the next set, which follows the set of masters while leases go on.
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
 * over. The lists of other daemons follow when they learn of it.
 */
#ifndef CORE_MASTERSET_CHANGE_H
#define CORE_MASTERSET_CHANGE_H

#include <stdbool.h>

struct call;
struct core;
struct master;
struct members;
struct slice;
struct vote;

/* Whether a next set is known, which all members have to hear. */
bool masterset_changes(const struct core *core);

/* Whether a member has accepted the next set. */
bool masterset_accepted(const struct core *core);

/* What the server in this slot is to the set: "member", "leaving", "joining" or "left". */
const char *masterset_role(const struct core *core, const struct master *m);

/* Whether to send HELLO again soon: a next set waits for it, or for daemons that it knows. */
bool masterset_waits(const struct core *core, const struct master *m);

/* Whether this next set may follow ours: the members that stay are a majority, and so on. */
bool masterset_may_follow(const struct members *ours, const struct members *next);

/* This next set is known from now on. */
void masterset_next(struct core *core, struct slice text, struct slice places);

/* Puts the next set into a HELLO for a member. */
void masterset_ask_next(const struct core *core, const struct master *m, struct call *hello);

/* Takes what a member of our set tells of the next set. */
void masterset_answered_next(struct core *core, struct master *m, const struct vote *vote);

/* Another set is in force here. */
void masterset_changed(struct core *core);

#endif
