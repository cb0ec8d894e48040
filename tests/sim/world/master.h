/*
 * master: a simulated Redis: a keyspace (store.h), a wall clock, and a Lua 5.1 that runs the real scripts.
 *
 * It takes EVALSHA and EVAL as the link would send them, and answers redisReply trees. It knows no links: the
 * world delivers commands, drops replies and pauses it.
 */
#ifndef SIM_MASTER_H
#define SIM_MASTER_H

#include "daemon/redis/call.h"
#include "tests/sim/world/store.h"

#include <stdbool.h>
#include <stdint.h>

struct master;

/* The faults of a server. */
struct master_health {
	bool full;
	bool readonly; /* demoted: role slave, writes refused */
	bool loading;
	bool misconf;
	bool cluster;
	bool evicting;
	int evicted;   /* keys evicted so far */
	bool nameless; /* does not tell its run id */
};

typedef int64_t master_publish(void *arg, struct slice channel, struct slice message);
/* A command of a script that goes to the replicas. */
typedef void master_change(void *arg, size_t argc, const struct slice *argv);

struct master *master_new(uint64_t seed);
void master_free(struct master *master);

/* A new process: new run id and replication id, no scripts. Takes ownership of store; NULL: starts empty. */
void master_restart(struct master *master, uint64_t seed, struct store *store);
/* The same process with the data of another, as a replica, or when it was promoted. Each promotion gives it a
 * new replication id. */
void master_take(struct master *master, struct store *store);
void master_promote(struct master *master, uint64_t seed);
void master_forget_scripts(struct master *master);
void master_load_scripts(struct master *master); /* SCRIPT LOAD of every script */

/* Whether its node key says that a daemon has admitted this process with this memory. */
bool master_admitted(struct master *master);

struct store *master_store(struct master *master);
/* Gives the same process another memory, and takes ownership of it. The caller owns the old one. */
struct store *master_exchange(struct master *master, struct store *store);
struct master_health *master_health(struct master *master);
void master_on_publish(struct master *master, master_publish *publish, void *arg);
void master_on_change(struct master *master, master_change *change, void *arg);

/* Runs one command at this wall clock. The caller owns the reply. */
redisReply *master_run(
	struct master *master, int64_t wall_us, int argc, const char *const *argv, const size_t *argvlen);

#endif
