/*
 * guard: a master that restarted, forgot, went back or was promoted grants nothing until its guard is over
 * (G4), whether or not anybody holds what is asked for; and a daemon to which the clocks of too many masters
 * leapt takes nothing new for so long.
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

/* Whether the daemon counts nothing new of this master, the n-th that it knows: its clock leapt less than a
 * guard ago, and its memory has not been guarded since. */
bool guard_shuns(const struct host *host, unsigned master);

/* A daemon has got a lease that it did not have. */
void guard_leased(struct host *host, unsigned name, int64_t ttl_ms);

#endif
