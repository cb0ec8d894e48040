/*
 * served: see master.h. Which server each link of a master reaches.
 *
 * A failover, or a restart, leads links to another server one after the other, and the server before is gone.
 * So only one order of answers shows that a name leads to several servers in turn: one link reaches A, then
 * another link reaches B, then the first one reaches A again. Each greeting has to leave after the answer
 * before it came, as answers of a server that has ended may still be on their way.
 */
#include "daemon/core/master.h"

#include <assert.h>
#include <string.h>

static bool
served_differ(const struct master_link *a, const struct master_link *b)
{
	return a->up && b->up && a->run[0] != '\0' && b->run[0] != '\0' && strcmp(a->run, b->run) != 0;
}

bool
master_several(struct master *m, const struct vote *vote)
{
	struct master_link *l = &m->links[vote->link];
	char run[MASTER_RUN_MAX];
	bool differ = false, shown = m->several;

	assert(l->up && vote->greeting == GREETING_GOOD);
	slice_text(run, sizeof(run), vote->run);
	if (strcmp(run, l->run) != 0) {
		memcpy(l->run, run, sizeof(run));
		l->run_first = m->serial;
	}
	for (unsigned i = 0; i < CORE_LINKS_MAX; i++) {
		const struct master_link *other = &m->links[i];

		if (!served_differ(l, other))
			continue;
		differ = true;
		shown |= other->run_sent > l->run_first && vote->attempt > other->run_heard;
	}
	l->run_sent = vote->attempt;
	l->run_heard = m->serial;
	m->several = differ && shown;
	return m->several;
}
