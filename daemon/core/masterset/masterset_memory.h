/*
 * masterset_memory: what members remember of sets, as they reported, and which of them may be given ours.
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
#ifndef CORE_MASTERSET_MEMORY_H
#define CORE_MASTERSET_MEMORY_H

#include <stdbool.h>

struct core;
struct master;
struct members;
struct vote;

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

/* Whether a member has no set yet, and depends on what the others tell. */
bool masterset_unsure(const struct core *core);

#endif
