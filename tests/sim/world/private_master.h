/*
 * private_master: a world with one host, whose master is a private one: a child of the daemon, which ends
 * with it and never has old data. The daemon keeps a record of the time until which clients may rely on its
 * locks, and the next daemon guards until then (GUARANTEES, The private master). Each later loss of memory is
 * guarded for a whole guard.
 */
#ifndef SIM_PRIVATE_MASTER_H
#define SIM_PRIVATE_MASTER_H

#include "daemon/core/core.h"

#include <stdbool.h>

struct host;
struct plan;
struct rng;
struct server;

/* Makes the plan such a world, or not. */
void private_master_draw(struct plan *plan, struct rng *rng);

/* A daemon starts: what the record tells it. It makes a step. It ends, and its master does. */
void private_master_begin(struct host *host, struct core_settings *settings);
void private_master_step(struct host *host);
void private_master_end(struct host *host);

/* The daemon has learnt what its master is. */
void private_master_hello(struct host *host);

/* Whether this memory is the first one of its daemon, and what clients of earlier daemons relied on is over.
 */
bool private_master_guarded(const struct server *server);

#endif
