/* recover_read: see recover_read.h. It knows which entries are about one thing, and not what they say of it.
 */
#include "daemon/core/persist/recover_read.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/persist/recover.h"
#include "proto/command.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the last entry of each ---- */

const enum record_type recover_kinds[RECOVER_KINDS] = {
	RECORD_LEDGER_SESSION, RECORD_LOSS, RECORD_LEDGER_HOLD, RECORD_LEDGER_LEASE};

/* The entries that say that a thing of these kinds is gone. */
static const enum record_type gone_kinds[RECOVER_KINDS] = {
	RECORD_SESSION_GONE, RECORD_LOSS_GONE, RECORD_HOLD_GONE, RECORD_LEASE_GONE};

struct thing_key {
	enum record_type type;
	struct slice bytes;
};

static bool
thing_is(const void *thing, const void *what)
{
	const struct thing *t = thing;
	const struct thing_key *key = what;

	return t->type == key->type && slice_equal(t->key, key->bytes);
}

static uint64_t
thing_hash(const struct core *core, const struct thing_key *key)
{
	uint64_t hash = hash_secretly(core->secret, key->bytes) + (uint64_t)key->type;

	return hash != 0 ? hash : 1;
}

struct thing *
recover_find(const struct recovery *v, enum record_type type, struct slice bytes)
{
	const struct thing_key key = {type, bytes};

	return map_search(&v->by_key, thing_hash(v->core, &key), thing_is, &key);
}

/* NULL: out of memory. */
static struct thing *
thing_get(struct recovery *v, enum record_type type, struct slice bytes)
{
	const struct thing_key key = {type, bytes};
	struct thing *t = recover_find(v, type, bytes);

	if (t != NULL)
		return t;
	/* One thing for each record, at most. */
	assert(v->count < v->entries);
	t = &v->things[v->count];
	*t = (struct thing){.type = type, .key = bytes};
	if (map_add(&v->by_key, thing_hash(v->core, &key), t) != 0) {
		record_no_memory(&v->r);
		return NULL;
	}
	v->count++;
	return t;
}

/* The fields that identify the thing, as bytes. */
static struct slice
read_key(struct record *r, enum record_type type)
{
	const char *from = r->body.p;
	size_t n = r->body.n;
	uint64_t number = 0;
	struct slice text;

	if (n < (type == RECORD_LEDGER_HOLD || type == RECORD_LOSS ? 2 : 1) * sizeof(number))
		record_fail(r, "its record of type %u does not say what it is about", r->type);
	record_unsigned(r, &number);
	if (type == RECORD_LEDGER_HOLD)
		record_unsigned(r, &number);
	for (int i = 0; type == RECORD_LOSS && i < 2; i++)
		record_bytes(r, &text, i == 0 ? NAME_BYTES_MAX : OWNER_BYTES_MAX);
	return (struct slice){from, r->failed ? 0 : (size_t)(r->body.p - from)};
}

static void
read_entry(struct recovery *v, enum record_type says, bool gone)
{
	struct slice body = v->r.body;
	struct slice key = read_key(&v->r, says);
	struct thing *t = v->r.failed ? NULL : thing_get(v, says, key);

	if (t == NULL)
		return;
	if (!t->live && !gone)
		t->since = v->entries;
	t->live = !gone;
	t->at = v->entries;
	t->body = body;
	if (gone)
		t->gone = v->entries;
}

/* Enters the next record. False: that was the last one, or the ledger cannot be used. */
static bool
next_record(struct record *r)
{
	return !r->failed && r->in.n > 0 && record_next(r) != 0;
}

static void
read_entries(struct recovery *v)
{
	struct record ahead = v->r;
	size_t records = 0;

	while (next_record(&ahead))
		records++;
	v->things = calloc(records + 1, sizeof(*v->things));
	if (v->things == NULL)
		record_no_memory(&v->r);
	while (next_record(&v->r)) {
		size_t i = 0;

		v->entries++;
		while (i < RECOVER_KINDS && v->r.type != recover_kinds[i] && v->r.type != gone_kinds[i])
			i++;
		if (i < RECOVER_KINDS)
			read_entry(v, recover_kinds[i], v->r.type == gone_kinds[i]);
		else if (v->r.type == RECORD_LEDGER_TERMS)
			v->terms = v->r.body;
		else if (v->r.type == RECORD_LEDGER_SET)
			v->set = v->r.body;
		else
			record_unknown(&v->r);
	}
}

/* The first record: whose ledger it is. */
static void
read_head(struct recovery *v)
{
	const struct core_settings *set = &v->core->settings;
	struct slice ours = slice_of(set->namespace_), namespace_ = {NULL, 0}, daemon_id = {NULL, 0};

	if (!next_record(&v->r) || v->r.type != RECORD_LEDGER) {
		record_fail(&v->r, "it does not begin as a ledger");
		return;
	}
	ledger_head_fields(&v->r, &namespace_, &daemon_id);
	slice_text(v->daemon_id, sizeof(v->daemon_id), daemon_id);
	if (v->r.failed)
		return;
	if (!slice_equal(namespace_, ours))
		record_fail(&v->r, "its namespace is %.*s, and the configuration has %.*s",
			SLICE_ARG(namespace_), SLICE_ARG(ours));
	else if (strspn(v->daemon_id, "0123456789abcdef") != CALL_DAEMON_ID_SIZE - 1)
		record_fail(&v->r, "its daemon-id is not valid");
	else if (set->daemon_id != NULL && strcmp(v->daemon_id, set->daemon_id) == 0)
		record_fail(&v->r, "it is the ledger of this daemon itself");
}

/* What belongs to a thing goes with it. */
static void
link_things(struct recovery *v)
{
	for (size_t i = 0; i < v->count; i++) {
		struct thing *t = &v->things[i];
		bool loss = t->type == RECORD_LOSS;

		if (!t->live || (!loss && t->type != RECORD_LEDGER_HOLD))
			continue;
		t->whose = recover_find(v, loss ? RECORD_LEDGER_SESSION : RECORD_LEDGER_LEASE,
			(struct slice){t->key.p, sizeof(uint64_t)});
		if (t->whose != NULL && (!t->whose->live || t->at < t->whose->gone))
			t->whose = NULL;
	}
}

void
recover_read(struct recovery *v)
{
	read_head(v);
	read_entries(v);
	if (!v->r.failed)
		link_things(v);
}
