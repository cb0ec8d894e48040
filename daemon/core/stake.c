#include "daemon/core/stake.h"

#include "daemon/core/grave.h"
#include "daemon/core/lease.h"
#include "daemon/core/table.h"

#include <assert.h>
#include <stdlib.h>

void
stakes_init(struct resource *r)
{
	r->stakes = (struct stakes){.bidder = NULL};
	TAILQ_INIT(&r->stakes.list);
}

struct lease *
stake_bidder(const struct resource *r)
{
	return r->limit == 0 || r->stakes.bidder == NULL ? NULL : &r->stakes.bidder->lease;
}

struct stake *
stake_new(struct core *core, struct resource *r)
{
	struct stake *s = grave_new(core, sizeof(*s) + core->settings.masters * sizeof(struct seat));

	if (s == NULL)
		return NULL;
	lease_init(&s->lease, r);
	s->lease.kind = KIND_PERMITS;
	TAILQ_INSERT_HEAD(&r->stakes.list, s, in_resource);
	return s;
}

void
stake_end(struct core *core, struct stake *s)
{
	struct stakes *all = &s->lease.resource->stakes;

	lease_drop(core, &s->lease);
	assert(s->lease.state == LEASE_NONE && s->lease.grants == NULL);
	lease_done(core, &s->lease);
	TAILQ_REMOVE(&all->list, s, in_resource);
	if (s == all->bidder)
		all->bidder = NULL;
	else
		table_remove_stake(core, s);
	grave_bury(core, &s->grave);
}

void
stakes_drop(struct core *core, struct resource *r)
{
	while (!TAILQ_EMPTY(&r->stakes.list))
		stake_end(core, TAILQ_FIRST(&r->stakes.list));
}

void
stake_released(struct lease *l)
{
	struct stakes *all = &l->resource->stakes;
	struct stake *s = stake_of(l);

	all->taken -= l->permits;
	TAILQ_REMOVE(&all->list, s, in_resource);
	TAILQ_INSERT_HEAD(&all->list, s, in_resource);
}

struct lease *
stake_find(const struct core *core, const struct resource *r, uint64_t attempt)
{
	struct lease *bidder = stake_bidder(r);
	struct stake *s;

	if (bidder != NULL && bidder->attempt == attempt)
		return bidder;
	s = table_stake(core, attempt);
	return s != NULL && s->lease.resource == r ? &s->lease : NULL;
}
