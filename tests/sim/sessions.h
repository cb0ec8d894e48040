/*
 * sessions: the checker's part about sessions as such (section 5). What a session that has ended properly had
 * passes on in the same step (G8); whoever joins, resumes or binds is told how many names it holds; one that
 * missed its heartbeat is closed; and what nobody was told of within the grace is given up.
 */
#ifndef SIM_SESSIONS_H
#define SIM_SESSIONS_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

#include <stdint.h>

struct host;
struct world;

/* A connection is closed: this was its session, and so it ended. */
void sessions_closed(struct world *world, const struct conn *conn, enum end end);

void sessions_reply(struct world *world, const struct conn *conn, const struct reply *reply);

/* After each step of a daemon. */
void sessions_step(struct world *world, const struct host *host, int64_t now_ms);

#endif
