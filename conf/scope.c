/*
 * scope: initialises and frees the struct of a mapping, by the schema alone.
 *
 * Called by the loader, the printer and the comparison. It does not depend on the name of any key.
 */
#include "conf/scope.h"

#include "conf/secret.h"
#include "conf/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
	count++;
	memcpy((char *)conf + list->count_offset, &count, sizeof(count));
	return scope_init(list->inner, items + (count - 1) * size) ? items + (count - 1) * size : NULL;
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
