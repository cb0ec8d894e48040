/*
 * verify: checks values against each other.
 */
#ifndef CONF_VERIFY_H
#define CONF_VERIFY_H

#include "conf/schema.h"
#include "conf/source.h"
#include "conf/value_inner.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conf;
struct verify;

/* Checks one item of a list whose values are all valid, against its mapping; reads its password. */
void verify_item(const struct verify *v, enum schema_scope scope, const struct node *node, void *item);

/* Checks the whole configuration if every part is valid: fills in missing values, and compares the parts. */
void verify_conf(const struct verify *v, struct conf *conf);

/* False if the key has no meaning in this item: `mode` of a TCP listener. */
bool verify_applies(const struct schema_key *key, const void *item);

/* Where this key of the mapping is, for an error; without it, where the mapping is. */
struct position item_position(const struct verify *v, const struct node *mapping, const char *key);

/* Reads the password from the item's file or variable. False: it names neither. */
bool secret_find(
	const struct verify *v, const struct node *node, const struct secret_source *source, char **out);
/* A group is a name that the host knows, or a number. */
bool group_find(const char *group, int64_t *gid) __attribute__((warn_unused_result));

/* Item i of the list under this key, counted through all files; NULL when they have none. */
const struct node *item_node(const struct verify *v, const char *key, size_t i);

/* Names item j of this list in an error about item i: its number, and its file if it is in another file. */
const char *item_name(char out[ITEM_NAME_MAX], const struct verify *v, const char *key, size_t i, size_t j);

#endif
