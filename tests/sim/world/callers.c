/* callers: see callers.h. */
#include "tests/sim/world/callers.h"

#include <assert.h>
#include <stdio.h>

#define DAEMON(id)                                                                                           \
	{                                                                                                    \
		.namespace_ = "hf", .daemon_id = id, .margin_ms = 1000, .layout = "x"                        \
	}

const struct call_settings cast[CAST_SIZE] = {DAEMON(A), DAEMON(B), DAEMON(C), DAEMON(D), DAEMON(E)};

struct vote
callers_say(struct stage *stage, int daemon, struct call call)
{
	struct vote vote;

	if (call.incarnation == 0)
		call.incarnation = CAST_INCARNATION;
	stage_calls(stage, &cast[daemon], &call, 1, &vote);
	return vote;
}

void
callers_hello(struct stage *stage, uint64_t incarnation)
{
	struct vote v = callers_say(
		stage, DA, (struct call){.op = CALL_HELLO, .incarnation = incarnation, .token = 1});

	assert(v.outcome == OUTCOME_YES && v.hello == HELLO_GOOD);
}

void
callers_open(struct stage *stage, uint64_t incarnation)
{
	struct vote v;

	callers_hello(stage, incarnation);
	v = callers_say(stage, DA, (struct call){.op = CALL_ADMIT, .incarnation = incarnation, .token = 1});
	assert(v.outcome == OUTCOME_YES);
}

struct call
callers_as(struct call call, enum call_op op)
{
	call.op = op;
	call.block = op == CALL_ACQUIRE ? 10 : 0;
	call.queue_ms = op == CALL_ACQUIRE ? 3000 : 0;
	return call;
}

struct call
callers_call(enum call_op op, const char *name, uint64_t attempt)
{
	struct call call = {.name = slice_of(name),
		.attempt = attempt,
		.ttl_ms = CAST_TTL_MS,
		.deadline_us = CAST_FOREVER_US,
		.token = 1};

	return callers_as(call, op);
}

struct call
callers_permits(struct call call, int64_t n, int64_t k, const char *slots)
{
	call.kind = KIND_PERMITS;
	call.limit = n;
	call.permits = k;
	call.slots = slice_of(slots != NULL ? slots : "");
	return call;
}

const char *
callers_ask(struct stage *stage, const char *script, const char *key)
{
	static char said[256];
	struct slice args[] = {slice_of(script), SLICE("1"), slice_of(key)};
	redisReply *reply = stage_eval(stage, 3, args);

	snprintf(said, sizeof(said), "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
	freeReplyObject(reply);
	return said;
}
