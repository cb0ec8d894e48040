/*
 * turns: the checker's part about the queue at a master (G10, G12): a lease is given past no daemon that
 * waits there for longer, but by readers past readers, and past a head that was called and has not come in
 * its window.
 */
#ifndef SIM_TURNS_H
#define SIM_TURNS_H

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>

#include <stdbool.h>

#define TURNS_MAX 8

struct host;
struct server;

/* Who waits, before a call is carried out, and has to be served before it. */
struct turns {
	unsigned n;
	struct turn {
		char daemon[33]; /* that is passed, should the call get the lease; "": none */
	} of[TURNS_MAX];
};

void turns_before(struct turns *turns, struct server *server, const char *daemon_id, const struct call *calls,
	size_t n);
void turns_check(const struct turns *turns, struct server *server, const struct call *calls, size_t n,
	const redisReply *reply);

#endif
