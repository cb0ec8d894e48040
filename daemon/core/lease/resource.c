/* resource: see resource.h. */
#include "daemon/core/lease/resource.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/permit_lease.h"
#include "daemon/core/lease/rules.h"
#include "proto/name.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* FNV-1a: the link that a name uses. Any spread will do; it only has to stay the same. */
unsigned
resource_link_of(const struct core *core, struct slice name)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < name.n; i++)
		hash = (hash ^ (unsigned char)name.p[i]) * 16777619U;
	return hash % core->settings.links;
}

struct resource *
resource_make(struct core *core, struct slice name, uint32_t hash, const struct rule *rule)
{
	size_t before =
		offsetof(struct resource, lease.within) + core->settings.masters * sizeof(struct lease_vote);
	struct resource *r = freelist_new(core, before + name.n);

	assert(name.n <= NAME_BYTES_MAX && before <= UINT16_MAX);
	if (r == NULL)
		return NULL;
	r->name_at = (uint16_t)before;
	r->name_n = name.n & 1023;
	if (name.n > 0)
		memcpy((char *)r + before, name.p, name.n);
	r->link = resource_link_of(core, name) & (CORE_LINKS_MAX - 1);
	assert(r->link < core->settings.links);
	r->demand = core->leases->no_demand;
	lease_init(&r->lease, r, resource_votes(r));
	r->rule = rule;
	r->hash = hash;
	names_add(&core->leases->names, r);
	core->counts.resources++;
	return r;
}

struct resource *
resource_new(struct core *core, struct slice name)
{
	return resource_make(
		core, name, names_hash(&core->leases->names, name), rules_find(&core->leases->rules, name));
}

struct resource *
resource_get(struct core *core, struct slice name)
{
	struct resource *r = names_find(&core->leases->names, name);

	return r != NULL ? r : resource_new(core, name);
}

unsigned
resource_votes(const struct resource *r)
{
	return (unsigned)((r->name_at - offsetof(struct resource, lease.within)) / sizeof(struct lease_vote));
}

bool
resource_idle(const struct resource *r)
{
	assert(r->limit == 0 || r->grant_count > 0 || r->permit_leases.taken == 0);
	return r->grant_count == 0 && r->demand->count == 0 &&
	       (r->limit == 0 ? r->lease.state == LEASE_NONE : TAILQ_EMPTY(&r->permit_leases.list));
}

void
resource_listen(struct core *core, struct resource *r)
{
	assert(r->rule->interop == INTEROP_REDISSON);
	if (!r->listens)
		emit_listen(core, resource_name(r), true);
	r->listens = true;
}

void
resource_forget(struct core *core, struct resource *r)
{
	assert(resource_idle(r) && !r->item.dirty);
	assert(r->demand == core->leases->no_demand);
	if (r->limit == 0)
		lease_done(core, &r->lease);
	names_remove(&core->leases->names, r);
	if (r->listens)
		emit_listen(core, resource_name(r), false);
	core->counts.resources--;
	freelist_retire(core, &r->freed);
}

struct lease *
resource_asking(const struct resource *r)
{
	return r->limit == 0 ? (struct lease *)(uintptr_t)&r->lease : permit_lease_acquiring(r);
}

struct lease *
resource_lease(const struct core *core, const struct resource *r, uint64_t attempt)
{
	return r->limit == 0 ? (struct lease *)(uintptr_t)&r->lease : permit_lease_find(core, r, attempt);
}

struct slice
resource_foreign(const struct resource *r)
{
	return r->limit == 0 ? round_foreign(&r->lease) : (struct slice){NULL, 0};
}

struct lease *
resource_next_lease(const struct resource *r, const struct lease *l)
{
	const struct lease *only = &r->lease;
	struct permit_lease *s;

	assert(l == NULL || l->resource == r);
	if (r->limit == 0)
		return l == NULL ? (struct lease *)(uintptr_t)only : NULL;
	s = l == NULL ? TAILQ_FIRST(&r->permit_leases.list) : TAILQ_NEXT(permit_lease_of(l), in_resource);
	return s == NULL ? NULL : &s->lease;
}
