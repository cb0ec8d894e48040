/*
 * guard: a master that restarted, forgot, went back or was promoted grants nothing until its guard is over
 * (G4), whether or not anybody holds what is asked for; and no daemon takes a master for one that did without
 * a reason.
 */
#ifndef SIM_GUARD_H
#define SIM_GUARD_H

#include "daemon/core/base/action.h"
#include "daemon/redis/call.h"

#include <stdbool.h>

struct host;
struct server;

/* This server has just taken what the call asked for. */
void guard_taken(struct server *server, const struct call *call);

/* What daemons say of their masters. */
void guard_note(struct host *host, const struct note *note);

#endif
