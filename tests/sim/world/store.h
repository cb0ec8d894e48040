/*
 * store: the keyspace of a simulated master: strings, hashes and sorted sets with expiry by the wall clock.
 *
 * It has exactly the commands that the scripts use, and answers as Redis does (check_store compares the two).
 * Everything is a list, since a simulation has only some dozens of keys.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include "proto/slice.h"
#include "tests/sim/world/answer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

/* The state of the server that commands depend on. */
struct store_env {
	int64_t wall_us;
	bool full;     /* over maxmemory: commands that need memory are refused */
	bool readonly; /* a replica: writes are refused */
	bool misconf;  /* cannot persist: writes are refused */
	bool *written; /* whether this script has written before; then no command is refused for memory */
	const char *(*info)(void *arg, struct slice section);
	int64_t (*publish)(void *arg, struct slice channel, struct slice message);
	void *arg;
};

struct store *store_new(void);
void store_free(struct store *store);
struct store *store_copy(const struct store *store); /* a snapshot */
void store_flush(struct store *store);

/* Runs one command; the caller owns the reply. */
redisReply *store_run(
	struct store *store, const struct store_env *env, size_t argc, const struct slice *argv);

/* Whether a command with this answer goes to the replicas: a write that changed nothing does not. */
bool store_changed(struct slice name, const redisReply *reply);

/* For faults and checks, without commands. wall_us decides what has expired. */
bool store_delete(struct store *store, struct slice key);
void store_put(struct store *store, struct slice key, struct slice value, int64_t expire_ms); /* 0: never */
bool store_get(struct store *store, int64_t wall_us, struct slice key, struct slice *value);
bool store_field(struct store *store, struct slice key, struct slice field, struct slice *value); /* a hash */
bool store_exists(struct store *store, int64_t wall_us, struct slice key);
/* The i-th field of a hash, in no promised order. */
bool store_pair(struct store *store, int64_t wall_us, struct slice key, size_t i, struct slice *field,
	struct slice *value);
/* The i-th member of a sorted set, by rank. */
bool store_member(struct store *store, int64_t wall_us, struct slice key, size_t i, struct slice *member);
int64_t store_expires_ms(struct store *store, struct slice key); /* wall clock; 0: never or no such key */
size_t store_count(struct store *store, int64_t wall_us);
bool store_key(struct store *store, size_t i, struct slice *key); /* in the order of creation */

#endif
