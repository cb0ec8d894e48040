/* rival: see rival.h. */
#include "tests/sim/rival.h"

#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME 2 /* the only one that it locks */

/* Redisson's, but for numbers that Lua prints with a dot. KEYS: the lock, its counter, its channel. ARGV:
 * who, ms. The answer is the token, or 0. */
static const char lock_script[] = "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end "
				  "local token = (tonumber(redis.call('GET', KEYS[2])) or 0) + 1 "
				  "redis.call('SET', KEYS[2], string.format('%.0f', token)) "
				  "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) "
				  "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
				  "return token";
/* The answer is whether it was there. */
static const char renew_script[] = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end "
				   "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
				   "return 1";
static const char unlock_script[] = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end "
				    "redis.call('DEL', KEYS[1]) "
				    "redis.call('PUBLISH', KEYS[3], '0') "
				    "return 1";

/* -1: the master has refused it. */
static int64_t
rival_run(struct world *w, const char *script)
{
	char who[24], ms[24];
	snprintf(who, sizeof(who), "rival:%" PRIu64, w->rival.locks);
	snprintf(ms, sizeof(ms), "%" PRId64, w->rival.ttl_ms);
	const char *argv[] = {
		"EVAL", script, "3", "foreign", SERVER_TOKEN_COUNTER, SERVER_END_CHANNEL, who, ms};
	size_t argvlen[sizeof(argv) / sizeof(argv[0])];
	for (size_t i = 0; i < sizeof(argv) / sizeof(argv[0]); i++)
		argvlen[i] = strlen(argv[i]);
	redisReply *reply = server_run(&w->servers[0], sizeof(argv) / sizeof(argv[0]), argv, argvlen);
	int64_t n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
	freeReplyObject(reply);
	return n;
}

/* As long as its key lives, less a step of the master's clock and what clocks differ by. */
static void
rival_relies(struct world *w)
{
	int64_t lease_ms = w->rival.ttl_ms - w->plan.margin_ms;
	w->rival.until_us = w->now_us + (lease_ms - lease_ms / 100 - 2) * 1000;
}

bool
rival_holds(const struct world *w, unsigned name)
{
	return name == NAME && w->now_us < w->rival.until_us;
}

void
rival_taint(struct world *w, unsigned name)
{
	if (name == NAME)
		w->rival.until_us = 0;
}

static void
rival_lock(struct world *w)
{
	w->rival.locks++;
	int64_t token = rival_run(w, lock_script);
	if (token <= 0)
		return;
	trace_line(&w->trace, w->now_us, "rival  locks foreign, token %" PRId64, token);
	checker_rival_granted(w, NAME, token);
	rival_relies(w);
	progress_passed(w, NAME);
}

static void
rival_hold(struct world *w)
{
	int chance = (int)rng_range(&w->rng, 0, 99);
	if (w->phase != PHASE_FAULTS || chance < 40) {
		w->rival.until_us = 0; /* before it asks for that */
		trace_line(&w->trace, w->now_us, "rival  unlocks foreign");
		(void)rival_run(w, unlock_script);
		progress_passed(w, NAME);
	} else if (chance < 90) {
		if (rival_run(w, renew_script) == 1)
			rival_relies(w);
		else
			w->rival.until_us = 0;
	} else {
		w->rival.until_us = 0; /* it dies */
	}
}

static void
rival_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (server_sound(&w->servers[0])) {
		if (rival_holds(w, NAME))
			rival_hold(w);
		else if (w->phase == PHASE_FAULTS)
			rival_lock(w);
	}
	if (w->phase == PHASE_FAULTS || w->now_us < w->rival.until_us)
		world_after(w, rng_range(&w->rng, 0, w->rival.ttl_ms * 500), rival_turn, w, 0, NULL);
}

void
rival_watch(struct world *w)
{
	w->rival = (struct rival){.ttl_ms = w->rules[0].lease_ms + w->plan.margin_ms};
	if (w->plan.redisson)
		world_after(w, 100000, rival_turn, w, 0, NULL);
}
