/*
 * said: looks at every answer of a master as soon as it is made, whether or not anybody will hear it: who is
 * told that a lease is his has it, tokens only grow while the master remembers, and calls and answers are
 * well made.
 *
 * Called by the wire, for the checker's part of what clients cannot see.
 */
#ifndef SIM_SAID_H
#define SIM_SAID_H

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

struct server;

/* Whether the lease that this daemon's call is about is there now, whosesoever. */
bool said_lease_there(struct server *server, const char *daemon_id, const struct call *call);

/* The answer of this server to n calls of this daemon. */
void said_check(struct server *server, const char *daemon_id, const struct call *calls, size_t n,
	const redisReply *reply);

#endif
