/*
 * mark: what a search for cycles of waits (family.h) writes on the sessions that it meets.
 */
#ifndef CORE_MARK_H
#define CORE_MARK_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct waiter;

/* One step of a cycle of waits: a session waits, and another one keeps it from its answer, by a hold or by an
 * ASYNC wait ahead of it. */
struct edge {
	struct session *from;
	const struct waiter *wait;
	bool ahead;
};

/* What a search for deadlocks writes on each session that it meets; meaningless outside of the search. */
struct mark {
	uint64_t search;
	struct session *met;  /* the session met before this one */
	struct session *next; /* the next session to be visited, or the next in the cycle */
	struct edge edge;     /* the edge that led to this session */
	bool free;            /* the session can go on */
};

#endif
