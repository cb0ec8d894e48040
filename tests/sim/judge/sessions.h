/*
 * sessions: the checker's part about sessions (section 5). The locks of a session that has ended properly
 * pass on in the same step (G8). JOIN, RESUME and BIND answer how many names the session holds. A session
 * that missed its heartbeat is closed. A hold that no client was told of within the grace is given up.
 */
#ifndef SIM_SESSIONS_H
#define SIM_SESSIONS_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdint.h>

struct host;
struct world;

/* A connection was closed, with this session and this kind of end. */
void sessions_closed(struct world *world, const struct conn *conn, enum end end);

void sessions_reply(struct world *world, const struct conn *conn, const struct reply *reply);

/* After each step of a daemon. */
void sessions_step(struct world *world, const struct host *host, int64_t now_ms);

#endif
