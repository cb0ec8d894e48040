/*
 * tls: checks the mappings `tls` of listeners, masters and sentinels.
 */
#ifndef CONF_TLS_H
#define CONF_TLS_H

#include <stdbool.h>

struct conf_listener;
struct conf_master;
struct conf_tls;
struct node;
struct verify;

/* Whether a file has any key of this mapping, which asks for TLS. */
bool conf_tls_on(const struct conf_tls *tls);

/* Checks the mapping `tls` of an item; item is the mapping that has it, list the key of its list. */
void tls_verify_listener(const struct verify *v, const char *list, const struct node *item,
	const struct conf_listener *listener);
void tls_verify_master(const struct verify *v, const struct node *item, const struct conf_master *master);
void tls_verify_server(const struct verify *v, const struct node *item, const struct conf_tls *tls);

#endif
