/*
 * printer: prints a struct conf as YAML with every key and its help.
 *
 * Called for --print-config. Its output loads to the same values. It must never print a password.
 */
#include "conf/conf.h"
#include "conf/scope.h"
#include "conf/value.h"
#include "conf/verify.h"

#include <errno.h>
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
	if (secret != NULL && (*secret)[0] != '\0' && !named)
		fprintf(to, "%s# with a password, which is not shown\n", below);
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
