/*
 * limits: the checker's part about the limits of a user and of a session (1.13). A user's sessions hold, wait
 * for and leave withheld at most `locks-per-user` locks, counting each permit of a semaphore. A session waits
 * for at most `waiters-per-session`. Each refusal for a limit is true. In the simulator all clients are one
 * user. Whether a request asks for more than `grants-per-session` allows is left to check_core and
 * check_mlock.
 */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H

#include "tests/sim/world/conn.h"

#include <stdint.h>

struct host;
struct world;

/* After each step of a daemon. */
void limits_stepped(struct world *world, const struct host *host, int64_t now_ms);

/* Before a daemon gets a command, and when it is answered. */
void limits_before(struct world *world, const struct conn *conn);
void limits_reply(struct world *world, const struct conn *conn, const struct reply *reply);

#endif
