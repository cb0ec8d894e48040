/*
 * differ: what a reload would change, and what of it needs a restart.
 *
 * Called by daemon/main.c at a reload. Values are compared as the texts that conf_print() would write, so
 * that no type needs a comparison of its own; passwords are compared, and never told.
 */
#include "conf/conf.h"
#include "conf/scope.h"
#include "conf/value.h"

#include <stdlib.h>
#include <string.h>

struct differ {
	const struct conf *from;
	const struct conf *to;
	void (*each)(void *arg, const struct conf_change *change);
	void *arg;
	char *was; /* VALUE_TEXT_MAX each */
	char *is;
	long layout; /* rules up to the last one with a key of its own: they decide which key a name has */
	int restarts;
};

static void
change_tell(struct differ *d, const char *path, const char *from, const char *to, bool restart)
{
	struct conf_change change = {path, from, to, restart};

	d->restarts += restart;
	d->each(d->arg, &change);
}

static void list_compare(struct differ *d, const struct schema_key *list);

static void
value_compare(struct differ *d, const struct schema_key *key, const void *from, const void *to, long item)
{
	char path[SCHEMA_PATH_MAX];
	bool restart = key->restart || (key->type == TYPE_GLOB && item < d->layout);

	value_format(d->was, key, scope_value(key, from));
	value_format(d->is, key, scope_value(key, to));
	if (strcmp(d->was, d->is) == 0)
		return;
	schema_path(path, key, item);
	change_tell(d, path, d->was, d->is, restart);
}

static void
secret_compare(struct differ *d, enum schema_scope scope, void *from, void *to, long item)
{
	char **was = scope_secret(scope, from);
	char **is = scope_secret(scope, to);
	const char *scope_path = schema_scope_path(scope);
	char path[SCHEMA_PATH_MAX];

	if (was == NULL || strcmp(*was, *is) == 0)
		return;
	snprintf(path, sizeof(path), "%.*s[%ld]%s password", (int)strcspn(scope_path, "["), scope_path, item,
		strchr(scope_path, ']') + 1);
	change_tell(d, path, "(secret)", "(secret)", schema_find(scope, "password-file")->restart);
}

static void
scope_compare(struct differ *d, enum schema_scope scope, void *from, void *to, long item)
{
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope)
			continue;
		if (schema_storage(key) == STORAGE_LIST)
			list_compare(d, key);
		else if (schema_storage(key) == STORAGE_MAP)
			scope_compare(d, key->inner, scope_field(key, from), scope_field(key, to), item);
		else
			value_compare(d, key, from, to, item);
	}
	secret_compare(d, scope, from, to, item);
}

static void
list_compare(struct differ *d, const struct schema_key *list)
{
	size_t was = scope_list_count(list, d->from);
	size_t is = scope_list_count(list, d->to);
	char from[32];
	char to[32];

	if (was != is) {
		snprintf(from, sizeof(from), "%zu items", was);
		snprintf(to, sizeof(to), "%zu items", is);
		change_tell(d, list->name, from, to, list->restart);
		return;
	}
	for (size_t i = 0; i < was; i++)
		scope_compare(d, list->inner, scope_list_item(list, d->from, i),
			scope_list_item(list, d->to, i), (long)i);
}

/* A guard lasts as long as the longest lease; daemons and master have agreed on it. */
static void
longest_compare(struct differ *d)
{
	int64_t was = conf_longest_lease_ms(d->from);
	int64_t is = conf_longest_lease_ms(d->to);
	char from[32];
	char to[32];

	if (was == is)
		return;
	snprintf(from, sizeof(from), "%lldms", (long long)was);
	snprintf(to, sizeof(to), "%lldms", (long long)is);
	change_tell(d, "the longest lease", from, to, true);
}

static long
layout_count(const struct conf *conf)
{
	size_t n = conf->rule_count;

	while (n > 0 && conf->rules[n - 1].key[0] == '\0')
		n--;
	return (long)n;
}

int
conf_diff(const struct conf *from, const struct conf *to,
	void (*each)(void *arg, const struct conf_change *change), void *arg)
{
	struct differ d = {.from = from, .to = to, .each = each, .arg = arg};

	d.layout = layout_count(from) > layout_count(to) ? layout_count(from) : layout_count(to);
	d.was = malloc(VALUE_TEXT_MAX);
	d.is = malloc(VALUE_TEXT_MAX);
	if (d.was != NULL && d.is != NULL) {
		/* Only read; the fields of a scope are found in what could also be written. */
		scope_compare(&d, SCOPE_ROOT, (struct conf *)from, (struct conf *)to, -1);
		longest_compare(&d);
	} else {
		d.restarts = -1;
	}
	free(d.was);
	free(d.is);
	return d.restarts;
}
