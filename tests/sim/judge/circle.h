/*
 * circle: the checker's part about DEADLOCK. A request that is refused with DEADLOCK would close a circle of
 * waits that exists by what clients requested and were told. No client remains waiting in a circle.
 *
 * It is independent of the daemon's algorithm: it removes every session that can proceed until none can. The
 * rest are in circles.
 */
#ifndef SIM_CIRCLE_H
#define SIM_CIRCLE_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

struct host;
struct world;

/* A daemon finds a circle. It answers an MLOCK only at the end of the step, when another refusal may have
 * opened the circle. */
void circle_note(struct host *host, const struct note *note);

/* The answer to the request that this connection waits in. */
void circle_verify(struct world *world, struct conn *conn, const struct reply *reply);

/* After each step of a daemon. */
void circle_step(struct world *world, const struct host *host);

#endif
