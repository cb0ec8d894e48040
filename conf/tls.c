/*
 * tls: checks the mappings `tls` of listeners, masters and sentinels.
 *
 * Called by verify.c for an item whose values are valid. It reads no certificate: the daemon does, at its
 * start, at a reload and with -t.
 */
#include "conf/tls.h"

#include "conf/schema.h"
#include "conf/source.h"
#include "conf/value.h"

#include <string.h>

static bool
is_set(const char *text)
{
	return text != NULL && text[0] != '\0';
}

bool
conf_tls_on(const struct conf_tls *tls)
{
	return is_set(tls->ca) || is_set(tls->certificate) || is_set(tls->key) || is_set(tls->name);
}

/* A certificate without its key is of no use, and the other way round. */
static void
pair_verify(const struct verify *v, const struct node *node, const char *list, const char *certificate,
	const char *key)
{
	if (is_set(certificate) != is_set(key))
		errors_add(v->errors, node_position(node), "%s: tls: %s without %s; give both", list,
			is_set(key) ? "key" : "certificate", is_set(key) ? "certificate" : "key");
}

void
tls_verify_listener(const struct verify *v, const char *list, const struct node *item,
	const struct conf_listener *listener)
{
	const struct conf_listen_tls *tls = &listener->tls;
	const struct node *node = node_get(item, "tls");

	if (node == NULL)
		return;
	if (listener->tcp.port == 0) {
		errors_add(v->errors, node_position(node),
			"%s: tls means nothing for a Unix socket; leave it out", list);
		return;
	}
	pair_verify(v, node, list, tls->certificate, tls->key);
	if (!is_set(tls->certificate) && !is_set(tls->key))
		errors_add(v->errors, node_position(node),
			"%s: tls without certificate and key; clients check who the daemon is by them", list);
	if (is_set(tls->client_ca))
		return;
	if (is_set(tls->client_crl) || tls->client_login)
		errors_add(v->errors, node_position(node),
			"%s: tls: %s needs client-ca, the authority of the clients' certificates", list,
			is_set(tls->client_crl) ? "client-crl" : "client-login");
}

void
tls_verify_server(const struct verify *v, const struct node *item, const struct conf_tls *tls)
{
	const struct node *node = node_get(item, "tls");

	if (node == NULL)
		return;
	if (!conf_tls_on(tls))
		errors_add(v->errors, node_position(node),
			"masters: tls: nothing is below it; write ca: system, or the file of your own "
			"authority");
	pair_verify(v, node, "masters", tls->certificate, tls->key);
}

void
tls_verify_master(const struct verify *v, const struct node *item, const struct conf_master *master)
{
	const struct node *node = node_get(item, "tls");

	if (node != NULL && master->url.kind != CONF_URL_NONE && !master->url.tls)
		errors_add(v->errors, node_position(node),
			"masters: tls means nothing beside this url; write rediss://host:port, or leave tls "
			"out");
	tls_verify_server(v, item, &master->tls);
}
