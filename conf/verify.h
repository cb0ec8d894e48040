/*
 * verify: checks values against each other, and computes values from others.
 */
#ifndef CONF_VERIFY_H
#define CONF_VERIFY_H

#include "conf/node.h"
#include "conf/schema.h"

/* The context of every check: the error list, and the source of the values. */
struct verify {
	const char *file; /* the first file, for an error without a place */
	struct conf_errors *errors;
	struct node *roots; /* of each file, in the order they were read */
};

/* Checks one item of a list whose values are all valid, against its mapping; reads its password. */
void verify_item(const struct verify *v, enum schema_scope scope, const struct node *node, void *item);

/* Checks the whole configuration if every part is valid: fills in missing values, and compares the parts. */
void verify_conf(const struct verify *v, struct conf *conf);

/* False if the key has no meaning in this item: `mode` of a TCP listener. */
bool verify_applies(const struct schema_key *key, const void *item);

#endif
