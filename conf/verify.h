/*
 * verify: what must hold between values, and the values that are computed from others.
 */
#ifndef CONF_VERIFY_H
#define CONF_VERIFY_H

#include "conf/node.h"
#include "conf/schema.h"

/* What every check needs: where errors go, and what the values came from. */
struct verify {
	const char *file; /* the first one, for an error without a place */
	struct conf_errors *errors;
	struct node *roots; /* of each file, in the order they were read */
};

/* One item of a list whose values are all good, with the mapping it came from; reads its password. */
void verify_item(const struct verify *v, enum schema_scope scope, const struct node *node, void *item);

/* The whole, when every part is good: fills what was left out and compares part with part. */
void verify_conf(const struct verify *v, struct conf *conf);

/* False for a key that means nothing in this item: `mode` of a TCP listener. */
bool verify_applies(const struct schema_key *key, const void *item);

#endif
