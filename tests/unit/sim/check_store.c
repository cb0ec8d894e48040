/*
 * Tests of tests/sim/store: the simulated Redis answers as the real one does, on random commands to few keys,
 * and behaves the same with respect to time, memory and scripts.
 */
#include "tests/sim/world/rng.h"
#include "tests/sim/world/stage.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS     4000
#define ARGS_MAX   8
#define TEXT_BYTES 24

/* Each letter is an argument: k key, f field, v value, s score, n small number, t time to live, r rank. */
static const char *const shapes[] = {
	"GET k",
	"MGET k",
	"MGET k k k",
	"SET k v",
	"SET k v NX",
	"SET k v NX PX t",
	"SET k v PX t",
	"SET k v PX",
	"DEL k",
	"DEL k k",
	"EXISTS k",
	"EXISTS k k",
	"TYPE k",
	"PTTL k",
	"PEXPIRE k t",
	"PERSIST k",
	"HGET k f",
	"HMGET k f f",
	"HGETALL k",
	"HKEYS k",
	"HEXISTS k f",
	"HEXISTS k g",
	"HLEN k",
	"HSET k f v",
	"HSET k f v f v",
	"HSET k f",
	"HDEL k f",
	"HSET k f r",
	"HINCRBY k f r",
	"HINCRBY k f v",
	"HDEL k f f",
	"ZADD k s f",
	"ZREM k f",
	"ZCARD k",
	"ZSCORE k f",
	"ZRANGE k 0 -1",
	"ZRANGE k r r",
	"ZREVRANGE k 0 0 WITHSCORES",
	"ZREVRANGE k r r",
	"ZADD k v f",
	"PEXPIRE k v",
	"GET",
	"NOSUCH k",
};

static struct rng rng = {20};

static void
argument(char letter, char *out)
{
	static const char *const ttls[] = {"0", "-5", "100000", "86400000", "1x"};
	static const char *const scores[] = {"1", "2", "3", "-1", "1.5", "9007199254740992", "1e3"};
	switch (letter) {
	case 'k':
		snprintf(out, TEXT_BYTES, "key%d", (int)rng_range(&rng, 1, 3));
		return;
	case 'f':
		snprintf(out, TEXT_BYTES, "f%d", (int)rng_range(&rng, 1, 4));
		return;
	case 'v':
		snprintf(out, TEXT_BYTES, "v%d", (int)rng_range(&rng, 1, 100));
		return;
	case 's':
		snprintf(out, TEXT_BYTES, "%s", scores[rng_range(&rng, 0, 6)]);
		return;
	case 't':
		snprintf(out, TEXT_BYTES, "%s", ttls[rng_range(&rng, 0, 4)]);
		return;
	default:
		snprintf(out, TEXT_BYTES, "%d", (int)rng_range(&rng, -4, 4));
	}
}

/* "return redis.pcall(unpack(ARGV))" with a random command. */
static size_t
random_command(char texts[ARGS_MAX][TEXT_BYTES])
{
	char shape[64];
	size_t n = 0;
	snprintf(shape, sizeof(shape), "%s",
		shapes[rng_range(&rng, 0, sizeof(shapes) / sizeof(shapes[0]) - 1)]);
	for (char *word = strtok(shape, " "); word != NULL; word = strtok(NULL, " "), n++) {
		if (word[1] == '\0' && word[0] >= 'a')
			argument(word[0], texts[n]);
		else
			snprintf(texts[n], TEXT_BYTES, "%s", word);
	}
	return n;
}

/* As text; of an error the first word, of times to live no more than their size. */
static void
describe(const redisReply *reply, bool ttl, char *out, size_t size)
{
	size_t at = 0;
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		snprintf(out, size, ":%lld",
			ttl && reply->integer > 0 ? (reply->integer + 50000) / 100000 : reply->integer);
		return;
	case REDIS_REPLY_ARRAY:
		at = (size_t)snprintf(out, size, "[");
		for (size_t i = 0; i < reply->elements; i++) {
			describe(reply->element[i], false, out + at, size - at);
			at += strlen(out + at);
		}
		snprintf(out + at, size - at, "]");
		return;
	case REDIS_REPLY_ERROR:
		snprintf(out, size, "-%.*s", (int)strcspn(reply->str, " "), reply->str);
		return;
	case REDIS_REPLY_NIL:
		snprintf(out, size, "nil");
		return;
	default:
		snprintf(out, size, "\"%s\"", reply->str);
	}
}

static void
answer(struct stage *stage, size_t n, char texts[ARGS_MAX][TEXT_BYTES], char *out, size_t size)
{
	struct slice args[ARGS_MAX + 2] = {SLICE("return redis.pcall(unpack(ARGV))"), SLICE("0")};
	for (size_t i = 0; i < n; i++)
		args[i + 2] = slice_of(texts[i]);
	redisReply *reply = stage_eval(stage, n + 2, args);
	describe(reply, strcmp(texts[0], "PTTL") == 0, out, size);
	freeReplyObject(reply);
}

START_TEST(random_commands_are_answered_as_redis_does)
{
	struct stage real, simulated;
	stage_init(&real, true);
	stage_init(&simulated, false);
	for (int i = 0; i < ROUNDS; i++) {
		char texts[ARGS_MAX][TEXT_BYTES], a[1024], b[1024], command[256] = "";
		size_t n = random_command(texts);
		answer(&real, n, texts, a, sizeof(a));
		answer(&simulated, n, texts, b, sizeof(b));
		for (size_t k = 0; k < n; k++)
			snprintf(command + strlen(command), sizeof(command) - strlen(command), "%s ",
				texts[k]);
		ck_assert_msg(strcmp(a, b) == 0, "round %d: %s: Redis says %s, the simulation %s", i, command,
			a, b);
	}
	stage_done(&real);
	stage_done(&simulated);
}
END_TEST

/* The same script on both, described. */
static void
both_say(const char *script, const char *expected, bool full)
{
	for (int i = 0; i < 2; i++) {
		struct stage stage;
		char text[256];
		struct slice args[] = {slice_of(script), SLICE("1"), SLICE("k"), SLICE("x")};
		stage_init(&stage, i == 0);
		stage_full(&stage, full);
		redisReply *reply = stage_eval(&stage, 4, args);
		describe(reply, false, text, sizeof(text));
		ck_assert_msg(strcmp(text, expected) == 0, "%s: %s instead of %s",
			i == 0 ? "Redis" : "simulation", text, expected);
		freeReplyObject(reply);
		stage_full(&stage, false);
		stage_done(&stage);
	}
}

START_TEST(a_full_server_refuses_what_needs_memory_until_the_script_has_written)
{
	both_say("return redis.pcall('SET', KEYS[1], 'v')", "-OOM", true);
	both_say("return redis.pcall('HSET', KEYS[1], 'f', 'v')", "-OOM", true);
	both_say("return redis.pcall('ZADD', KEYS[1], 1, 'm')", "-OOM", true);
	both_say("return redis.pcall('DEL', KEYS[1])", ":0", true);
	both_say("redis.call('PERSIST', KEYS[1]) return redis.pcall('HSET', KEYS[1], 'f', 'v')", ":1", true);
	both_say("redis.call('GET', KEYS[1]) return redis.pcall('SET', KEYS[1], 'v')", "-OOM", true);
}
END_TEST

START_TEST(values_cross_between_lua_and_replies_as_in_redis)
{
	both_say("return {1, 2.9, 'x', false, 5}", "[:1:2\"x\"nil:5]", false);
	both_say("return {1, nil, 3}", "[:1]", false);
	both_say("return redis.call('GET', KEYS[1])", "nil", false);
	both_say("return {ok = 'fine'}", "\"fine\"", false);
	both_say("return {err = 'BAD thing'}", "-BAD", false);
	both_say("return {#KEYS, #ARGV, KEYS[1], ARGV[1]}", "[:1:1\"k\"\"x\"]", false);
	both_say("local ok, e = pcall(redis.call, 'HGET', 'k') return {ok and 1 or 0, type(e)}",
		"[:0\"string\"]", false);
	both_say("redis.call('HSET', KEYS[1], 'f', 'v') return redis.call('GET', KEYS[1])", "-WRONGTYPE",
		false);
	both_say("x = 1", "-ERR", false);
	both_say("return nothing", "-ERR", false);
}
END_TEST

START_TEST(keys_end_by_the_wall_clock)
{
	for (int i = 0; i < 2; i++) {
		struct stage stage;
		stage_init(&stage, i == 0);
		stage_do(&stage, "return redis.call('SET', KEYS[1], 'v', 'PX', 20)", "k");
		ck_assert_str_eq(stage_get(&stage, "k"), "v");
		stage_wait_ms(&stage, 30);
		ck_assert_str_eq(stage_get(&stage, "k"), "");
		ck_assert_int_eq(stage_ttl_ms(&stage, "k"), -2);
		stage_done(&stage);
	}
}
END_TEST

START_TEST(a_snapshot_keeps_what_was_there)
{
	struct store *store = store_new(), *copy;
	struct slice value;
	store_put(store, SLICE("a"), SLICE("1"), 0);
	copy = store_copy(store);
	store_put(store, SLICE("a"), SLICE("2"), 0);
	ck_assert(store_get(copy, 0, SLICE("a"), &value));
	ck_assert(slice_equal(value, SLICE("1")));
	store_flush(store);
	ck_assert_uint_eq(store_count(store, 0), 0);
	ck_assert_uint_eq(store_count(copy, 0), 1);
	store_free(store);
	store_free(copy);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("store", NULL, NULL, random_commands_are_answered_as_redis_does,
		a_full_server_refuses_what_needs_memory_until_the_script_has_written,
		values_cross_between_lua_and_replies_as_in_redis, keys_end_by_the_wall_clock,
		a_snapshot_keeps_what_was_there);
}
