/*
 * honest: the checker's part about refusals (G13): each is for a reason that is there. A daemon that is not
 * told to stop does not say so; who can use a majority of the masters does not say that they are missing, or
 * guarded, and who cannot does not say that somebody has the lock; nobody is told that he holds what he does
 * not; and a name that nobody has or wants is not refused.
 */
#ifndef SIM_HONEST_H
#define SIM_HONEST_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

#include <stdbool.h>

struct host;
struct world;
struct wait;

/* Before a step, so that it is known what a daemon saw until then. */
void honest_before(struct host *host);

/* What a daemon grants. */
void honest_granted(struct host *host, const struct note *note);
void honest_reply(struct world *world, struct conn *conn, const struct reply *reply);
/* An AWAIT is answered null. */
void honest_closed(struct world *world, const struct conn *conn);
/* The answer to a LOCK that was waiting, whichever way it came: code CODE_COUNT is null. */
void honest_refused(struct world *w, const struct wait *v, enum code code, const char *text);

#endif
