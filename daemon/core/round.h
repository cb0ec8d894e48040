/*
 * round: what goes on about a lease; see struct round. A lease that is held and at rest has none.
 */
#ifndef CORE_ROUND_H
#define CORE_ROUND_H

#include "daemon/core/state.h"

/* Gives the lease a round. A lease that cannot be asked for or kept is worse than none, so if there is no
 * memory it comes from the reserve. */
struct round *round_new(struct core *core, struct lease *l);

/* The lease has a round: from now on so many masters can be asked. Memory as in round_new(). */
void round_grow(struct core *core, struct lease *l, unsigned from, unsigned to);

static inline struct round *
round_of(struct core *core, struct lease *l)
{
	return l->round != NULL ? l->round : round_new(core, l);
}

/* Nothing goes on any more. */
void round_end(struct core *core, struct lease *l);

/* The daemon whose lease was in the way last, as the masters name it; n == 0: none. */
struct slice round_foreign(const struct lease *l);
void round_no_foreign(struct round *t);

/* A block of tokens fetched ahead: its last token; 0: none. */
static inline int64_t
round_spare(const struct lease *l)
{
	return l->round != NULL && l->round->spare_first > 0 ? l->round->spare_last : 0;
}

#endif
