/*
 * permit_lease: see permit_lease.h. permits.c decides what becomes of each.
 */
#include "daemon/core/permit_lease.h"

#include "daemon/core/alloc.h"
#include "daemon/core/lease.h"
#include "daemon/core/state.h"
#include "daemon/core/table.h"

#include <assert.h>
#include <stdlib.h>

void
permit_leases_init(struct resource *r)
{
	r->permit_leases = (struct permit_leases){.acquiring = NULL};
	TAILQ_INIT(&r->permit_leases.list);
}

struct lease *
permit_lease_acquiring(const struct resource *r)
{
	return r->limit == 0 || r->permit_leases.acquiring == NULL ? NULL
								   : &r->permit_leases.acquiring->lease;
}

struct permit_lease *
permit_lease_new(struct core *core, struct resource *r)
{
	struct permit_lease *s =
		freelist_new(core, sizeof(*s) + core->settings.masters * sizeof(struct seat));

	if (s == NULL)
		return NULL;
	lease_init(&s->lease, r);
	s->lease.kind = KIND_PERMITS;
	TAILQ_INSERT_HEAD(&r->permit_leases.list, s, in_resource);
	return s;
}

void
permit_lease_end(struct core *core, struct permit_lease *s)
{
	struct permit_leases *all = &s->lease.resource->permit_leases;

	lease_drop(core, &s->lease);
	assert(s->lease.state == LEASE_NONE && s->lease.grants == NULL);
	lease_done(core, &s->lease);
	TAILQ_REMOVE(&all->list, s, in_resource);
	if (s == all->acquiring)
		all->acquiring = NULL;
	else
		table_remove_permit_lease(core, s);
	freelist_retire(core, &s->freed);
}

void
permit_leases_drop(struct core *core, struct resource *r)
{
	while (!TAILQ_EMPTY(&r->permit_leases.list))
		permit_lease_end(core, TAILQ_FIRST(&r->permit_leases.list));
}

void
permit_lease_released(struct lease *l)
{
	struct permit_leases *all = &l->resource->permit_leases;
	struct permit_lease *s = permit_lease_of(l);

	all->taken -= l->permits;
	TAILQ_REMOVE(&all->list, s, in_resource);
	TAILQ_INSERT_HEAD(&all->list, s, in_resource);
}

struct lease *
permit_lease_find(const struct core *core, const struct resource *r, uint64_t attempt)
{
	struct lease *acquiring = permit_lease_acquiring(r);
	struct permit_lease *s;

	if (acquiring != NULL && acquiring->attempt == attempt)
		return acquiring;
	s = table_permit_lease(core, attempt);
	return s != NULL && s->lease.resource == r ? &s->lease : NULL;
}
