/*
 * touched: the names that have to be settled before the step ends, in the order in which they were touched.
 *
 * There are a few in a step, and all there are when a master comes back: what takes room for that is given
 * back. A name that nobody looks at any more is worse than a daemon that stops (rule 7): without memory the
 * process ends. Called by resource.c alone, but for the core's own beginning and end.
 */
#ifndef CORE_TOUCHED_H
#define CORE_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>

struct resource;

#define TOUCHED_KEPT 256

struct touched {
	struct resource **list;
	struct resource **first; /* has its turn; from here */
	struct resource **end;   /* to here, exclusive */
	struct resource **room;  /* the end of the list, beyond all that */
};

void touched_init(struct touched *t);
void touched_done(struct touched *t);

/* Full: makes room. */
void touched_grow(struct touched *t);

/* None left: gives back room for many. */
void touched_shrink(struct touched *t);

static inline bool
touched_empty(const struct touched *t)
{
	return t->first == t->end;
}

static inline void
touched_put(struct touched *t, struct resource *r)
{
	*t->end++ = r;
	if (t->end == t->room)
		touched_grow(t);
}

/* NULL: all have had their turn. */
static inline struct resource *
touched_take(struct touched *t)
{
	if (touched_empty(t)) {
		t->first = t->list;
		t->end = t->list;
		return NULL;
	}
	return *t->first++;
}

#endif
