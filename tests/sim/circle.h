/*
 * circle: the checker's part about DEADLOCK. Who is refused closes a circle of waits that is really there, by
 * what clients were told and asked for; and nobody is left waiting in one.
 *
 * Written without a look at how the daemon finds circles: it takes away everybody who can go on, over and
 * over, and sees who is left.
 */
#ifndef SIM_CIRCLE_H
#define SIM_CIRCLE_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

struct host;
struct world;

/* The answer to the request that this connection waits in. */
void circle_verify(struct world *world, struct conn *conn, const struct reply *reply);

/* After each step of a daemon. */
void circle_step(struct world *world, const struct host *host);

#endif
