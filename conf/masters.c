/*
 * masters: checks the items of `masters`, and compares them. A part of verify.c.
 */
#include "conf/masters.h"

#include "conf/schema.h"
#include "conf/tls.h"
#include "conf/url.h"
#include "conf/value_inner.h"
#include "conf/verify.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PASSWORD_VARIABLE "HOLDFAST_MASTER_PASSWORD"

static bool
address_same(const struct conf_address *a, const struct conf_address *b)
{
	return strcasecmp(a->host, b->host) == 0 && a->port == b->port;
}

static void
addresses_verify(const struct verify *v, const struct node *node, const char *list,
	const struct conf_addresses *addresses)
{
	for (size_t i = 1; i < addresses->count; i++)
		for (size_t j = 0; j < i; j++)
			if (address_same(&addresses->list[i], &addresses->list[j]))
				errors_add(v->errors, item_position(v, node, list),
					"masters: %s %zu and %zu are the same; name each once", list, j + 1,
					i + 1);
}

static void
sentinel_verify(const struct verify *v, const struct node *node, struct conf_sentinel *sentinel)
{
	const struct conf_addresses *addresses = &sentinel->sentinels;

	if (sentinel->name[0] == '\0')
		errors_add(v->errors, node_position(node),
			"masters: sentinel without name; it needs the one that the sentinels know the master "
			"by");
	if (addresses->count == 0)
		errors_add(v->errors, node_position(node),
			"masters: sentinel without sentinels; it needs their hosts and ports, such as "
			"[10.0.0.7:26379, 10.0.0.8:26379]");
	addresses_verify(v, node, "sentinels", addresses);
	if (sentinel->password_file[0] != '\0' && sentinel->password_env[0] != '\0')
		errors_add(v->errors, node_position(node),
			"masters: more than one password of the sentinels; give password-file or "
			"password-env");
	else
		secret_find(v, node,
			&(struct secret_source){
				"masters", sentinel->password_file, sentinel->password_env, SECRET_ONE},
			&sentinel->password);
	tls_verify_server(v, node, &sentinel->tls);
}

/* Takes the password of the URL, else of the environment. */
static void
master_verify_password(const struct verify *v, const struct node *node, struct conf_master *master)
{
	char why[WHY_MAX];
	const char *word = master->url.password != NULL ? master->url.password : "";
	const struct secret_source own = {"masters", master->password_file, master->password_env, SECRET_ONE};
	int sources =
		(word[0] != '\0') + (master->password_file[0] != '\0') + (master->password_env[0] != '\0');

	if (sources > 1) {
		errors_add(v->errors, node_position(node),
			"masters: more than one password; give it in the url, in password-file or in "
			"password-env");
		return;
	}
	if (secret_find(v, node, &own, &master->password))
		return;
	if (word[0] != '\0') {
		free(master->password);
		master->password = strdup(word);
		if (master->password == NULL)
			errors_add(v->errors, (struct position){v->file, 0, 0}, "out of memory");
		return;
	}
	word = getenv(PASSWORD_VARIABLE);
	if (word != NULL && word[0] != '\0' &&
		!secret_read_env(PASSWORD_VARIABLE, SECRET_ONE, &master->password, why))
		errors_add(v->errors, node_position(node), "masters: %s %s", PASSWORD_VARIABLE, why);
}

static void
cluster_verify(const struct verify *v, const struct node *master, const struct node *node,
	const struct conf_cluster *cluster)
{
	if (cluster->nodes.count == 0)
		errors_add(v->errors, node_position(node),
			"masters: cluster without nodes; it needs the hosts and ports of some, such as "
			"[10.0.0.7:6379, 10.0.0.8:6379]");
	addresses_verify(v, node, "nodes", &cluster->nodes);
	if (node_get(master, "database") != NULL)
		errors_add(v->errors, item_position(v, master, "database"),
			"masters: database means nothing beside cluster, which has one; leave it out");
}

void
master_verify(const struct verify *v, const struct node *node, struct conf_master *master)
{
	const struct node *sentinel = node_get(node, "sentinel"), *cluster = node_get(node, "cluster");
	int ways = (master->url.kind != CONF_URL_NONE) + (sentinel != NULL) + (cluster != NULL);

	if (ways != 1) {
		errors_add(v->errors, node_position(node),
			ways > 1 ? "masters: an item with more than one of url, sentinel and cluster; "
				   "allowed: one of them"
				 : "masters: an item without url, sentinel or cluster; each needs one of "
				   "them, such as redis://10.0.0.1:6379/0");
		return;
	}
	if (sentinel != NULL) {
		sentinel_verify(v, sentinel, &master->sentinel);
	} else if (cluster != NULL) {
		cluster_verify(v, node, cluster, &master->cluster);
	} else if (node_get(node, "user") != NULL || node_get(node, "database") != NULL) {
		errors_add(v->errors,
			item_position(v, node, node_get(node, "user") != NULL ? "user" : "database"),
			"masters: user and database are part of the url: redis://user@host:port/database");
		return;
	}
	tls_verify_master(v, node, master);
	master_verify_password(v, node, master);
}

static bool
addresses_meet(const struct conf_addresses *a, const struct conf_addresses *b)
{
	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			if (address_same(&a->list[i], &b->list[j]))
				return true;
	return false;
}

/* The same name at one sentinel is the same master, and so is the same name or node of a cluster. */
static bool
found_same(const struct conf_master *a, const struct conf_master *b)
{
	const struct conf_addresses *nodes = &a->cluster.nodes, *others = &b->cluster.nodes;

	if (nodes->count > 0 && others->count > 0)
		return strcmp(a->cluster.name, b->cluster.name) == 0 || addresses_meet(nodes, others);
	return addresses_meet(&a->sentinel.sentinels, &b->sentinel.sentinels) &&
	       strcmp(a->sentinel.name, b->sentinel.name) == 0;
}

static bool
master_same(const struct conf_master *a, const struct conf_master *b)
{
	if (a->url.kind != b->url.kind)
		return false;
	if (a->url.kind == CONF_URL_UNIX)
		return strcmp(a->url.path, b->url.path) == 0;
	if (a->url.kind == CONF_URL_TCP)
		return address_same(&a->url.address, &b->url.address);
	return found_same(a, b);
}

/* An even number of masters tolerates no more losses than one master less. */
void
masters_verify(const struct verify *v, const struct conf *conf)
{
	size_t n = conf->master_count;
	char name[ITEM_NAME_MAX];

	/* An empty `masters:` may be a mistake. It must not silently mean locks that each host keeps for
	 * itself. */
	for (const struct node *root = v->roots; root != NULL; root = root->next) {
		const struct node *list = node_get(root, "masters");

		if (list != NULL && node_is_empty(list))
			errors_add(v->errors, node_position(list),
				"masters: nothing is below it; name the masters, or write masters: [] for a "
				"private redis-server, which serves this host only");
	}
	if (n > 0 && (n % 2 == 0 || n > CONF_MASTERS_MAX))
		errors_add(v->errors, item_position(v, item_node(v, "masters", n - 1), "url"),
			"masters: %zu of them; allowed: 1, 3, 5 or 7, because a majority has to be left when "
			"some are lost; %s",
			n, n > CONF_MASTERS_MAX ? "leave some out" : "add one, or leave one out");
	for (size_t i = 1; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (master_same(&conf->masters[i], &conf->masters[j]))
				errors_add(v->errors, item_position(v, item_node(v, "masters", i), "url"),
					"masters: the same server as %s; each has to be one of its own: name "
					"another, or leave it out",
					item_name(name, v, "masters", i, j));
}
