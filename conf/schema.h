/*
 * schema: the table of schema.def as data, for the loader, the printer and the comparison; and the structs of
 * its mappings, initialised and freed by the schema alone.
 */
#ifndef CONF_SCHEMA_H
#define CONF_SCHEMA_H

#include "conf/conf.h"

enum schema_scope {
#define SCOPE(id, path, tag)     SCOPE_##id,
#define SCOPE_LIKE(id, path, of) SCOPE_##id,
#include "conf/schema.def"
	SCOPE_COUNT
};

enum value_type {
#define TYPE(id, storage, allowed) TYPE_##id,
#include "conf/schema.def"
	TYPE_COUNT
};

/* How the field of a struct holds it; conf.h has the type of each. */
enum value_storage {
	STORAGE_TEXT,
	STORAGE_NUMBER,
	STORAGE_FLAG,
	STORAGE_CHOICE, /* counted from 0 in the order of the words */
	STORAGE_ADDRESS,
	STORAGE_URL,
	STORAGE_ADDRESSES,
	STORAGE_TEXTS,
	STORAGE_SET,  /* a bit for each word, from 1 in the order of the words */
	STORAGE_LIST, /* pointer to items, owned, and a size_t */
	STORAGE_MAP   /* a struct inside the other */
};

struct schema_key {
	enum schema_scope scope; /* the mapping that contains the key */
	const char *name;
	enum value_type type;
	size_t offset; /* of the field in the scope's struct */
	int64_t low;
	int64_t high;
	const char *fallback; /* "": absent */
	bool restart;
	const char *help;
	enum schema_scope inner; /* LIST: the scope of its items; MAP: of its keys */
	size_t count_offset;     /* LIST */
};

/* Keys in the order of schema.def. schema_key(i) for i < SCHEMA_KEYS. */
extern const struct schema_key schema_keys[];
extern const size_t schema_key_count;

/* "limits", "rules[]", "masters[].sentinel"; "": the root. */
const char *schema_scope_path(enum schema_scope scope);
enum value_storage schema_storage(const struct schema_key *key);
const char *schema_allowed(const struct schema_key *key);

/* The key of this name in this scope, or NULL. */
const struct schema_key *schema_find(enum schema_scope scope, const char *name);

/* The key of this scope with the most similar name; NULL: none is similar enough. */
const struct schema_key *schema_nearest(enum schema_scope scope, const char *name);

/* A key of exactly this name in another scope, in the root if it is there, or NULL. */
const struct schema_key *schema_elsewhere(enum schema_scope scope, const char *name);

#define SCHEMA_PATH_MAX 96

/* "limits.clients". item >= 0 is the number in the brackets, "rules[2].lease"; < 0 leaves them empty. It
 * applies to every key of a list's item, also to the keys of a mapping inside the item. */
void schema_path(char out[SCHEMA_PATH_MAX], const struct schema_key *key, long item);

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
