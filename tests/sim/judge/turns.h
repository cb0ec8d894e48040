/*
 * turns: the checker's part about the queue at a master (G10, G12): a lease does not pass over a daemon that
 * has waited there for longer. Exceptions: readers may pass readers, and a head that was called and did not
 * come within its window is passed over.
 */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>

#include <stdbool.h>

#define TURNS_MAX 8

struct host;
struct server;

/* The daemons in the queue before a call runs, which have to be served before it. */
struct turns {
	unsigned n;
	struct turn {
		char daemon[33]; /* the daemon that is passed over if the call gets the lease; "": none */
	} of[TURNS_MAX];
};

void turns_before(struct turns *turns, struct server *server, const char *daemon_id, const struct call *calls,
	size_t n);
void turns_check(const struct turns *turns, struct server *server, const struct call *calls, size_t n,
	const redisReply *reply);

#endif
