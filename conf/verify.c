/*
 * verify: checks values against each other.
 *
 * Called by the loader if the single values are valid. Reads the environment, password files and the names of
 * groups.
 */
#include "conf/verify.h"

#include "conf/defaults.h"
#include "conf/loader.h"
#include "conf/masters.h"
#include "conf/schema.h"
#include "conf/tls.h"
#include "conf/url.h"
#include "conf/user.h"
#include "conf/value_inner.h"
#include "proto/slice.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>

#define ONLY_KEY_MAX 1024 /* a glob of 512 bytes in a template of 256 */

/* How the keys begin that the scripts write beside those of other programs. */
static const char *const reserved[] = {"redisson_lock_token:", "lock-signal:"};

/* Whether a key of a master applies: a URL contains some of them, and a cluster has one database. */
static bool
master_applies(const struct schema_key *key, const struct conf_master *master)
{
	bool sentinel = master->sentinel.name[0] != '\0', cluster = master->cluster.nodes.count > 0;

	if (key->inner == SCOPE_MASTER_TLS)
		return conf_tls_on(&master->tls);
	if (key->type == TYPE_MAP)
		return key->inner == SCOPE_CLUSTER ? cluster : sentinel;
	if (key->type == TYPE_USERNAME)
		return sentinel || cluster;
	return key->type != TYPE_WHOLE || sentinel;
}

bool
verify_applies(const struct schema_key *key, const void *item)
{
	const struct conf_listener *listener = item;

	if (key->scope == SCOPE_MASTER)
		return master_applies(key, item);
	if (key->scope == SCOPE_SENTINEL && key->type == TYPE_MAP)
		return conf_tls_on(&((const struct conf_sentinel *)item)->tls);
	if ((key->scope != SCOPE_LISTEN && key->scope != SCOPE_HTTP) || key->type == TYPE_ON_CLOSE)
		return true;
	if (key->type == TYPE_PATH || key->type == TYPE_MODE || key->type == TYPE_GROUP)
		return listener->path[0] != '\0';
	if (key->type == TYPE_MAP)
		return listener->tls.certificate[0] != '\0';
	return listener->tcp.port != 0;
}

struct position
item_position(const struct verify *v, const struct node *mapping, const char *key)
{
	const struct node *node = mapping != NULL ? node_get(mapping, key) : NULL;

	if (node == NULL)
		node = mapping;
	if (node == NULL)
		return (struct position){v->file, 0, 0};
	return node_position(node);
}

bool
group_find(const char *group, int64_t *gid)
{
	const struct group *entry;

	if (number_parse(slice_of(group), 0, UINT32_MAX - 1, gid))
		return true;
	entry = getgrnam(group);
	if (entry != NULL)
		*gid = (int64_t)entry->gr_gid;
	return entry != NULL;
}

static void
listener_verify(const struct verify *v, enum schema_scope scope, const struct node *node,
	struct conf_listener *listener)
{
	const char *list = scope == SCOPE_HTTP ? "http" : "listen";
	bool unix_socket = listener->path[0] != '\0';
	char quoted[QUOTE_MAX];

	if (unix_socket == (listener->tcp.port != 0)) {
		errors_add(v->errors, node_position(node),
			"%s: an item with %s; allowed: one of unix and tcp in each item", list,
			unix_socket ? "both unix and tcp" : "neither unix nor tcp");
		return;
	}
	for (size_t i = 0; i < schema_key_count; i++) {
		const struct schema_key *key = &schema_keys[i];

		if (key->scope == scope && key->type != TYPE_MAP && !verify_applies(key, listener) &&
			node_get(node, key->name) != NULL)
			errors_add(v->errors, item_position(v, node, key->name),
				"%s: %s means nothing for a %s; leave it out", list, key->name,
				unix_socket ? "Unix socket" : "TCP address");
	}
	tls_verify_listener(v, list, node, listener);
	if (listener->group[0] != '\0' && !group_find(listener->group, &listener->gid))
		errors_add(v->errors, item_position(v, node, "group"),
			"%s: group: there is no group %s on this host; name one that is there, or its "
			"number",
			list, errors_quote(quoted, listener->group));
}

bool
secret_find(const struct verify *v, const struct node *node, const struct secret_source *source, char **out)
{
	char why[WHY_MAX];

	if (source->file[0] != '\0') {
		if (!secret_read_file(source->file, source->lines, out, why))
			errors_add(v->errors, item_position(v, node, "password-file"),
				"%s: password-file: %s %s", source->list, source->file, why);
		return true;
	}
	if (source->variable[0] == '\0')
		return false;
	if (!secret_read_env(source->variable, source->lines, out, why))
		errors_add(v->errors, item_position(v, node, "password-env"), "%s: password-env: %s %s",
			source->list, source->variable, why);
	return true;
}

void
verify_item(const struct verify *v, enum schema_scope scope, const struct node *node, void *item)
{
	switch (scope) {
	case SCOPE_LISTEN:
	case SCOPE_HTTP:
		listener_verify(v, scope, node, item);
		break;
	case SCOPE_MASTER:
		master_verify(v, node, item);
		break;
	case SCOPE_RULE:
		if (((struct conf_rule *)item)->match[0] == '\0')
			errors_add(v->errors, node_position(node),
				"rules: an item without match; each needs a glob, such as \"cron/*\"");
		break;
	case SCOPE_USER:
		user_verify(v, node, item);
		break;
	default:
		break;
	}
}

/* Item i of the list under this key, counted through all files; NULL when they have none. nth: its number in
 * its own file, from 1; may be NULL. */
static const struct node *
item_find(const struct verify *v, const char *key, size_t i, size_t *nth)
{
	for (const struct node *root = v->roots; root != NULL; root = root->next) {
		const struct node *list = node_get(root, key);
		size_t n = 1;

		for (const struct node *node = list != NULL ? list->first : NULL; node != NULL;
			node = node->next, n++) {
			if (nth != NULL)
				*nth = n;
			if (i-- == 0)
				return node;
		}
	}
	return NULL;
}

const struct node *
item_node(const struct verify *v, const char *key, size_t i)
{
	return item_find(v, key, i, NULL);
}

const char *
item_name(char out[ITEM_NAME_MAX], const struct verify *v, const char *key, size_t i, size_t j)
{
	size_t nth = j + 1;
	const struct node *other = item_find(v, key, j, &nth);
	const struct node *node = item_node(v, key, i);
	char quoted[QUOTE_MAX];

	if (other == NULL || node == NULL || other->file == node->file)
		snprintf(out, ITEM_NAME_MAX, "item %zu", nth);
	else
		snprintf(out, ITEM_NAME_MAX, "item %zu of %s", nth, errors_quote(quoted, other->file));
	return out;
}

static bool
listener_same(const struct conf_listener *a, const struct conf_listener *b)
{
	if (a->path[0] != '\0' || b->path[0] != '\0')
		return strcmp(a->path, b->path) == 0;
	return strcmp(a->tcp.host, b->tcp.host) == 0 && a->tcp.port == b->tcp.port;
}

static void
listeners_verify(const struct verify *v, const struct conf *conf)
{
	for (size_t i = 0; i < conf->listener_count; i++) {
		const struct conf_listener *listener = &conf->listeners[i];
		const struct node *node = item_node(v, "listen", i);
		char address[CONF_HOST_MAX + 16];
		char name[ITEM_NAME_MAX];

		for (size_t j = 0; j < i; j++)
			if (listener_same(listener, &conf->listeners[j]))
				errors_add(v->errors, node_position(node),
					"listen: the same as %s; name each once",
					item_name(name, v, "listen", i, j));
		if (listener->tcp.port == 0 || listener->insecure || conf->user_count > 0 ||
			listener->tls.client_ca[0] != '\0' || address_is_loopback(&listener->tcp))
			continue;
		address_format(address, &listener->tcp);
		errors_add(v->errors, item_position(v, node, "tcp"),
			"listen: %s is open to other hosts, and anyone there could lock and unlock; add "
			"users: or tls: with client-ca, or say insecure: yes",
			address);
	}
}

/* HTTP has no login but the certificate of the client, so without that an address that other hosts can reach
 * needs the word of the operator. */
static void
http_verify(const struct verify *v, const struct conf *conf)
{
	for (size_t i = 0; i < conf->http_count; i++) {
		const struct conf_listener *item = &conf->http[i];
		const struct node *node = item_node(v, "http", i);
		char address[CONF_HOST_MAX + 16];
		char name[ITEM_NAME_MAX];

		for (size_t j = 0; j < i; j++)
			if (listener_same(item, &conf->http[j]))
				errors_add(v->errors, node_position(node),
					"http: the same as %s; name each once",
					item_name(name, v, "http", i, j));
		for (size_t j = 0; j < conf->listener_count; j++)
			if (listener_same(item, &conf->listeners[j]))
				errors_add(v->errors, node_position(node),
					"http: lock clients connect to this address; name another");
		if (item->tcp.port == 0 || item->insecure || item->tls.client_ca[0] != '\0' ||
			address_is_loopback(&item->tcp))
			continue;
		address_format(address, &item->tcp);
		errors_add(v->errors, item_position(v, node, "tcp"),
			"http: %s is open to other hosts, and there is no login; name a loopback address, "
			"add "
			"tls: with client-ca, or say insecure: yes",
			address);
	}
}

/* The daemon excludes the other library only with the same keys and, if that knows a single master, with one.
 */
static void
interop_verify(const struct verify *v, const struct conf *conf, size_t i)
{
	const struct conf_rule *rule = &conf->rules[i];
	const struct node *node = item_node(v, "rules", i);
	const char *library = rule->interop == CONF_INTEROP_REDISSON ? "redisson" : "python-redis-lock";

	if (rule->interop == CONF_INTEROP_STRING && rule->key[0] == '\0')
		errors_add(v->errors, item_position(v, node, "interop"),
			"rules: interop: string needs key:, the key the other library uses for a name, such "
			"as "
			"\"%%\"");
	if (rule->interop != CONF_INTEROP_REDISSON && rule->interop != CONF_INTEROP_PYTHON_REDIS_LOCK)
		return;
	if (rule->key[0] != '\0')
		errors_add(v->errors, item_position(v, node, "key"),
			"rules: with interop: %s the key is \"%s\", as that library has it; leave key: out",
			library, conf_rule_key(rule));
	if (conf->master_count > 1)
		errors_add(v->errors, item_position(v, node, "interop"),
			"rules: interop: %s is for one master, and there are %zu; the locks of that library "
			"know no majority",
			library, conf->master_count);
}

/* Behind a cluster all keys are in the slot of the hash tag {NAMESPACE}, and those of another library are
 * not.
 */
static void
tag_verify(const struct verify *v, const struct conf *conf, size_t i)
{
	const struct conf_rule *rule = &conf->rules[i];
	const struct node *node = item_node(v, "rules", i);
	bool foreign =
		rule->interop == CONF_INTEROP_REDISSON || rule->interop == CONF_INTEROP_PYTHON_REDIS_LOCK;
	size_t n = strlen(conf->namespace);
	bool clustered = false;

	for (size_t j = 0; j < conf->master_count; j++)
		clustered = clustered || conf->masters[j].cluster.nodes.count > 0;
	if (!clustered)
		return;
	if (foreign)
		errors_add(v->errors, item_position(v, node, "interop"),
			"rules: the keys of that library are not in one slot of a cluster; leave interop: "
			"out, "
			"or name a master that is no cluster");
	else if (rule->key[0] != '\0' &&
		 (rule->key[0] != '{' || strncmp(rule->key + 1, conf->namespace, n) != 0 ||
			 rule->key[n + 1] != '}' || rule->key[n + 2] == ':'))
		errors_add(v->errors, item_position(v, node, "key"),
			"rules: key: with a cluster among the masters it begins with the tag of its slot, "
			"and "
			"no colon behind that: {%s}/%%",
			conf->namespace);
}

/* Refuses a template whose keys are all reserved for holdfast (PROTOCOL.md 2.1). */
static void
key_verify(const struct verify *v, const struct conf *conf, size_t i)
{
	const char *key = conf->rules[i].key, *begins = NULL;
	size_t n = strlen(conf->namespace);
	bool own = strncmp(key, conf->namespace, n) == 0 && strncmp(key + n, ":{", 2) == 0;

	for (size_t k = 0; k < sizeof(reserved) / sizeof(reserved[0]); k++) {
		if (strncmp(key, reserved[k], strlen(reserved[k])) == 0)
			begins = reserved[k];
	}
	if (own || begins != NULL)
		errors_add(v->errors, item_position(v, item_node(v, "rules", i), "key"),
			"rules: key: keys that begin with %s%s are holdfast's own; leave key: out, or take "
			"another",
			own ? conf->namespace : begins, own ? ":{" : "");
}

/* The key of a rule that matches a single name; false: it matches several, or has no template. */
static bool
only_key(const struct conf_rule *rule, char out[ONLY_KEY_MAX])
{
	const char *key = conf_rule_key(rule);
	const char *percent = strchr(key, '%');

	if (percent == NULL || strpbrk(rule->match, "*?[\\") != NULL)
		return false;
	snprintf(out, ONLY_KEY_MAX, "%.*s%s%s", (int)(percent - key), key, rule->match, percent + 1);
	return true;
}

static void
only_keys_verify(const struct verify *v, const struct conf *conf, size_t i)
{
	char key[ONLY_KEY_MAX], before[ONLY_KEY_MAX];
	char name[ITEM_NAME_MAX];

	if (!only_key(&conf->rules[i], key))
		return;
	for (size_t j = 0; j < i; j++) {
		if (!only_key(&conf->rules[j], before) || strcmp(key, before) != 0 ||
			strcmp(conf->rules[i].match, conf->rules[j].match) == 0)
			continue;
		errors_add(v->errors, item_position(v, item_node(v, "rules", i), "match"),
			"rules: the key of %s is also that of %s, by %s; a key has one name: use that one",
			conf->rules[i].match, conf->rules[j].match, item_name(name, v, "rules", i, j));
	}
}

static void
rules_verify(const struct verify *v, const struct conf *conf)
{
	for (size_t i = 0; i < conf->rule_count; i++) {
		interop_verify(v, conf, i);
		key_verify(v, conf, i);
		tag_verify(v, conf, i);
		only_keys_verify(v, conf, i);
	}
	for (size_t i = 1; i < conf->rule_count; i++)
		for (size_t j = 0; j < i; j++) {
			const char *before = conf->rules[j].match;
			char name[ITEM_NAME_MAX];

			if (strcmp(before, "*") != 0 && strcmp(before, conf->rules[i].match) != 0)
				continue;
			errors_add(v->errors, item_position(v, item_node(v, "rules", i), "match"),
				"rules: never reached: %s matches all of it, and the first match wins",
				item_name(name, v, "rules", i, j));
			break;
		}
}

static void
users_verify(const struct verify *v, const struct conf *conf)
{
	char name[ITEM_NAME_MAX];

	for (size_t i = 1; i < conf->user_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(conf->users[i].name, conf->users[j].name) == 0)
				errors_add(v->errors, item_position(v, item_node(v, "users", i), "name"),
					"users: the same name as %s; name each once",
					item_name(name, v, "users", i, j));
}

/* The ledger is replaced as it grows, and what else is at its path would be in the way. */
static void
ledger_verify(const struct verify *v, const struct conf *conf)
{
	bool taken = strcmp(conf->ledger, conf->log.to) == 0 || strcmp(conf->ledger, conf->audit) == 0;

	for (size_t i = 0; i < conf->listener_count; i++)
		taken = taken || strcmp(conf->ledger, conf->listeners[i].path) == 0;
	for (size_t i = 0; i < conf->http_count; i++)
		taken = taken || strcmp(conf->ledger, conf->http[i].path) == 0;
	if (taken)
		errors_add(v->errors, (struct position){v->file, 0, 0},
			"ledger: %s is also the path of a socket or of the log; give the ledger one of its "
			"own",
			conf->ledger);
}

void
verify_conf(const struct verify *v, struct conf *conf)
{
	defaults_fill(v, conf);
	masters_verify(v, conf);
	listeners_verify(v, conf);
	http_verify(v, conf);
	ledger_verify(v, conf);
	rules_verify(v, conf);
	users_verify(v, conf);
}
