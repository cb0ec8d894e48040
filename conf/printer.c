/*
 * printer: prints a struct conf as YAML with every key and its help, and tells what a reload would change.
 *
 * Called by daemon/main.c. What is printed loads to the same values. Passwords are compared, and never
 * printed or told.
 */
#include "conf/printer.h"

#include "conf/conf.h"
#include "conf/loader.h"
#include "conf/schema.h"
#include "conf/value.h"
#include "conf/verify.h"

#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 44 /* where the help of a key begins */

/* Prints one key in a line: lead, name, value, help. */
static void
line_print(FILE *to, const char *lead, const struct schema_key *key, const char *value)
{
	size_t width = strlen(lead) + strlen(key->name) + 2 + strlen(value);

	fprintf(to, "%s%s: %s%*s# %s\n", lead, key->name, value,
		width + 2 < HELP_COLUMN ? (int)(HELP_COLUMN - width) : 2, "", key->help);
}

#define LEAD_MAX 16

/* Prints the keys of an item that have a value: the first one after lead, the others below it. */
static void
item_print(FILE *to, char *value, enum schema_scope scope, void *item, const char *lead)
{
	char below[LEAD_MAX];
	char inner[LEAD_MAX + 2];
	char **secret = scope_secret(scope, item);
	bool named = false;

	snprintf(below, sizeof(below), "%*s", (int)strlen(lead), "");
	snprintf(inner, sizeof(inner), "%s  ", below);
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope || !verify_applies(key, item) ||
			value_is_absent(key, scope_value(key, item)))
			continue;
		value_format(value, key, scope_value(key, item));
		line_print(to, lead, key, value);
		if (schema_storage(key) == STORAGE_MAP)
			item_print(to, value, key->inner, scope_field(key, item), inner);
		named = named || key->type == TYPE_FILE || key->type == TYPE_VARIABLE;
		lead = below;
	}
	if (secret == NULL || (*secret)[0] == '\0' || named)
		return;
	/* A user needs some password or hash. */
	fprintf(to,
		scope == SCOPE_USER ? "%spassword-hash: \"*\" # which is not shown\n"
				    : "%s# with a password, which is not shown\n",
		below);
}

static void
list_print(FILE *to, char *value, const struct schema_key *list, const struct conf *conf)
{
	size_t count = scope_list_count(list, conf);

	line_print(to, "", list, count == 0 ? "[]" : "");
	for (size_t i = 0; i < count; i++)
		item_print(to, value, list->inner, scope_list_item(list, conf, i), "  - ");
}

static void
map_print(FILE *to, char *value, const struct schema_key *map, const void *base)
{
	line_print(to, "", map, "");
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != map->inner)
			continue;
		value_format(value, key, scope_value(key, base));
		line_print(to, "  ", key, value);
	}
}

int
conf_print(const struct conf *conf, FILE *to)
{
	char *value = malloc(VALUE_TEXT_MAX);

	if (value == NULL)
		return -1;
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != SCOPE_ROOT)
			continue;
		if (schema_storage(key) == STORAGE_LIST) {
			list_print(to, value, key, conf);
		} else if (schema_storage(key) == STORAGE_MAP) {
			map_print(to, value, key, scope_value(key, conf));
		} else {
			value_format(value, key, scope_value(key, conf));
			line_print(to, "", key, value);
		}
	}
	free(value);
	return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

/*
 * ---- what a reload would change, and what of it needs a restart ----
 *
 * What can change is compared with what it is now; what cannot, with what it was at the start and still is.
 * Values are compared as the texts that conf_print() would write, so that no type needs a comparison of its
 * own.
 */

struct differ {
	const struct conf *boot;
	const struct conf *from;
	const struct conf *to;
	void (*each)(void *arg, const struct conf_change *change);
	void *arg;
	char *was; /* VALUE_TEXT_MAX each */
	char *is;
	size_t layout; /* those that decide how a name lies at the master */
	int restarts;
};

/* A mapping as it was at the start, as it is now, and as it would be. from NULL: it is new. */
struct three {
	const void *boot;
	const void *from;
	const void *to;
};

static void
change_tell(struct differ *d, const char *path, const char *from, const char *to, bool restart)
{
	struct conf_change change = {path, from, to, restart};

	d->restarts += restart;
	d->each(d->arg, &change);
}

static bool
value_restarts(const struct differ *d, const struct schema_key *key, size_t item)
{
	return key->restart || (key->type == TYPE_GLOB && item < d->layout);
}

/* item: < 0: of no list */
static void
value_compare(struct differ *d, const struct schema_key *key, const struct three *of, long item)
{
	char path[SCHEMA_PATH_MAX];
	bool restart = value_restarts(d, key, item < 0 ? 0 : (size_t)item);
	const void *base = restart ? of->boot : of->from;

	if (base == NULL)
		return;
	value_format(d->was, key, scope_value(key, base));
	value_format(d->is, key, scope_value(key, of->to));
	if (strcmp(d->was, d->is) == 0)
		return;
	schema_path(path, key, item);
	change_tell(d, path, d->was, d->is, restart);
}

static bool
count_compare(struct differ *d, const struct schema_key *list, size_t was, size_t is)
{
	char from[32];
	char to[32];

	if (was == is)
		return true;
	snprintf(from, sizeof(from), "%zu items", was);
	snprintf(to, sizeof(to), "%zu items", is);
	change_tell(d, list->name, from, to, list->restart);
	return false;
}

static void list_compare(struct differ *d, const struct schema_key *list);
static void rules_compare(struct differ *d, const struct schema_key *list);

static void
secret_compare(struct differ *d, enum schema_scope scope, const struct three *of, long item)
{
	const struct schema_key *file = schema_find(scope, "password-file");
	const char *scope_path = schema_scope_path(scope);
	const void *base = file != NULL && file->restart ? of->boot : of->from;
	char **was = base == NULL ? NULL : scope_secret(scope, (void *)base);
	char **is = scope_secret(scope, (void *)of->to);
	char path[SCHEMA_PATH_MAX];

	if (was == NULL || strcmp(*was, *is) == 0)
		return;
	snprintf(path, sizeof(path), "%.*s[%ld]%s password", (int)strcspn(scope_path, "["), scope_path, item,
		strchr(scope_path, ']') + 1);
	change_tell(d, path, "(secret)", "(secret)", file != NULL && file->restart);
}

/* The fields of a mapping are found in what could also be written; they are only read. */
static const void *
field(const struct schema_key *key, const void *mapping)
{
	return mapping == NULL ? NULL : scope_field(key, (void *)mapping);
}

static void
scope_compare(struct differ *d, enum schema_scope scope, const struct three *of, long item)
{
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope != scope)
			continue;
		if (schema_storage(key) == STORAGE_LIST && key->inner == SCOPE_RULE)
			rules_compare(d, key);
		else if (schema_storage(key) == STORAGE_LIST)
			list_compare(d, key);
		else if (schema_storage(key) == STORAGE_MAP)
			scope_compare(d, key->inner,
				&(struct three){
					field(key, of->boot), field(key, of->from), field(key, of->to)},
				item);
		else
			value_compare(d, key, of, item);
	}
	secret_compare(d, scope, of, item);
}

/* All of a list needs a restart, or nothing of it does. */
static void
list_compare(struct differ *d, const struct schema_key *list)
{
	const struct conf *base = list->restart ? d->boot : d->from;
	size_t n = scope_list_count(list, base);

	if (!count_compare(d, list, n, scope_list_count(list, d->to)))
		return;
	for (size_t i = 0; i < n; i++) {
		void *was = scope_list_item(list, base, i);
		void *is = scope_list_item(list, d->to, i);

		scope_compare(d, list->inner, &(struct three){was, was, is}, (long)i);
	}
}

/* Rules may come and go, all but those that decide which key a name has. */
static void
rules_compare(struct differ *d, const struct schema_key *list)
{
	char nothing[] = "";
	const struct conf_rule none = {.match = nothing,
		.key = nothing,
		.lease_ms = d->boot->lease_ms,
		.wait_ms = CONF_WAIT_FOREVER};
	size_t boot = d->boot->rule_count;
	size_t was = d->from->rule_count;
	size_t is = d->to->rule_count;

	(void)count_compare(d, list, was, is);
	for (size_t i = 0; i < is || i < d->layout; i++) {
		struct three of = {i < boot ? &d->boot->rules[i] : &none,
			i < was && i < is ? &d->from->rules[i] : NULL, i < is ? &d->to->rules[i] : &none};

		scope_compare(d, SCOPE_RULE, &of, (long)i);
	}
}

int
conf_diff(const struct conf *boot, const struct conf *from, const struct conf *to,
	void (*each)(void *arg, const struct conf_change *change), void *arg)
{
	struct differ d = {.boot = boot, .from = from, .to = to, .each = each, .arg = arg};

	d.layout = conf_layout_rules(boot) > conf_layout_rules(to) ? conf_layout_rules(boot)
								   : conf_layout_rules(to);
	d.was = malloc(VALUE_TEXT_MAX);
	d.is = malloc(VALUE_TEXT_MAX);
	if (d.was != NULL && d.is != NULL) {
		scope_compare(&d, SCOPE_ROOT, &(struct three){boot, from, to}, -1);
	} else {
		d.restarts = -1;
	}
	free(d.was);
	free(d.is);
	return d.restarts;
}
