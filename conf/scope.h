/*
 * scope: initialises and frees the struct of a mapping, by the schema alone.
 *
 * base points to the struct that schema.def names for the scope; lists belong to a struct conf.
 */
#ifndef CONF_SCOPE_H
#define CONF_SCOPE_H

#include "conf/schema.h"

/* Sets the defaults, also of inner mappings; lists are empty. False: out of memory. Call scope_done() in
 * either case. */
bool scope_init(enum schema_scope scope, void *base) __attribute__((warn_unused_result));
void scope_done(enum schema_scope scope, void *base);

/* The field of this key. */
void *scope_field(const struct schema_key *key, void *base);
const void *scope_value(const struct schema_key *key, const void *base);

size_t scope_list_count(const struct schema_key *list, const struct conf *conf);
void *scope_list_item(const struct schema_key *list, const struct conf *conf, size_t i);

/* Appends an initialised item; the others may move. NULL: out of memory. */
void *scope_list_append(const struct schema_key *list, struct conf *conf) __attribute__((warn_unused_result));

/* The field for the password of a master, its sentinels or a user; NULL for every other scope. */
char **scope_secret(enum schema_scope scope, void *base);

#endif
