/*
 * limits: the checker's part about the limits of a user and of a session (1.13). A user's sessions hold, wait
 * for and leave withheld at most `locks-per-user` locks, counting each permit of a semaphore. A session holds
 * at most `grants-per-session` locks, and waits for at most `waiters-per-session`. Each refusal for a limit
 * is true. In the simulator all clients are one user.
 */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H

#include "tests/sim/world/conn.h"

#include <stdint.h>

struct host;
struct world;

#define LIMITS_HOLDS 32 /* of one session; more are not checked */

/* A LOCK or MLOCK that a daemon gets in this step, and what its session held before. */
struct demand {
	const struct conn *conn; /* NULL: none */
	const struct conn *back; /* it resumes a wait of its session; NULL: it does not */
	unsigned n;
	struct held_before {
		unsigned name;
		char owner[8];
		int64_t token;
	} held[LIMITS_HOLDS];
};

/* After each step of a daemon. */
void limits_stepped(struct world *world, const struct host *host, int64_t now_ms);

/* Before and after a daemon gets a command, and when it is answered. */
void limits_before(struct world *world, struct conn *conn);
void limits_after(struct world *world, const struct conn *conn);
void limits_reply(struct world *world, const struct conn *conn, const struct reply *reply);

#endif
