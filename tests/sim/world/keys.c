/* keys: see keys.h. */
#include "tests/sim/world/keys.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX_US 60000000 /* as lua/queue.inc has it */

static void
text_copy(char *out, size_t size, struct slice text)
{
	size_t n = text.n < size ? text.n : size - 1;
	memcpy(out, text.p, n);
	out[n] = '\0';
}

static int64_t
key_till_us(struct store *store, struct slice key)
{
	int64_t ms = store_expires_ms(store, key);
	return ms > 0 ? ms * 1000 : KEYS_NEVER;
}

/* ---- the lease ---- */

/* '<owner> <deadline, 16 digits>' */
static void
member_read(struct keys *k, struct slice slot, struct slice value)
{
	struct keys_member *m = &k->members[k->n];
	if (value.n <= 17 || value.p[value.n - 17] != ' ')
		return;
	if (k->n == KEYS_MEMBERS) {
		k->crowd = true;
		return;
	}
	text_copy(m->slot, sizeof(m->slot), slot);
	text_copy(m->owner, sizeof(m->owner), (struct slice){value.p, value.n - 17});
	m->till_us = strtoll(value.p + value.n - 16, NULL, 10);
	k->n++;
}

static void
group_read(struct keys *k, struct store *store, struct slice key)
{
	struct slice field, value;
	k->lock = KEYS_STRANGE;
	for (size_t i = 0; store_pair(store, k->now_us, key, i, &field, &value) && !k->crowd; i++) {
		if (!slice_equal(field, SLICE("kind"))) {
			member_read(k, field, value);
			continue;
		}
		text_copy(k->kind, sizeof(k->kind), value);
		if (strncmp(k->kind, "permits ", 8) == 0)
			k->limit = strtoll(k->kind + 8, NULL, 10);
		if (k->limit > 0 || strcmp(k->kind, "shared") == 0)
			k->lock = KEYS_GROUP;
	}
	if (store_field(store, key, SLICE("kind"), &value) && k->crowd)
		k->lock = KEYS_GROUP;
}

static void
lease_read(struct keys *k, struct server *s)
{
	struct store *store = master_store(s->master);
	struct slice key = server_lease_key(s->world, k->name), value;
	if (!store_exists(store, k->now_us, key))
		return;
	k->till_us = key_till_us(store, key);
	if (!store_get(store, k->now_us, key, &value)) {
		group_read(k, store, key);
		if (k->lock == KEYS_GROUP && keys_living(k) == 0 && !k->crowd)
			k->lock = KEYS_FREE;
		return;
	}
	k->lock = KEYS_ALONE;
	k->n = 1;
	text_copy(k->members[0].owner, sizeof(k->members[0].owner), value);
	k->members[0].till_us = k->till_us;
}

/* ---- the queue ---- */

/* In base 32, as call_owner() writes it. */
static uint64_t
attempt_read(const char *text, size_t n)
{
	uint64_t attempt = 0;
	for (size_t i = 0; i < n; i++)
		attempt = attempt << 5 | (uint64_t)(text[i] >= 'a' ? text[i] - 'a' + 10 : text[i] - '0');
	return attempt;
}

/* '<deadline> <form> <attempt>' */
static void
place_read(struct keys *k, struct slice daemon, struct slice value)
{
	struct keys_place *p = &k->places[k->places_n];
	char text[80], form[8], attempt[32];
	int64_t till_us;
	text_copy(text, sizeof(text), value);
	if (sscanf(text, "%" SCNd64 " %7s %31s", &till_us, form, attempt) != 3 || till_us <= k->now_us ||
		till_us > k->now_us + PLACE_MAX_US)
		return;
	if (k->places_n == KEYS_PLACES) {
		k->places_many = true;
		return;
	}
	text_copy(p->daemon, sizeof(p->daemon), daemon);
	text_copy(p->form, sizeof(p->form), slice_of(form));
	p->till_us = till_us;
	p->attempt = attempt_read(attempt, strlen(attempt));
	k->places_n++;
}

static void
queue_read(struct keys *k, struct server *s)
{
	struct store *store = master_store(s->master);
	struct slice q = server_queue_key(k->name), daemon, value;
	char beside[48];
	text_copy(beside, sizeof(beside), q);
	beside[q.n - 1] = 'w';
	struct slice w = slice_of(beside);
	k->queue = store_exists(store, k->now_us, q);
	k->queue_till_us = KEYS_NEVER;
	/* One of the two may end first, as a full master takes only some of what is written. */
	if (!store_exists(store, k->now_us, w))
		return;
	if (store_field(store, w, SLICE("claim"), &value) && value.n > 33) {
		text_copy(k->claim, sizeof(k->claim), (struct slice){value.p, 32});
		k->claim_us = strtoll(value.p + 33, NULL, 10);
	}
	if (!k->queue)
		return;
	k->queue_till_us = key_till_us(store, q);
	if (key_till_us(store, w) < k->queue_till_us)
		k->queue_till_us = key_till_us(store, w);
	for (size_t i = 0; store_member(store, k->now_us, q, i, &daemon); i++)
		if (store_field(store, w, daemon, &value))
			place_read(k, daemon, value);
}

void
keys_read(struct keys *k, struct server *s, unsigned name)
{
	memset(k, 0, sizeof(*k));
	k->name = name;
	k->now_us = server_wall_us(s);
	lease_read(k, s);
	queue_read(k, s);
}

/* ---- what it says ---- */

static bool
member_equal(const struct keys_member *one, const struct keys_member *other)
{
	return strcmp(one->slot, other->slot) == 0 && strcmp(one->owner, other->owner) == 0 &&
	       one->till_us == other->till_us;
}

static bool
place_equal(const struct keys_place *one, const struct keys_place *other)
{
	return strcmp(one->daemon, other->daemon) == 0 && one->till_us == other->till_us &&
	       strcmp(one->form, other->form) == 0 && one->attempt == other->attempt;
}

bool
keys_equal(const struct keys *one, const struct keys *other)
{
	if (one->name != other->name || one->now_us != other->now_us || one->lock != other->lock ||
		strcmp(one->kind, other->kind) != 0 || one->limit != other->limit ||
		one->till_us != other->till_us || one->crowd != other->crowd || one->n != other->n ||
		one->queue != other->queue || one->queue_till_us != other->queue_till_us ||
		one->places_many != other->places_many || one->places_n != other->places_n ||
		strcmp(one->claim, other->claim) != 0 || one->claim_us != other->claim_us)
		return false;
	for (unsigned i = 0; i < one->n; i++)
		if (!member_equal(&one->members[i], &other->members[i]))
			return false;
	for (unsigned i = 0; i < one->places_n; i++)
		if (!place_equal(&one->places[i], &other->places[i]))
			return false;
	return true;
}

bool
keys_lives(const struct keys *k, const struct keys_member *m)
{
	return k->lock == KEYS_ALONE || m->till_us > k->now_us;
}

int64_t
keys_have(const struct keys *k, const char *owner, int64_t *till_us)
{
	int64_t n = 0;
	*till_us = KEYS_NEVER;
	for (unsigned i = 0; i < k->n; i++) {
		const struct keys_member *m = &k->members[i];
		if (!keys_lives(k, m) || strcmp(m->owner, owner) != 0)
			continue;
		if (m->till_us < *till_us)
			*till_us = m->till_us;
		n++;
	}
	return n;
}

int64_t
keys_living(const struct keys *k)
{
	int64_t n = 0;
	for (unsigned i = 0; i < k->n; i++)
		n += keys_lives(k, &k->members[i]);
	return n;
}

bool
keys_take(const struct keys *k, const char *form)
{
	if (k->lock == KEYS_FREE)
		return true;
	if (k->lock != KEYS_GROUP)
		return false;
	if (k->limit == 0)
		return strcmp(form, "s") == 0;
	return form[0] == 'p' && strtoll(form + 1, NULL, 10) <= k->limit - keys_living(k);
}

unsigned
keys_position(const struct keys *k, const char *daemon_id)
{
	for (unsigned i = 0; i < k->places_n; i++)
		if (strcmp(k->places[i].daemon, daemon_id) == 0)
			return i + 1;
	return 0;
}
