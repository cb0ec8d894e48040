#include "daemon/core/traffic.h"

#include "daemon/core/grave.h"

#include <assert.h>
#include <stdlib.h>

struct traffic *
traffic_new(struct core *core, struct lease *l)
{
	struct traffic *t = grave_new(core, sizeof(*t) + core->settings.masters * sizeof(*t->questions));

	assert(l->traffic == NULL && t != NULL);
	t->reached = l->token_last;
	l->traffic = t;
	return t;
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
