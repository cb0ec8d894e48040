/*
 * server: the master's process in the world: when it runs, what its clock shows, what it forgets.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "tests/sim/master.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>

struct world;

struct server {
	struct master *master;
	bool up;
	uint64_t life;            /* connections belong to one life of the process */
	int64_t stopped_until_us; /* SIGSTOP: what arrives waits, and runs then */
	int64_t deaf_until_us;    /* messages are lost */
	int64_t wall_offset_us;
	int64_t ppm;
	int64_t forward_until_us;      /* no further step forward before: at most J in the life of a lease */
	struct store *backup;          /* what a restart with old data finds */
	int64_t token[PLAN_NAMES_MAX]; /* the last one of each name that this memory has given out */
};

void server_init(struct world *world);
void server_done(struct world *world);

int64_t server_wall_us(const struct world *world);

/* Runs a command now, in this process' own clock. */
redisReply *server_run(struct world *world, int argc, const char *const *argv, const size_t *argvlen);

/* A script that is not the project's, for faults and checks; its reply is dropped. */
void server_meddle(struct world *world, const char *script, const char *key);

/* kill -9; all connections die. Comes back after a while with this store (NULL: empty). */
void server_crash(struct world *world, struct store *store, int64_t down_us);
void server_flush(struct world *world);
void server_backup(struct world *world);

#endif
