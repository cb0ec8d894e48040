/* reconfigure: see reconfigure.h. The step calls it as soon as the set of masters has changed. */
#include "daemon/core/reconfigure.h"

#include "daemon/core/base/base.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

static void
resource_leaves(struct core *core, struct resource *r, unsigned master)
{
	struct lease *l, *next;

	for (l = resource_next_lease(r, NULL); l != NULL; l = next) {
		next = resource_next_lease(r, l);
		grants_lose(core, l, renew_master_replaced(core, l, master));
	}
}

/* A newcomer that is not a member yet has no votes; one that has become a member has had none (votes). */
static void
reconfigure_moved(struct core *core, struct master *m, unsigned votes)
{
	struct resource *r;

	if (m->index < votes) {
		core->quorum->newcomers_until_ms = 0;
		core_changed(core, CHANGE_SET);
		for (r = names_first(&core->leases->names); r != NULL;
			r = names_next(&core->leases->names, r))
			resource_leaves(core, r, m->index);
		release_master_replaced(core, m->index);
	}
	m->moved = false;
}

static void
resource_grow(struct core *core, struct resource *r, unsigned from, unsigned to)
{
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		lease_grow(core, l, from, to);
}

static void
reconfigure_grow(struct core *core)
{
	unsigned from = core->quorum->votes, to = core->settings.masters;
	struct resource *r;

	assert(from < to);
	core->quorum->votes = to;
	for (r = names_first(&core->leases->names); r != NULL; r = names_next(&core->leases->names, r))
		resource_grow(core, r, from, to);
}

void
reconfigure(struct core *core)
{
	unsigned votes = core->quorum->votes;

	assert(core->quorum->reconfigured && core->quorum->votes <= core->settings.masters);
	core->quorum->reconfigured = false;
	/* First, because all that is done to a lease counts all masters. */
	if (votes != core->settings.masters)
		reconfigure_grow(core);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].moved)
			reconfigure_moved(core, &core->masters[i], votes);
	}
	assert(core->quorum->votes == core->settings.masters);
	core->retry = true;
}
