/* store_data: how store.c and its commands store values. Private to them. */
#ifndef SIM_STORE_DATA_H
#define SIM_STORE_DATA_H

#include "tests/sim/world/store.h"

enum type { TYPE_STRING, TYPE_HASH, TYPE_ZSET };

struct text {
	char *p;
	size_t n;
};

/* A field of a hash, or a member of a sorted set (value unused). */
struct pair {
	struct text field;
	struct text value;
	double score;
};

struct entry {
	struct text key;
	enum type type;
	int64_t expire_ms; /* 0: never */
	struct text string;
	struct pair *pairs; /* hash: in order of creation; zset: by score, then member */
	size_t n;
	size_t room;
};

struct store {
	struct entry *entries;
	size_t n;
	size_t room;
};

struct text text_dup(struct slice s);
void text_set(struct text *text, struct slice s);
struct slice text_slice(const struct text *text);

struct entry *entry_find(struct store *store, int64_t wall_us, struct slice key); /* drops it when expired */
struct entry *entry_add(struct store *store, struct slice key, enum type type);
void entry_remove(struct store *store, struct entry *entry);
struct pair *pair_find(struct entry *entry, struct slice field);
struct pair *pair_add(struct entry *entry, struct slice field);
void pair_remove(struct entry *entry, struct pair *pair);

#endif
