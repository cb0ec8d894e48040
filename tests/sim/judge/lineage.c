/* lineage: see lineage.h. */
#include "tests/sim/judge/lineage.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define KIN_ROOM 64

uint64_t
lineage_family(const struct world *w, const char *daemon_id)
{
	for (size_t i = w->kins.n; i > 0; i--)
		if (memcmp(w->kins.of[i - 1].daemon_id, daemon_id, CALL_DAEMON_ID_SIZE - 1) == 0)
			return w->kins.of[i - 1].family;
	return 0;
}

bool
lineage_same(const struct world *w, const char *daemon_id, const char *other)
{
	if (memcmp(daemon_id, other, CALL_DAEMON_ID_SIZE - 1) == 0)
		return true;
	uint64_t family = w->plan.ledgers ? lineage_family(w, daemon_id) : 0;
	return family != 0 && family == lineage_family(w, other);
}

void
lineage_add(struct world *w, const char *daemon_id, uint64_t family)
{
	if (w->kins.n % KIN_ROOM == 0) {
		w->kins.of = realloc(w->kins.of, (w->kins.n + KIN_ROOM) * sizeof(*w->kins.of));
		assert(w->kins.of != NULL);
	}
	struct lineage *kin = &w->kins.of[w->kins.n++];
	memcpy(kin->daemon_id, daemon_id, sizeof(kin->daemon_id));
	kin->family = family;
}

void
lineage_free(struct world *w)
{
	free(w->kins.of);
	w->kins = (struct kins){.of = NULL};
}
