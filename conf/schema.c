/*
 * schema: the table of schema.def as data. It is constant, and knows names, not values.
 *
 * Called by the loader, the printer and the comparison. A struct of a mapping is initialised and freed
 * without the name of any key.
 */
#include "conf/schema.h"

#include "conf/url.h"
#include "conf/value.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000)
#define HOUR   (3600 * SECOND)
#define KB     INT64_C(1024)
#define MB     (1024 * KB)

#define RELOAD  false
#define RESTART true

const struct schema_key schema_keys[] = {
#define KEY(scope, name, type, field, low, high, fallback, change, help)                                     \
	{SCOPE_##scope, name, TYPE_##type, offsetof(scope_##scope, field), low, high, fallback, change,      \
		help, SCOPE_##scope, 0},
#define MAP(scope, id, name, field, help)                                                                    \
	{SCOPE_##scope, name, TYPE_MAP, offsetof(scope_##scope, field), 0, 0, "", false, help, SCOPE_##id, 0},
#define LIST(id, name, field, count, most, change, help)                                                     \
	{SCOPE_ROOT, name, TYPE_LIST, offsetof(struct conf, field), 0, most, "", change, help, SCOPE_##id,   \
		offsetof(struct conf, count)},
#include "conf/schema.def"
};

const size_t schema_key_count = sizeof(schema_keys) / sizeof(schema_keys[0]);

static const struct {
	const char *path;
	size_t size;
} scopes[SCOPE_COUNT] = {
#define SCOPE(id, path, tag)     [SCOPE_##id] = {path, sizeof(struct tag)},
#define SCOPE_LIKE(id, path, of) [SCOPE_##id] = {path, sizeof(scope_##of)},
#include "conf/schema.def"
};

static const struct {
	enum value_storage storage;
	const char *allowed;
} types[TYPE_COUNT] = {
#define TYPE(id, storage, allowed) [TYPE_##id] = {STORAGE_##storage, allowed},
#include "conf/schema.def"
};

const char *
schema_scope_path(enum schema_scope scope)
{
	return scopes[scope].path;
}

static size_t
schema_scope_size(enum schema_scope scope)
{
	return scopes[scope].size;
}

enum value_storage
schema_storage(const struct schema_key *key)
{
	return types[key->type].storage;
}

const char *
schema_allowed(const struct schema_key *key)
{
	return types[key->type].allowed;
}

const struct schema_key *
schema_find(enum schema_scope scope, const char *name)
{
	for (size_t i = 0; i < schema_key_count; i++)
		if (schema_keys[i].scope == scope && strcmp(schema_keys[i].name, name) == 0)
			return &schema_keys[i];
	return NULL;
}

const struct schema_key *
schema_elsewhere(enum schema_scope scope, const char *name)
{
	const struct schema_key *root = scope != SCOPE_ROOT ? schema_find(SCOPE_ROOT, name) : NULL;

	if (root != NULL)
		return root;
	for (size_t i = 0; i < schema_key_count; i++)
		if (schema_keys[i].scope != scope && strcmp(schema_keys[i].name, name) == 0)
			return &schema_keys[i];
	return NULL;
}

/* '_' for '-' and the wrong case are the most common errors, so they count as equal. */
static char
folded(char c)
{
	if (c == '_')
		return '-';
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* name and known have at most WORD_BYTES_MAX bytes. */
static size_t
distance(const char *name, const char *known)
{
	char text[WORD_BYTES_MAX];
	size_t n = 0;

	for (; name[n] != '\0'; n++)
		text[n] = folded(name[n]);
	return slice_distance((struct slice){text, n}, slice_of(known));
}

/* "password" for "password-file": the shorter name may be a long enough beginning of the other. */
static size_t
likeness(const char *name, const char *known)
{
	size_t length = strlen(name);

	if (length >= 4 && strncmp(name, known, length) == 0)
		return 0;
	return distance(name, known);
}

const struct schema_key *
schema_nearest(enum schema_scope scope, const char *name)
{
	const struct schema_key *best = NULL;
	size_t least = strlen(name) / 3 + 1;

	if (strlen(name) > WORD_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];
		size_t d;

		if (key->scope != scope)
			continue;
		d = likeness(name, key->name);
		if (d <= least && (best == NULL || d < least)) {
			best = key;
			least = d;
		}
	}
	return best;
}

void
schema_path(char out[SCHEMA_PATH_MAX], const struct schema_key *key, long item)
{
	const char *path = schema_scope_path(key->scope);
	const char *bracket = strchr(path, '[');

	if (path[0] == '\0')
		snprintf(out, SCHEMA_PATH_MAX, "%s", key->name);
	else if (bracket != NULL && item >= 0)
		snprintf(out, SCHEMA_PATH_MAX, "%.*s[%ld]%s.%s", (int)(bracket - path), path, item,
			bracket + 2, key->name);
	else
		snprintf(out, SCHEMA_PATH_MAX, "%s.%s", path, key->name);
}

/* ---- the structs ---- */

void *
scope_field(const struct schema_key *key, void *base)
{
	return (char *)base + key->offset;
}

const void *
scope_value(const struct schema_key *key, const void *base)
{
	return (const char *)base + key->offset;
}

char **
scope_secret(enum schema_scope scope, void *base)
{
	if (scope == SCOPE_MASTER)
		return &((struct conf_master *)base)->password;
	if (scope == SCOPE_SENTINEL)
		return &((struct conf_sentinel *)base)->password;
	return scope == SCOPE_USER ? &((struct conf_user *)base)->password : NULL;
}

bool
scope_init(enum schema_scope scope, void *base)
{
	char **secret;

	memset(base, 0, schema_scope_size(scope));
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope)
			continue;
		if (schema_storage(key) == STORAGE_MAP && !scope_init(key->inner, scope_field(key, base)))
			return false;
		if (!value_init(key, scope_field(key, base)))
			return false;
	}
	secret = scope_secret(scope, base);
	if (secret == NULL)
		return true;
	*secret = strdup("");
	return *secret != NULL;
}

size_t
scope_list_count(const struct schema_key *list, const struct conf *conf)
{
	size_t count;

	assert(list->type == TYPE_LIST);
	memcpy(&count, (const char *)conf + list->count_offset, sizeof(count));
	return count;
}

void *
scope_list_item(const struct schema_key *list, const struct conf *conf, size_t i)
{
	char *items;

	assert(i < scope_list_count(list, conf));
	memcpy(&items, scope_value(list, conf), sizeof(items));
	return items + i * schema_scope_size(list->inner);
}

void *
scope_list_append(const struct schema_key *list, struct conf *conf)
{
	size_t count = scope_list_count(list, conf);
	size_t size = schema_scope_size(list->inner);
	char *before;
	char *items;

	memcpy(&before, scope_value(list, conf), sizeof(before));
	items = realloc(before, (count + 1) * size);
	if (items == NULL)
		return NULL;
	memcpy(scope_field(list, conf), &items, sizeof(items));
	items += count * size;
	if (!scope_init(list->inner, items)) {
		scope_done(list->inner, items);
		return NULL;
	}
	count++;
	memcpy((char *)conf + list->count_offset, &count, sizeof(count));
	return items;
}

static void
list_done(const struct schema_key *list, struct conf *conf)
{
	void *items;

	for (size_t i = 0; i < scope_list_count(list, conf); i++)
		scope_done(list->inner, scope_list_item(list, conf, i));
	memcpy(&items, scope_value(list, conf), sizeof(items));
	free(items);
}

void
scope_done(enum schema_scope scope, void *base)
{
	char **secret = scope_secret(scope, base);

	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope)
			continue;
		if (schema_storage(key) == STORAGE_LIST)
			list_done(key, base);
		else if (schema_storage(key) == STORAGE_MAP)
			scope_done(key->inner, scope_field(key, base));
		else
			value_free(key, scope_field(key, base));
	}
	if (secret != NULL)
		secret_free(*secret);
}
