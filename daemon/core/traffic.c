#include "daemon/core/traffic.h"

#include "daemon/core/grave.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct traffic *
traffic_new(struct core *core, struct lease *l)
{
	struct traffic *t = grave_must(core, sizeof(*t) + core->settings.masters * sizeof(*t->questions));

	assert(l->traffic == NULL);
	t->reached = l->token_last;
	l->traffic = t;
	return t;
}

void
traffic_grow(struct core *core, struct lease *l, unsigned from, unsigned to)
{
	struct traffic *before = l->traffic;
	struct traffic *t = grave_must(core, sizeof(*t) + to * sizeof(*t->questions));
	struct grave grave;

	assert(from < to);
	grave = t->grave;
	memcpy(t, before, sizeof(*t) + from * sizeof(*t->questions));
	t->grave = grave;
	grave_bury(core, &before->grave);
	l->traffic = t;
}

void
traffic_no_foreign(struct traffic *t)
{
	free(t->foreign);
	t->foreign = NULL;
	t->position = 0;
}

void
traffic_end(struct core *core, struct lease *l)
{
	if (l->traffic == NULL)
		return;
	traffic_no_foreign(l->traffic);
	grave_bury(core, &l->traffic->grave);
	l->traffic = NULL;
}

struct slice
traffic_foreign(const struct lease *l)
{
	const char *text = l->traffic != NULL ? l->traffic->foreign : NULL;

	return text == NULL ? (struct slice){NULL, 0} : slice_of(text);
}
