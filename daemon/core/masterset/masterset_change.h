/*
 * masterset_change: another set follows the set of masters, while leases go on.
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
#include <stddef.h>
#include <stdint.h>

struct call;
struct core;
struct master;
struct members;
struct slice;
struct vote;

/* Whether a next set is known, which all members have to hear. */
bool masterset_changes(const struct core *core);

/* Whether a member has no set yet, and depends on what the others tell. */
bool masterset_unsure(const struct core *core);

/* Whether a member has accepted the next set. */
bool masterset_accepted(const struct core *core);

/* What the server in this slot is to the set: "member", "leaving", "joining" or "left". */
const char *masterset_role(const struct core *core, const struct master *m);

/* Whether to send HELLO again soon: a next set waits for it, or for daemons that it knows. */
bool masterset_waits(const struct core *core, const struct master *m);

/* The tag of a set in calls; never 0. */
uint32_t masterset_tag(const char *text);

/* Copies as much as fits, with a NUL. */
void masterset_copy(char *to, size_t room, struct slice from);

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

/*
 * The memory of members: what they remember of sets, as they reported, and which of them may be given ours.
 *
 * A member that has lost its memory may have forgotten a later set than the one that this daemon knows. It
 * gets ours back
 * - if it reported a set to this daemon within a lease and this daemon knows of no next one: this daemon is
 *   registered there, so nothing has been decided without it; or
 * - if so many others reported our set, asked after it was found without a memory, that each majority has one
 * of them; or if all others answer, and none tells another set. An earlier set that a newcomer of our set had
 *   left is no other set.
 *
 * A member that comes with a set gets it once a majority of the members before stores it. Each of these has
 * to say so once more after all of them had said so: one may have forgotten it before the last one said so.
 */

/* The master has answered a HELLO. To be called before anything else of the answer is judged. */
void memory_answered(struct core *core, struct master *m, const struct vote *vote);

/* The master reported our set or an earlier one; m->enrolled: ours, as agreed on. */
void memory_reported(struct core *core, struct master *m, const struct vote *vote);

/* Whether it has reported within a lease that our set is agreed on. */
bool memory_fresh(const struct core *core, const struct master *m);

/* Whether the member at this place of our set may be given it. */
bool memory_may_have(
	const struct core *core, const struct members *ours, const struct master *m, unsigned at);

/* Whether this member has no memory, and only others that cannot be asked now could tell that it may have our
 * set: those that answer have reported what they know. */
bool memory_lacks_others(const struct core *core, const struct master *m);

/* How many members have no set, or not ours yet, and may not be given it. */
unsigned memory_waiting(const struct core *core);

#endif
