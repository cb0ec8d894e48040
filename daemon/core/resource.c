/*
 * resource: see resource.h. Every LOCK and every name of an MLOCK passes key_refuses() and mode_refuses()
 * before it gets a waiter.
 */
#include "daemon/core/resource.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/grant.h"
#include "daemon/core/lease.h"
#include "daemon/core/locks.h"
#include "daemon/core/queue.h"
#include "daemon/core/rules.h"
#include "daemon/core/seat.h"
#include "daemon/core/semaphore.h"
#include "proto/command.h"
#include "proto/escape.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of resources ---- */

#define FIRST (1U << NAMES_FIRST_LOG)
#define AHEAD 16 /* chains by which a walk prefetches */

/* The chain of this number. Chain 2^k is the first of its piece. */
static struct resource **
chain_at(const struct names *names, uint32_t at)
{
	unsigned log = 31 - (unsigned)__builtin_clz(at | FIRST >> 1);

	assert(at < FIRST || names->pieces[log - NAMES_FIRST_LOG + 1] != NULL);
	return at < FIRST ? &names->pieces[0][at]
			  : &names->pieces[log - NAMES_FIRST_LOG + 1][at - (1U << log)];
}

static uint32_t
chain_of(const struct names *names, uint32_t hash)
{
	uint32_t at = hash & names->mask;

	return at < names->n ? at : hash & names->mask >> 1;
}

void
names_init(struct names *names, const uint64_t secret[2])
{
	memset(names, 0, sizeof(*names));
	memcpy(names->secret, secret, sizeof(names->secret));
	names->pieces[0] = names->first;
	names->n = FIRST;
	names->mask = FIRST - 1;
}

void
names_done(struct names *names)
{
	assert(names->count == 0);
	for (size_t i = 1; i < NAMES_PIECES; i++)
		free(names->pieces[i]);
}

struct resource *
names_find(const struct names *names, struct slice name)
{
	uint32_t hash = (uint32_t)hash_secretly(names->secret, name);
	struct resource *r = *chain_at(names, chain_of(names, hash));

	while (r != NULL && (r->hash != hash || !slice_equal(resource_name(r), name)))
		r = r->next;
	return r;
}

static size_t
names_pieces(const struct names *names)
{
	size_t n = 1;

	while (n < NAMES_PIECES && names->pieces[n] != NULL)
		n++;
	return n;
}

/* Room for twice as many chains. False: out of memory, or no piece is left. */
static bool
names_make_room(struct names *names)
{
	size_t piece = names_pieces(names);

	assert(names->n == (uint64_t)names->mask + 1);
	if (piece == NAMES_PIECES)
		return false;
	names->pieces[piece] = malloc(names->n * sizeof(struct resource *));
	if (names->pieces[piece] == NULL)
		return false;
	names->mask = names->mask << 1 | 1;
	return true;
}

/* One chain more: it takes its names from the chain that had them until now. */
static void
names_grow(struct names *names)
{
	struct resource **from, **to, *r;

	/* One chain for each number below the mask, and at most one more. */
	assert(names->n >= FIRST && names->n <= (uint64_t)names->mask + 1);
	if (names->n > names->mask && !names_make_room(names))
		return;
	from = chain_at(names, names->n & names->mask >> 1);
	to = chain_at(names, names->n);
	names->n++;
	*to = NULL;
	while ((r = *from) != NULL) {
		if (chain_of(names, r->hash) != names->n - 1) {
			from = &r->next;
			continue;
		}
		*from = r->next;
		r->next = *to;
		*to = r;
	}
}

/* One chain less: its names go back to the chain that they came from. */
static void
names_shrink(struct names *names)
{
	uint32_t last = --names->n, half = names->mask >> 1;
	size_t piece = names_pieces(names) - 1;
	struct resource **from = chain_at(names, last), **to = chain_at(names, last & half);

	assert(last >= FIRST && last > half);
	while (*to != NULL)
		to = &(*to)->next;
	*to = *from;
	if (last > half + 1)
		return;
	/* It was the first chain of its piece. */
	names->mask = half;
	free(names->pieces[piece]);
	names->pieces[piece] = NULL;
}

/* Called when a name comes and not when one goes, so that all can be removed during a walk through them. */
static void
names_fit(struct names *names)
{
	if (names->count / NAMES_PER_CHAIN >= names->n)
		names_grow(names);
	else if (names->n > FIRST && names->count < names->n / NAMES_SPARE)
		names_shrink(names);
}

void
names_add(struct names *names, struct resource *r)
{
	struct slice name = resource_name(r);
	struct resource **chain;

	r->hash = (uint32_t)hash_secretly(names->secret, name);
	names_fit(names);
	chain = chain_at(names, chain_of(names, r->hash));
	r->next = *chain;
	*chain = r;
	names->count++;
}

void
names_remove(struct names *names, struct resource *r)
{
	struct resource **at = chain_at(names, chain_of(names, r->hash));

	assert(names->count > 0);
	while (*at != r) {
		assert(*at != NULL);
		at = &(*at)->next;
	}
	*at = r->next;
	names->count--;
}

/* Prefetches a name while others are looked at: it may be anywhere in memory, and a walk would spend half of
 * its time waiting for that. */
static void
names_fetch(const struct resource *r)
{
	if (r == NULL)
		return;
	__builtin_prefetch(r);
	__builtin_prefetch((const char *)r + 64);
}

/* The first name in this chain or a later one. */
static struct resource *
names_from(const struct names *names, uint32_t chain)
{
	for (; chain < names->n; chain++) {
		struct resource *r = *chain_at(names, chain);

		if (chain + AHEAD < names->n)
			names_fetch(*chain_at(names, chain + AHEAD));
		if (r != NULL)
			return r;
	}
	return NULL;
}

struct resource *
names_first(const struct names *names)
{
	return names_from(names, 0);
}

struct resource *
names_next(const struct names *names, const struct resource *r)
{
	return r->next != NULL ? r->next : names_from(names, chain_of(names, r->hash) + 1);
}

/* How many low bits of a hash decide that a name belongs to this chain. */
static unsigned
chain_bits(const struct names *names, uint32_t chain)
{
	unsigned bits = 32 - (unsigned)__builtin_clz(names->mask);

	assert(chain < names->n);
	return (chain | ((names->mask >> 1) + 1)) < names->n ? bits : bits - 1;
}

scan_cursor
names_scan(const struct names *names, scan_cursor cursor, size_t looks,
	bool (*each)(void *arg, struct resource *r), void *arg)
{
	struct scan scan = {.cursor = cursor, .looks = looks};
	bool more = true;

	while (more) {
		uint32_t chain = chain_of(names, scan_reverse(scan.cursor));
		unsigned bits = chain_bits(names, chain);
		uint32_t next = scan_reverse(scan_behind(scan.cursor, bits));

		names_fetch(*chain_at(names, chain_of(names, next)));
		for (struct resource *r = *chain_at(names, chain); r != NULL; r = r->next) {
			if (scan_meets(&scan, r->hash))
				scan.enough |= !each(arg, r);
		}
		more = scan_pass(&scan, bits);
	}
	return scan.cursor;
}

/* ---- keys ---- */

#define KEY_BYTES_MAX (NAME_BYTES_MAX + RULE_KEY_MAX)

/* A rule makes the key before + NAME + after. */
struct template
{
	struct slice before;
	struct slice after;
};

/* False: the rule has no template; the keys are NAMESPACE:{NAME}. */
static bool
template_of(const struct rule *rule, struct template *out)
{
	const char *key = rule->interop == INTEROP_REDISSON ? "%" : rule->key;
	const char *percent;

	if (key == NULL)
		return false;
	percent = strchr(key, '%');
	assert(percent != NULL && strlen(key) <= RULE_KEY_MAX);
	out->before = (struct slice){key, (size_t)(percent - key)};
	out->after = slice_of(percent + 1);
	return true;
}

static size_t
append(char *key, size_t n, struct slice text)
{
	assert(text.n <= KEY_BYTES_MAX - n);
	if (text.n > 0)
		memcpy(key + n, text.p, text.n);
	return n + text.n;
}

static bool
begins(struct slice text, struct slice with)
{
	return text.n >= with.n && memcmp(text.p, with.p, with.n) == 0;
}

/* The name from which the template makes this key; false: there is none. */
static bool
template_name(const struct template *t, struct slice key, struct slice *name)
{
	size_t around = t->before.n + t->after.n;

	if (key.n <= around || !begins(key, t->before) ||
		memcmp(key.p + key.n - t->after.n, t->after.p, t->after.n) != 0)
		return false;
	*name = (struct slice){key.p + t->before.n, key.n - around};
	return name_check(*name, NAME_BYTES_MAX) == NULL;
}

/* The keys in the table of GUARANTEES.md, and the counter of RFencedLock, which interop: redisson writes. */
static bool
key_reserved(const struct core *core, struct slice key)
{
	struct slice namespace = slice_of(core->settings.namespace_), rest;

	if (begins(key, SLICE("redisson_lock_token:")))
		return true;
	if (!begins(key, namespace))
		return false;
	rest = (struct slice){key.p + namespace.n, key.n - namespace.n};
	return begins(rest, SLICE(":{")) || slice_equal(rest, SLICE(":node")) ||
	       slice_equal(rest, SLICE(":reclaimed"));
}

static void
why_taken(struct slice key, struct slice name, const struct rule *rule, struct reply *why)
{
	char text[56], of[56], match[28];

	(void)escape_text(text, sizeof(text), key, ESCAPE_PLAIN);
	(void)escape_text(of, sizeof(of), name, ESCAPE_PLAIN);
	(void)escape_text(match, sizeof(match), slice_of(rule->match), ESCAPE_PLAIN);
	reply_error(why, CODE_ERR,
		"bad name: its key at the master, %s, belongs to %s by the rule that matches %s: LOCK that "
		"name",
		text, of, match);
}

static void
why_reserved(struct slice key, struct reply *why)
{
	char text[112];

	(void)escape_text(text, sizeof(text), key, ESCAPE_PLAIN);
	reply_error(why, CODE_ERR,
		"bad name: its key at the master, %s, is one of holdfast's own: take another name", text);
}

bool
key_refuses(const struct core *core, struct slice name, struct reply *why)
{
	const struct rule *rule = rules_find(&core->locks->rules, name), *other;
	char bytes[KEY_BYTES_MAX];
	struct template t;
	struct slice key = {bytes, 0}, found;

	if (!template_of(rule, &t))
		return false;
	key.n = append(bytes, append(bytes, append(bytes, 0, t.before), name), t.after);
	if (key_reserved(core, key)) {
		why_reserved(key, why);
		return true;
	}
	for (other = rules_first(&core->locks->rules); other != rule; other++) {
		if (!template_of(other, &t) || !template_name(&t, key, &found) ||
			rules_find(&core->locks->rules, found) != other)
			continue;
		why_taken(key, found, other, why);
		return true;
	}
	return false;
}

/* ---- a resource ---- */

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
resource_new(struct core *core, struct slice name)
{
	size_t before =
		offsetof(struct resource, lease.within) + core->settings.masters * sizeof(struct seat);
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
	r->queue = &core->locks->nobody;
	lease_init(&r->lease, r, resource_seats(r));
	r->rule = rules_find(&core->locks->rules, name);
	names_add(&core->locks->names, r);
	core->counts.resources++;
	return r;
}

struct resource *
resource_get(struct core *core, struct slice name)
{
	struct resource *r = names_find(&core->locks->names, name);

	return r != NULL ? r : resource_new(core, name);
}

unsigned
resource_seats(const struct resource *r)
{
	return (unsigned)((r->name_at - offsetof(struct resource, lease.within)) / sizeof(struct seat));
}

bool
resource_idle(const struct resource *r)
{
	assert(r->limit == 0 || r->grant_count > 0 || r->permit_leases.taken == 0);
	return r->grant_count == 0 && r->queue->count == 0 &&
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
	assert(r->queue == &core->locks->nobody);
	if (r->limit == 0)
		lease_done(core, &r->lease);
	names_remove(&core->locks->names, r);
	if (r->listens)
		emit_listen(core, resource_name(r), false);
	core->counts.resources--;
	freelist_retire(core, &r->freed);
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

struct grant *
resource_next_grant(const struct resource *r, const struct grant *g)
{
	const struct lease *l = g == NULL ? NULL : g->lease;
	struct grant *next = g == NULL ? NULL : g->after;

	assert(l == NULL || (l->resource == r && l->state == LEASE_HELD));
	if (r->limit == 0)
		return g == NULL ? r->lease.grants : next;
	while (next == NULL && (l = resource_next_lease(r, l)) != NULL)
		next = l->grants;
	return next;
}

/* ---- modes ---- */

bool
mode_refuses(const struct resource *r, const struct command *c, struct reply *why)
{
	int64_t limit = c->kind == KIND_PERMITS ? c->limit : 0;
	bool foreign = r->rule->key != NULL || r->rule->interop != INTEROP_NONE;

	assert(c->kind != KIND_PERMITS || c->limit > 0);
	if (foreign && c->kind != KIND_EXCLUSIVE) {
		reply_error(why, CODE_WRONGKIND,
			"other programs lock this name too, and know exclusive locks only: its rule has a "
			"key or interop");
		return true;
	}
	if (limit == r->limit || (r->grant_count == 0 && r->queue->count == 0))
		return false;
	if (limit == 0)
		reply_error(why, CODE_WRONGKIND,
			"it is a semaphore while it is in use: LOCK it with LIMIT %lld, or take another name",
			(long long)r->limit);
	else if (r->limit == 0)
		reply_error(why, CODE_WRONGKIND,
			"it is no semaphore while it is in use: LOCK it without LIMIT, or take another name");
	else
		reply_error(why, CODE_LIMIT,
			"it has LIMIT %lld while it is in use: give that, or wait until nobody holds or "
			"wants it",
			(long long)r->limit);
	return true;
}

static void
mode_end(struct core *core, struct resource *r)
{
	assert(r->grant_count == 0 && r->queue->count == 0);
	r->parts = false;
	if (r->limit > 0) {
		permit_leases_drop(core, r);
	} else {
		lease_drop(core, &r->lease);
		lease_done(core, &r->lease);
	}
}

void
mode_join(struct core *core, struct resource *r, const struct command *c)
{
	int64_t limit = c->kind == KIND_PERMITS ? c->limit : 0;

	if (limit == r->limit)
		return;
	assert(limit >= 0 && limit <= COMMAND_LIMIT_MAX);
	mode_end(core, r);
	r->limit = (int16_t)limit;
	if (limit > 0) {
		permit_leases_init(r);
	} else {
		/* The lease and its seats end where the name begins. */
		memset(&r->lease, 0, r->name_at - offsetof(struct resource, lease));
		lease_init(&r->lease, r, resource_seats(r));
		assert(resource_seats(r) <= core->settings.masters);
		if (resource_seats(r) < core->settings.masters)
			seats_grow(core, &r->lease, 0, core->settings.masters);
	}
}
