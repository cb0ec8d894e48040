/*
 * cycle: a cycle of waits as text, for the refusal and for its note. Only for the search (deadlock.c).
 */
#ifndef CORE_CYCLE_H
#define CORE_CYCLE_H

struct core;
struct edge;
struct reply;
struct session;
struct waiter;

/* "session 1 waits for b, held by session 2, which waits for a, held by session 1": from target along the
 * edges in the marks of the other sessions, and by the last edge back to it. The middle of a long cycle is
 * left out. out->n: how many of the sessions are of other users than target. */
void cycle_tell(const struct session *target, const struct edge *last, struct reply *out);

/* Notes the refusal of this wait; the text of the note lasts until the step is over. */
void cycle_note(struct core *core, const struct waiter *w, const struct reply *refusal);

#endif
