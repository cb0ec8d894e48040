/* store: see store.h. The commands themselves are in store_command.c. */
#include "tests/sim/world/store.h"

#include "tests/sim/world/store_data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct text
text_dup(struct slice s)
{
	struct text t = {malloc(s.n + 1), s.n};
	assert(t.p != NULL);
	if (s.n > 0)
		memcpy(t.p, s.p, s.n);
	t.p[s.n] = '\0';
	return t;
}

void
text_set(struct text *text, struct slice s)
{
	struct text fresh = text_dup(s);
	free(text->p);
	*text = fresh;
}

struct slice
text_slice(const struct text *text)
{
	return (struct slice){text->p, text->n};
}

static void
entry_clear(struct entry *entry)
{
	for (size_t i = 0; i < entry->n; i++) {
		free(entry->pairs[i].field.p);
		free(entry->pairs[i].value.p);
	}
	free(entry->pairs);
	free(entry->key.p);
	free(entry->string.p);
}

void
entry_remove(struct store *store, struct entry *entry)
{
	size_t i = (size_t)(entry - store->entries);
	entry_clear(entry);
	store->n--;
	memmove(entry, entry + 1, (store->n - i) * sizeof(*entry));
}

struct entry *
entry_find(struct store *store, int64_t wall_us, struct slice key)
{
	for (size_t i = 0; i < store->n; i++) {
		struct entry *entry = &store->entries[i];
		if (!slice_equal(text_slice(&entry->key), key))
			continue;
		if (entry->expire_ms == 0 || entry->expire_ms >= wall_us / 1000)
			return entry;
		entry_remove(store, entry);
		return NULL;
	}
	return NULL;
}

struct entry *
entry_add(struct store *store, struct slice key, enum type type)
{
	if (store->n == store->room) {
		store->room = store->room > 0 ? 2 * store->room : 16;
		store->entries = realloc(store->entries, store->room * sizeof(*store->entries));
		assert(store->entries != NULL);
	}
	struct entry *entry = &store->entries[store->n++];
	*entry = (struct entry){.key = text_dup(key), .type = type};
	return entry;
}

struct pair *
pair_find(struct entry *entry, struct slice field)
{
	for (size_t i = 0; i < entry->n; i++)
		if (slice_equal(text_slice(&entry->pairs[i].field), field))
			return &entry->pairs[i];
	return NULL;
}

struct pair *
pair_add(struct entry *entry, struct slice field)
{
	if (entry->n == entry->room) {
		entry->room = entry->room > 0 ? 2 * entry->room : 8;
		entry->pairs = realloc(entry->pairs, entry->room * sizeof(*entry->pairs));
		assert(entry->pairs != NULL);
	}
	struct pair *pair = &entry->pairs[entry->n++];
	*pair = (struct pair){.field = text_dup(field)};
	return pair;
}

void
pair_remove(struct entry *entry, struct pair *pair)
{
	size_t i = (size_t)(pair - entry->pairs);
	free(pair->field.p);
	free(pair->value.p);
	entry->n--;
	memmove(pair, pair + 1, (entry->n - i) * sizeof(*pair));
}

struct store *
store_new(void)
{
	struct store *store = calloc(1, sizeof(*store));
	assert(store != NULL);
	return store;
}

void
store_free(struct store *store)
{
	if (store == NULL)
		return;
	store_flush(store);
	free(store->entries);
	free(store);
}

void
store_flush(struct store *store)
{
	for (size_t i = 0; i < store->n; i++)
		entry_clear(&store->entries[i]);
	store->n = 0;
}

struct store *
store_copy(const struct store *store)
{
	struct store *copy = store_new();
	for (size_t i = 0; i < store->n; i++) {
		const struct entry *from = &store->entries[i];
		struct entry *to = entry_add(copy, text_slice(&from->key), from->type);
		to->expire_ms = from->expire_ms;
		if (from->string.p != NULL)
			to->string = text_dup(text_slice(&from->string));
		for (size_t k = 0; k < from->n; k++) {
			struct pair *pair = pair_add(to, text_slice(&from->pairs[k].field));
			pair->score = from->pairs[k].score;
			if (from->pairs[k].value.p != NULL)
				pair->value = text_dup(text_slice(&from->pairs[k].value));
		}
	}
	return copy;
}

bool
store_delete(struct store *store, struct slice key)
{
	struct entry *entry = entry_find(store, 0, key);
	if (entry == NULL)
		return false;
	entry_remove(store, entry);
	return true;
}

void
store_put(struct store *store, struct slice key, struct slice value, int64_t expire_ms)
{
	store_delete(store, key);
	struct entry *entry = entry_add(store, key, TYPE_STRING);
	entry->string = text_dup(value);
	entry->expire_ms = expire_ms;
}

bool
store_get(struct store *store, int64_t wall_us, struct slice key, struct slice *value)
{
	struct entry *entry = entry_find(store, wall_us, key);
	if (entry == NULL || entry->type != TYPE_STRING)
		return false;
	*value = text_slice(&entry->string);
	return true;
}

bool
store_field(struct store *store, struct slice key, struct slice field, struct slice *value)
{
	struct entry *entry = entry_find(store, 0, key);
	struct pair *pair = entry != NULL && entry->type == TYPE_HASH ? pair_find(entry, field) : NULL;
	if (pair == NULL)
		return false;
	*value = text_slice(&pair->value);
	return true;
}

bool
store_exists(struct store *store, int64_t wall_us, struct slice key)
{
	return entry_find(store, wall_us, key) != NULL;
}

bool
store_pair(struct store *store, int64_t wall_us, struct slice key, size_t i, struct slice *field,
	struct slice *value)
{
	const struct entry *entry = entry_find(store, wall_us, key);
	if (entry == NULL || entry->type != TYPE_HASH || i >= entry->n)
		return false;
	*field = text_slice(&entry->pairs[i].field);
	*value = text_slice(&entry->pairs[i].value);
	return true;
}

bool
store_member(struct store *store, int64_t wall_us, struct slice key, size_t i, struct slice *member)
{
	const struct entry *entry = entry_find(store, wall_us, key);
	if (entry == NULL || entry->type != TYPE_ZSET || i >= entry->n)
		return false;
	*member = text_slice(&entry->pairs[i].field);
	return true;
}

int64_t
store_expires_ms(struct store *store, struct slice key)
{
	struct entry *entry = entry_find(store, 0, key);
	return entry != NULL ? entry->expire_ms : 0;
}

size_t
store_count(struct store *store, int64_t wall_us)
{
	for (size_t i = 0; i < store->n;) {
		struct entry *entry = &store->entries[i];
		if (entry->expire_ms != 0 && entry->expire_ms < wall_us / 1000)
			entry_remove(store, entry);
		else
			i++;
	}
	return store->n;
}

bool
store_key(struct store *store, size_t i, struct slice *key)
{
	if (i >= store->n)
		return false;
	*key = text_slice(&store->entries[i].key);
	return true;
}
