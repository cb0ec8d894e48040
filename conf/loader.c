/*
 * loader: reads configuration files into a struct conf, by the schema.
 *
 * Called by daemon/main.c at start and at a reload. It reads every value and reports every error that it can
 * find before it fails. It never prints, and never returns half a configuration.
 */
#include "conf/loader.h"

#include "conf/conf.h"
#include "conf/schema.h"
#include "conf/source.h"
#include "conf/value.h"
#include "conf/verify.h"

#include <assert.h>
#include <stdlib.h>

#define KEYS_MAX 160 /* of the whole schema, to note the keys seen in a mapping */

struct loader {
	struct verify verify;
	struct conf *conf;
};

static void mapping_load(
	struct loader *l, enum schema_scope scope, const struct node *mapping, void *base, long item);

static const char *
kind_word(const struct node *node)
{
	if (node->kind == NODE_SEQUENCE)
		return "a list";
	return node->kind == NODE_MAPPING ? "a mapping" : "a single value";
}

static void
complain(struct loader *l, const struct node *node, const char *path, const char *text)
{
	errors_add(l->verify.errors, node_position(node), "%s: %s", path, text);
}

/* Reports an unknown key: a key of another mapping, a misspelling, or any other word. */
static void
unknown_key(struct loader *l, enum schema_scope scope, const struct node *key)
{
	const struct schema_key *near = schema_nearest(scope, key->text);
	const struct schema_key *other = schema_elsewhere(scope, key->text);
	char quoted[QUOTE_MAX];
	char path[SCHEMA_PATH_MAX];
	char hint[SCHEMA_PATH_MAX + 64] = "";
	const char *where = schema_scope_path(scope);

	if (near == NULL && other == NULL)
		near = schema_nearest(SCOPE_ROOT, key->text);
	if (other != NULL) {
		schema_path(path, other, -1);
		snprintf(hint, sizeof(hint),
			other->scope == SCOPE_ROOT && scope != SCOPE_ROOT
				? "; \"%s\" is a key of the top level"
				: "; did you mean \"%s\"?",
			path);
	} else if (near != NULL) {
		schema_path(path, near, -1);
		snprintf(hint, sizeof(hint), "; did you mean \"%s\"?", path);
	}
	errors_add(l->verify.errors, node_position(key), "%s%sunknown key %s%s", where,
		where[0] != '\0' ? ": " : "", errors_quote(quoted, key->text), hint);
}

static void
scalar_load(struct loader *l, const struct schema_key *key, const struct node *node, void *field, long item)
{
	char path[SCHEMA_PATH_MAX];
	char text[VALUE_WHY_MAX];

	schema_path(path, key, item);
	if (node->kind != NODE_SCALAR)
		snprintf(text, sizeof(text), "%s; allowed: %s", kind_word(node), schema_allowed(key));
	else if (node_is_empty(node))
		snprintf(text, sizeof(text), "no value; allowed: %s", schema_allowed(key));
	else if (value_parse(key, node->text, field, text))
		return;
	complain(l, node, path, text);
}

/* A master may be written as its URL alone. */
static void
item_load(struct loader *l, const struct schema_key *list, const struct node *node, void *base, long item)
{
	size_t before = l->verify.errors->count;

	if (node->kind == NODE_SCALAR && list->inner == SCOPE_MASTER) {
		const struct schema_key *url = schema_find(SCOPE_MASTER, "url");

		scalar_load(l, url, node, scope_field(url, base), item);
	} else if (node->kind == NODE_MAPPING) {
		mapping_load(l, list->inner, node, base, item);
	} else {
		char text[96];

		snprintf(text, sizeof(text), "%s as item %ld; allowed: a mapping%s", kind_word(node),
			item + 1, list->inner == SCOPE_MASTER ? " or a URL" : "");
		complain(l, node, list->name, text);
	}
	if (l->verify.errors->count == before && l->verify.errors->dropped == 0)
		verify_item(&l->verify, list->inner, node, base);
}

static void
list_load(struct loader *l, const struct schema_key *list, const struct node *node)
{
	long item = (long)scope_list_count(list, l->conf);

	if (node_is_empty(node))
		return;
	if (node->kind != NODE_SEQUENCE) {
		char text[96];

		snprintf(text, sizeof(text), "%s; allowed: a list, each item after \"- \"", kind_word(node));
		complain(l, node, list->name, text);
		return;
	}
	for (const struct node *child = node->first; child != NULL; child = child->next) {
		void *base;

		if (child->kind == NODE_BROKEN)
			continue;
		if (item == list->high) {
			char text[64];

			snprintf(text, sizeof(text), "more than %lld items", (long long)list->high);
			complain(l, child, list->name, text);
			return;
		}
		base = scope_list_append(list, l->conf);
		if (base == NULL) {
			complain(l, child, list->name, "out of memory");
			return;
		}
		item_load(l, list, child, base, item++);
	}
}

/* A list of single values. */
static void
values_load(struct loader *l, const struct schema_key *key, const struct node *node, void *field, long item)
{
	char path[SCHEMA_PATH_MAX];
	char text[VALUE_WHY_MAX];

	if (node->kind == NODE_SEQUENCE) {
		value_begin_list(key, field);
		for (const struct node *child = node->first; child != NULL; child = child->next)
			if (child->kind != NODE_BROKEN)
				scalar_load(l, key, child, field, item);
		return;
	}
	schema_path(path, key, item);
	snprintf(text, sizeof(text), "%s; allowed: %s", kind_word(node), schema_allowed(key));
	complain(l, node, path, text);
}

static void
value_load(struct loader *l, const struct schema_key *key, const struct node *node, void *base, long item)
{
	char text[96];

	switch (schema_storage(key)) {
	case STORAGE_LIST:
		list_load(l, key, node);
		break;
	case STORAGE_MAP:
		if (node->kind == NODE_MAPPING) {
			mapping_load(l, key->inner, node, scope_field(key, base), item);
		} else if (!node_is_empty(node)) {
			snprintf(text, sizeof(text), "%s; allowed: a mapping, each key in a line of its own",
				kind_word(node));
			complain(l, node, key->name, text);
		}
		break;
	case STORAGE_ADDRESSES:
	case STORAGE_TEXTS:
	case STORAGE_SET:
		values_load(l, key, node, scope_field(key, base), item);
		break;
	default:
		scalar_load(l, key, node, scope_field(key, base), item);
	}
}

static void
mapping_load(struct loader *l, enum schema_scope scope, const struct node *mapping, void *base, long item)
{
	const struct node *seen[KEYS_MAX] = {NULL};

	assert(schema_key_count <= KEYS_MAX);
	for (const struct node *node = mapping->first; node != NULL; node = node->next) {
		const struct schema_key *key;
		const struct node **first;

		if (node->key->kind != NODE_SCALAR)
			continue;
		key = schema_find(scope, node->key->text);
		if (key == NULL) {
			unknown_key(l, scope, node->key);
			continue;
		}
		first = &seen[key - schema_keys];
		if (*first != NULL) {
			char path[SCHEMA_PATH_MAX];

			schema_path(path, key, item);
			errors_add(l->verify.errors, node_position(node->key),
				"%s: given twice, first in line %zu; keep one", path, (*first)->key->line);
			continue;
		}
		*first = node;
		if (node->kind != NODE_BROKEN)
			value_load(l, key, node, base, item);
	}
}

static void
root_load(struct loader *l, const struct node *root)
{
	if (root->kind == NODE_MAPPING)
		mapping_load(l, SCOPE_ROOT, root, l->conf, -1);
	else if (!node_is_empty(root) && root->kind != NODE_BROKEN)
		complain(l, root, kind_word(root), "allowed: keys with values, such as \"lease: 10s\"");
}

/* Reads each file in turn: a later value replaces an earlier one, and items of a list are appended. */
static struct conf *
source_load(struct source *source, const char *file)
{
	struct loader l = {{file, source->errors, source->roots}, malloc(sizeof(*l.conf))};

	if (l.conf == NULL || !scope_init(SCOPE_ROOT, l.conf) ||
		(l.conf->files = source_names(source)) == NULL)
		errors_add(source->errors, (struct position){file, 0, 0}, "out of memory");
	else
		for (const struct node *root = source->roots; root != NULL; root = root->next)
			root_load(&l, root);
	if (source->errors->count == 0)
		verify_conf(&l.verify, l.conf);
	source_done(source);
	if (source->errors->count == 0)
		return l.conf;
	conf_free(l.conf);
	return NULL;
}

struct conf *
conf_parse(const char *file, const char *text, size_t n, struct conf_errors *errors)
{
	struct source source;

	source_init(&source, errors);
	source_add(&source, file, text, n);
	return source_load(&source, file);
}

struct conf *
conf_load(const char *file, bool needed, struct conf_errors *errors)
{
	struct source source;

	source_init(&source, errors);
	source_read(&source, file, needed);
	return source_load(&source, file);
}

struct conf *
conf_default(struct conf_errors *errors)
{
	return conf_parse("(defaults)", "", 0, errors);
}

void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	scope_done(SCOPE_ROOT, conf);
	free(conf->files);
	free(conf);
}

const char *
conf_rule_key(const struct conf_rule *rule)
{
	switch (rule->interop) {
	case CONF_INTEROP_REDISSON:
		return "%";
	case CONF_INTEROP_PYTHON_REDIS_LOCK:
		return "lock:%";
	default:
		return rule->key;
	}
}

size_t
conf_layout_rules(const struct conf *conf)
{
	size_t n = conf->rule_count;

	while (n > 0 && conf->rules[n - 1].key[0] == '\0' && conf->rules[n - 1].interop == CONF_INTEROP_OFF)
		n--;
	return n;
}

int64_t
conf_longest_lease_ms(const struct conf *conf)
{
	int64_t longest = conf->lease_ms;

	for (size_t i = 0; i < conf->rule_count; i++)
		if (conf->rules[i].lease_ms > longest)
			longest = conf->rules[i].lease_ms;
	return longest;
}
