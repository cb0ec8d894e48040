/* foreign_client: see foreign_client.h. */
#include "tests/sim/world/foreign_client.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME 2 /* the only one that it locks */

/* Effects of a library's own scripts. KEYS: the lock, its counter, its channel. ARGV: who, ms. The answers:
 * what it got, or 0; whether it was there; the same. */
struct route_to_lock {
	const char *lock;
	const char *renew;
	const char *unlock;
};

/* But for numbers that Lua prints with a dot. */
static const struct route_to_lock redisson = {"if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end "
					      "local token = (tonumber(redis.call('GET', KEYS[2])) or 0) + 1 "
					      "redis.call('SET', KEYS[2], string.format('%.0f', token)) "
					      "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) "
					      "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
					      "return token",
	"if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end "
	"return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
	"if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end "
	"redis.call('DEL', KEYS[1]) redis.call('PUBLISH', KEYS[3], '0') return 1"};

static const struct route_to_lock redsync = {
	"return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0",
	"return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0",
	"return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"};

static const struct route_to_lock *
way_of(const struct world *w)
{
	return w->plan.redisson ? &redisson : &redsync;
}

/* 0 too when the master has refused it. */
static int64_t
foreign_client_run(struct server *s, const char *script)
{
	struct world *w = s->world;
	struct slice key = server_lease_key(w, NAME);
	char who[24], ms[24];
	snprintf(who, sizeof(who), "rival:%" PRIu64, w->rival.locks);
	snprintf(ms, sizeof(ms), "%" PRId64, w->rival.ttl_ms);
	const char *argv[] = {"EVAL", script, "3", key.p, SERVER_TOKEN_COUNTER, SERVER_END_CHANNEL, who, ms};
	size_t argvlen[sizeof(argv) / sizeof(argv[0])];
	for (size_t i = 0; i < sizeof(argv) / sizeof(argv[0]); i++)
		argvlen[i] = strlen(argv[i]);
	redisReply *reply = server_run(s, sizeof(argv) / sizeof(argv[0]), argv, argvlen);
	int64_t n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
	freeReplyObject(reply);
	return n;
}

/* At every master that is well; what the last one of a majority said, or 0. */
static int64_t
foreign_client_ask(struct world *w, const char *script)
{
	int64_t said = 0;
	unsigned count = 0;
	for (unsigned i = 0; i < w->plan.masters; i++) {
		int64_t n = server_sound(&w->servers[i]) ? foreign_client_run(&w->servers[i], script) : 0;
		count += n > 0;
		said = n > 0 ? n : said;
	}
	return count >= plan_majority(&w->plan) ? said : 0;
}

/* As long as its key lives, less a step of the master's clock and what clocks differ by. */
static void
foreign_client_relies(struct world *w)
{
	int64_t lease_ms = w->rival.ttl_ms - w->plan.margin_ms;
	w->rival.until_us = w->now_us + (lease_ms - lease_ms / 100 - 2) * 1000;
}

bool
foreign_client_holds(const struct world *w, unsigned name)
{
	return name == NAME && w->now_us < w->rival.until_us;
}

bool
foreign_client_locks(const struct world *w, unsigned name)
{
	return name == NAME && (w->plan.redisson || w->plan.redsync);
}

/* Also what a minority of the masters gave. */
static void
foreign_client_unlock(struct world *w)
{
	w->rival.until_us = 0; /* before it asks for that */
	trace_line(&w->trace, w->now_us, "rival  unlocks foreign");
	(void)foreign_client_ask(w, way_of(w)->unlock);
	progress_passed(w, NAME);
}

static void
foreign_client_lock(struct world *w)
{
	w->rival.locks++;
	int64_t got = foreign_client_ask(w, way_of(w)->lock);
	if (got == 0) {
		foreign_client_unlock(w);
		return;
	}
	trace_line(&w->trace, w->now_us, "rival  locks foreign: %" PRId64, got);
	grants_rival(w, NAME, w->plan.redisson ? got : 0);
	foreign_client_relies(w);
	progress_passed(w, NAME);
}

static void
foreign_client_hold(struct world *w)
{
	int chance = (int)rng_range(&w->rng, 0, 99);
	if (w->phase != PHASE_FAULTS || chance < 40)
		foreign_client_unlock(w);
	else if (chance < 90 && foreign_client_ask(w, way_of(w)->renew) > 0)
		foreign_client_relies(w);
	else if (chance < 90)
		foreign_client_unlock(w);
	else
		w->rival.until_us = 0; /* it dies */
}

static void
foreign_client_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (foreign_client_holds(w, NAME))
		foreign_client_hold(w);
	else if (w->phase == PHASE_FAULTS)
		foreign_client_lock(w);
	if (w->phase == PHASE_FAULTS || w->now_us < w->rival.until_us)
		world_after(w, rng_range(&w->rng, 0, w->rival.ttl_ms * 500), foreign_client_turn, w, 0, NULL);
}

void
foreign_client_watch(struct world *w)
{
	w->rival = (struct foreign_client){.ttl_ms = w->rules[0].lease_ms + w->plan.margin_ms};
	if (foreign_client_locks(w, NAME))
		world_after(w, 100000, foreign_client_turn, w, 0, NULL);
}
