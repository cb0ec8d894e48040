/*
 * master_answers: checks every answer of a master when it is made, even if it never arrives: a daemon that is
 * told that it has a lease has it, tokens increase while the master keeps its memory, and calls and answers
 * are well-formed.
 *
 * The wire calls it, for the part of the checker that clients cannot see.
 */
#ifndef SIM_MASTER_ANSWERS_H
#define SIM_MASTER_ANSWERS_H

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

struct server;

/* Whether the lease of the call's name exists now, of any owner. */
bool master_answers_lease_there(struct server *server, const char *daemon_id, const struct call *call);

/* The answer of this server to n calls of this daemon. */
void master_answers_check(struct server *server, const char *daemon_id, const struct call *calls, size_t n,
	const redisReply *reply);

#endif
