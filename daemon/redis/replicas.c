/*
 * replicas: see replicas.h.
 */
#include "daemon/redis/replicas.h"

#include "daemon/redis/call.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it tells something that a majority may not have; that there is no latch is such a thing, too. */
static bool
vote_rests_on_replicas(const struct vote *vote)
{
	if (vote->op == CALL_HELLO)
		return vote->outcome == OUTCOME_YES && vote->greeting == GREETING_GOOD;
	return vote->outcome == OUTCOME_YES || (vote->op == CALL_LATCH && vote->outcome == OUTCOME_NO);
}

bool
replicas_disbelieve(const struct replicas *r, const struct call *call, struct vote *vote)
{
	bool greeting = call->op == CALL_HELLO && r->missing;
	int64_t time_us = vote->time_us;

	if (!vote_rests_on_replicas(vote))
		return false;
	call_fail(call, greeting ? OUTCOME_ERROR : OUTCOME_UNKNOWN,
		greeting ? r->why : "too few replicas acknowledged it", vote);
	vote->time_us = time_us;
	return true;
}

void
replicas_read_info(struct replicas *r, const struct redisReply *reply)
{
	static const char key[] = "\nconnected_slaves:";
	const char *at = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, key) : NULL;
	unsigned long n = at ? strtoul(at + sizeof key - 1, NULL, 10) : 0;

	r->connected = n < 1000 ? (unsigned)n : 1000;
	/* Those that are connected may still be behind: WAIT will tell. */
	if (r->connected < replicas_needed(r))
		replicas_judge(r, r->connected);
}

bool
replicas_judge(struct replicas *r, int64_t acknowledged)
{
	unsigned needed = replicas_needed(r);

	r->missing = acknowledged < (int64_t)needed;
	if (r->missing)
		snprintf(r->why, sizeof r->why,
			"NOREPLICAS %lld of %u replicas acknowledge, at least %u must",
			(long long)(acknowledged > 0 ? acknowledged : 0), replicas_known(r), needed);
	return !r->missing;
}
