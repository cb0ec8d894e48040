/* stage: see stage.h. */
#include "tests/sim/world/stage.h"

#include "daemon/redis/vote.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALL_START_US INT64_C(1760000000000000)
#define ARGS_MAX      2048

static void
hear(struct stage *s, struct slice channel, struct slice message)
{
	/* hf:inbox:<daemon-id>: its first digit tells daemons apart. What is empty is for replicas alone. */
	size_t at = strlen(s->heard);
	if (message.n == 0)
		return;
	snprintf(s->heard + at, sizeof(s->heard) - at, "%.1s:%.*s;", channel.p + strlen("hf:inbox:"),
		(int)message.n, message.p);
}

static int64_t
on_publish(void *arg, struct slice channel, struct slice message)
{
	hear(arg, channel, message);
	return 1;
}

static void
listen_real(struct stage *s)
{
	s->listener = redisConnectUnix(s->redis.path);
	assert(s->listener != NULL && s->listener->err == 0);
	freeReplyObject(redisCommand(s->listener, "PSUBSCRIBE hf:inbox:*"));
}

/* A server that reads its clock in another way would make a test depend on how fast the machine is. */
static void
clock_stands_still(struct stage *s)
{
	redisReply *reply = redis_command(&s->redis, "TIME");
	assert(reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING);
	assert(strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
			strtoll(reply->element[1]->str, NULL, 10) ==
		s->wall_us);
	freeReplyObject(reply);
}

void
stage_init(struct stage *s, bool real)
{
	*s = (struct stage){.real = real, .wall_us = WALL_START_US};
	if (real) {
		redis_init_still(&s->redis, s->wall_us);
		clock_stands_still(s);
		listen_real(s);
		return;
	}
	s->master = master_new(1);
	master_on_publish(s->master, on_publish, s);
}

void
stage_done(struct stage *s)
{
	if (s->real) {
		redisFree(s->listener);
		redis_done(&s->redis);
	}
	master_free(s->master);
}

static void
pass_us(struct stage *s, int64_t us)
{
	s->wall_us += us;
	if (s->real)
		redis_clock(&s->redis, s->wall_us);
}

static redisReply *
run(struct stage *s, int argc, const char **argv, const size_t *argvlen)
{
	redisReply *reply;
	pass_us(s, 50);
	if (!s->real)
		return master_run(s->master, s->wall_us, argc, argv, argvlen);
	redisContext *context = redisConnectUnix(s->redis.path);
	assert(context != NULL && context->err == 0);
	reply = redisCommandArgv(context, argc, argv, argvlen);
	assert(reply != NULL);
	redisFree(context);
	return reply;
}

redisReply *
stage_eval(struct stage *s, size_t argc, const struct slice *args)
{
	const char *argv[ARGS_MAX] = {"EVAL"};
	size_t argvlen[ARGS_MAX] = {4};
	assert(argc < ARGS_MAX);
	for (size_t i = 0; i < argc; i++) {
		argv[i + 1] = args[i].p;
		argvlen[i + 1] = args[i].n;
	}
	return run(s, (int)argc + 1, argv, argvlen);
}

void
stage_do(struct stage *s, const char *script, const char *key)
{
	struct slice args[] = {slice_of(script), SLICE("1"), slice_of(key)};
	redisReply *reply = stage_eval(s, 3, args);
	assert(reply->type != REDIS_REPLY_ERROR);
	freeReplyObject(reply);
}

void
stage_calls(struct stage *s, const struct call_settings *daemon, const struct call *calls, size_t n,
	struct vote *votes)
{
	static redisReply *last;
	struct call_command command;
	struct call hello = calls[0];
	const char *argv[ARGS_MAX];
	size_t argvlen[ARGS_MAX];
	/* Each master has an id, and a longest lease, and most stories are not about them. */
	if (hello.op == CALL_HELLO || hello.op == CALL_ADMIT) {
		hello.id = hello.id == 0 && hello.op == CALL_HELLO ? STAGE_ID : hello.id;
		hello.wanted_lease_ms = hello.wanted_lease_ms == 0 ? STAGE_LEASE_MS : hello.wanted_lease_ms;
		hello.guarded_lease_ms =
			hello.guarded_lease_ms == 0 ? hello.wanted_lease_ms : hello.guarded_lease_ms;
		calls = &hello;
	}
	call_command_init(&command);
	if (!call_encode(&command, daemon, calls, n))
		abort();
	/* By its text: scripts need not be loaded first. */
	memcpy(argv, command.argv, (size_t)command.argc * sizeof(argv[0]));
	memcpy(argvlen, command.argvlen, (size_t)command.argc * sizeof(argvlen[0]));
	argv[0] = "EVAL";
	argvlen[0] = 4;
	argv[1] = scripts[script_of(&calls[0])].text;
	argvlen[1] = scripts[script_of(&calls[0])].length;
	if (last != NULL)
		freeReplyObject(last);
	last = run(s, command.argc, argv, argvlen);
	call_decode(last, calls, n, votes);
	call_command_done(&command);
}

/* Everything published so far arrives before the answer to a PING does. */
static void
drain_listener(struct stage *s)
{
	void *reply = NULL;
	bool pong = false;
	redisAppendCommand(s->listener, "PING");
	while (!pong && redisGetReply(s->listener, &reply) == REDIS_OK) {
		redisReply *r = reply;
		pong = r->elements == 2 || r->type == REDIS_REPLY_STATUS;
		if (r->elements == 4)
			hear(s, (struct slice){r->element[2]->str, (size_t)r->element[2]->len},
				(struct slice){r->element[3]->str, (size_t)r->element[3]->len});
		freeReplyObject(r);
	}
	assert(pong);
}

const char *
stage_heard(struct stage *s)
{
	static char heard[sizeof(s->heard)];
	if (s->real)
		drain_listener(s);
	memcpy(heard, s->heard, sizeof(heard));
	s->heard[0] = '\0';
	return heard;
}

static redisReply *
one_key(struct stage *s, const char *script, const char *key)
{
	struct slice args[] = {slice_of(script), SLICE("1"), slice_of(key)};
	return stage_eval(s, 3, args);
}

const char *
stage_get(struct stage *s, const char *key)
{
	static char value[256];
	redisReply *reply = one_key(s, "return redis.pcall('GET', KEYS[1])", key);
	snprintf(value, sizeof(value), "%s", reply->type == REDIS_REPLY_STRING ? reply->str : "");
	freeReplyObject(reply);
	return value;
}

int64_t
stage_ttl_ms(struct stage *s, const char *key)
{
	redisReply *reply = one_key(s, "return redis.call('PTTL', KEYS[1])", key);
	int64_t ms = reply->integer;
	freeReplyObject(reply);
	return ms;
}

void
stage_full(struct stage *s, bool full)
{
	if (s->real)
		redis_run(&s->redis, "CONFIG SET maxmemory %d", full ? 1 : 0);
	else
		master_health(s->master)->full = full;
}

void
stage_flush(struct stage *s)
{
	if (s->real)
		redis_run(&s->redis, "FLUSHALL");
	else
		store_flush(master_store(s->master));
}

void
stage_restart(struct stage *s)
{
	if (!s->real) {
		master_restart(s->master, 2, NULL);
		return;
	}
	redisFree(s->listener);
	redis_kill(&s->redis);
	redis_start(&s->redis);
	listen_real(s);
}

void
stage_wait_ms(struct stage *s, int ms)
{
	pass_us(s, ms * 1000);
}
