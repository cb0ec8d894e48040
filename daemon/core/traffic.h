/*
 * traffic: what goes on about a lease; see struct traffic. One that is held and at rest has none.
 */
#ifndef CORE_TRAFFIC_H
#define CORE_TRAFFIC_H

#include "daemon/core/state.h"

/* From now on it has some: a lease that cannot be asked for or kept is worse than none, so memory comes from
 * the reserve if there is none. */
struct traffic *traffic_new(struct core *core, struct lease *l);

/* It has some: so many masters can be asked from now on. Memory as in traffic_new(). */
void traffic_grow(struct core *core, struct lease *l, unsigned from, unsigned to);

static inline struct traffic *
traffic_of(struct core *core, struct lease *l)
{
	return l->traffic != NULL ? l->traffic : traffic_new(core, l);
}

/* Nothing goes on any more. */
void traffic_end(struct core *core, struct lease *l);

/* Whose lease was in the way last, as the masters name him; n == 0: nobody's. */
struct slice traffic_foreign(const struct lease *l);
void traffic_no_foreign(struct traffic *t);

/* A block of tokens fetched ahead: its last one; 0: none. */
static inline int64_t
traffic_spare(const struct lease *l)
{
	return l->traffic != NULL && l->traffic->spare_first > 0 ? l->traffic->spare_last : 0;
}

#endif
