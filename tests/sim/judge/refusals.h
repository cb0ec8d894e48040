/*
 * refusals: the checker's part about refusals (G13): the reason of each refusal is true. A daemon answers
 * DRAINING only if it was told to drain. A daemon that can use a majority of the masters does not answer that
 * they are missing or guarded, and a daemon that cannot does not answer that the lock is taken. No session is
 * told that it holds a name that it does not hold. A name that no session holds or wants is not refused.
 * An answer names no longer time until new leases resume than a guard lasts.
 */
#ifndef SIM_REFUSALS_H
#define SIM_REFUSALS_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>

struct host;
struct world;
struct wait;

/* Before a step: notes what the daemon knew until then. */
void refusals_before(struct host *host);

/* Whether the daemon cannot use a majority of its masters. */
bool refusals_lacks(const struct host *host);

/* Grants and replies of a daemon. */
void refusals_granted(struct host *host, const struct note *note);
void refusals_reply(struct world *world, struct conn *conn, const struct reply *reply);
/* An AWAIT is answered with null. */
void refusals_closed(struct world *world, const struct conn *conn);
/* A waiting LOCK is refused, by an answer or a push; code CODE_COUNT: with null. */
void refusals_refused(struct world *w, const struct wait *v, enum code code, const char *text);

#endif
