/*
 * round: see round.h.
 */
#include "daemon/core/round.h"

#include "daemon/core/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct round *
round_new(struct core *core, struct lease *l)
{
	struct round *t = grave_must(core, sizeof(*t) + core->settings.masters * sizeof(*t->questions));

	assert(l->round == NULL);
	t->reached = l->token_last;
	l->round = t;
	return t;
}

void
round_grow(struct core *core, struct lease *l, unsigned from, unsigned to)
{
	struct round *before = l->round;
	struct round *t = grave_must(core, sizeof(*t) + to * sizeof(*t->questions));
	struct freelist_link freed;

	assert(from < to);
	freed = t->freed;
	memcpy(t, before, sizeof(*t) + from * sizeof(*t->questions));
	t->freed = freed;
	freelist_retire(core, &before->freed);
	l->round = t;
}

void
round_no_foreign(struct round *t)
{
	free(t->foreign);
	t->foreign = NULL;
	t->position = 0;
}

void
round_end(struct core *core, struct lease *l)
{
	if (l->round == NULL)
		return;
	round_no_foreign(l->round);
	freelist_retire(core, &l->round->freed);
	l->round = NULL;
}

struct slice
round_foreign(const struct lease *l)
{
	const char *text = l->round != NULL ? l->round->foreign : NULL;

	return text == NULL ? (struct slice){NULL, 0} : slice_of(text);
}
