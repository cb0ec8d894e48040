/*
 * Tests of lua/lookup.lua against a real redis-server: what a master says, for people, of the registered
 * daemons and of a name; and of what is decoded from it.
 */
#include "daemon/redis/call.h"
#include "daemon/redis/pool_lookup.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A "a1234567890abcdef1234567890abcde"
#define B "b1234567890abcdef1234567890abcde"

struct probe {
	struct redis_server server;
	redisContext *context;
	redisReply *reply; /* of the last lookup */
	struct lookup_answer answer;
};

static void
probe_init(struct probe *p)
{
	memset(p, 0, sizeof *p);
	redis_init(&p->server, false, NULL);
	p->context = redisConnectUnix(p->server.path);
	ck_assert(p->context != NULL && p->context->err == 0);
	freeReplyObject(redisCommand(
		p->context, "SCRIPT LOAD %b", scripts[SCRIPT_LOOKUP].text, scripts[SCRIPT_LOOKUP].length));
}

static void
probe_done(struct probe *p)
{
	if (p->reply != NULL)
		freeReplyObject(p->reply);
	redisFree(p->context);
	redis_done(&p->server);
}

static void
lookup(struct probe *p, struct call about, bool daemons)
{
	const struct call_settings settings = {.namespace_ = "hf", .layout = "", .about = ""};
	struct call_command command;

	call_command_init(&command);
	ck_assert(call_encode_lookup(&command, &settings, &about, daemons));
	if (p->reply != NULL)
		freeReplyObject(p->reply);
	p->reply = redisCommandArgv(p->context, command.argc, command.argv, command.argvlen);
	ck_assert(p->reply != NULL && p->reply->type != REDIS_REPLY_ERROR);
	ck_assert(call_decode_lookup(p->reply, &p->answer));
	call_command_done(&command);
}

/* What it says of name a: "KIND | HOLDERS | QUEUE", with the times that are left as T. */
static const char *
says(struct probe *p)
{
	static char text[512];
	char holders[256] = "";
	struct slice rest;

	lookup(p, (struct call){.name = SLICE("a")}, false);
	ck_assert(!p->answer.listed);
	rest = p->answer.holders;
	while (rest.n > 0) {
		char owner[64] = "";
		long long left = 0, count = 0;
		const char *end = memchr(rest.p, '\n', rest.n);
		size_t n = end != NULL ? (size_t)(end - rest.p) + 1 : rest.n;

		ck_assert_int_eq(sscanf(rest.p, "%63s %lld %lld", owner, &left, &count), 3);
		ck_assert(left >= -1 && left <= 60000);
		snprintf(holders + strlen(holders), sizeof holders - strlen(holders), "%.1s%s %lld;", owner,
			strchr(owner, ':') != NULL ? strchr(owner, ':') : "", count);
		rest = (struct slice){rest.p + n, rest.n - n};
	}
	snprintf(text, sizeof text, "%.*s | %s | %.*s", SLICE_ARG(p->answer.kind), holders,
		SLICE_ARG(p->answer.queue));
	return text;
}

START_TEST(each_kind_of_lock_names_its_holders)
{
	struct probe p;

	probe_init(&p);
	ck_assert_str_eq(says(&p), "none |  | ");
	redis_run(&p.server, "SET hf:{a} " A ":1v PX 60000");
	ck_assert_str_eq(says(&p), "exclusive | a:1v 1; | ");
	redis_run(&p.server, "SET hf:{a} whatever PX 60000");
	ck_assert_str_eq(says(&p), "foreign | ? 1; | ");
	redis_run(&p.server, "DEL hf:{a}");
	/* Members past their deadline are dead. */
	redis_run(&p.server, "EVAL %s 1 hf:{a}",
		"local t = redis.call('TIME') local now = t[1] * 1000000 + t[2] "
		"local function at(s) return string.format(' %016.0f', now + s * 1000000) end "
		"return redis.call('HSET', KEYS[1], 'kind', 'shared', '" A "', '" A ":2' .. at(50), '" B
		"', '" B ":3' .. at(-1))");
	ck_assert_str_eq(says(&p), "shared | a:2 1; | ");
	redis_run(&p.server, "DEL hf:{a}");
	redis_run(&p.server, "EVAL %s 1 hf:{a}",
		"local t = redis.call('TIME') local now = t[1] * 1000000 + t[2] "
		"local till = string.format(' %016.0f', now + 50 * 1000000) "
		"return redis.call('HSET', KEYS[1], 'kind', 'permits 5', '3', '" A ":2' .. till, '4', '" A
		":2' .. till)");
	ck_assert_str_eq(says(&p), "permits 5 | a:2 2; | ");
	redis_run(&p.server, "DEL hf:{a}");
	redis_run(&p.server, "HSET hf:{a} strange fields");
	ck_assert_str_eq(says(&p), "foreign | ? 1; | ");
	redis_run(&p.server, "DEL hf:{a}");
	redis_run(&p.server, "LPUSH hf:{a} list");
	ck_assert_str_eq(says(&p), "foreign | ? 1; | ");
	probe_done(&p);
}
END_TEST

START_TEST(the_queue_is_told_in_order_without_places_that_have_ended)
{
	struct probe p;

	probe_init(&p);
	redis_run(&p.server, "ZADD hf:{a}:q 2 " A " 1 " B " 3 gone");
	redis_run(&p.server, "HSET hf:{a}:w " A " %s " B " %s gone %s", "9000000000000000 x 1",
		"9000000000000000 p3 1", "1 x 1");
	ck_assert_str_eq(says(&p), "none |  | " B " p3\n" A " x");
	probe_done(&p);
}
END_TEST

START_TEST(registered_daemons_are_told_while_they_live)
{
	struct probe p;

	probe_init(&p);
	redis_run(&p.server, "HSET hf:node d:" A " %s h:" A " %s d:" B " %s", "9000000000000000 10 10 0 0",
		"1 app-07 0.1.0 4711 1760000000 lease=10s unix 1760000000123", "1 10 10 0 0");
	lookup(&p, (struct call){0}, true);
	ck_assert(p.answer.listed);
	ck_assert_uint_eq(p.answer.kind.n, 0);
	ck_assert(slice_equal(p.answer.daemons,
		slice_of(A " 9000000000000000 1 app-07 0.1.0 4711 1760000000 lease=10s unix 1760000000123")));
	ck_assert_int_gt(p.answer.time_us, 1000000);
	probe_done(&p);
}
END_TEST

START_TEST(refused_daemons_are_told_apart_while_their_records_count)
{
	struct probe p;

	probe_init(&p);
	redis_run(&p.server, "HSET hf:node r:" A " %s r:" B " %s r:no %s",
		"9000000000000000 app-07 0.1.0 4711 1760000000 lease=10s unix 1760000000123 format 1, the "
		"others 2",
		"1 app-08 0.1.0 1 1 s unix 1 why", "9000000000000000 x");
	lookup(&p, (struct call){0}, true);
	ck_assert_uint_eq(p.answer.daemons.n, 0);
	ck_assert(slice_equal(p.answer.refused, slice_of(A " 9000000000000000 app-07 0.1.0 4711 1760000000 "
							   "lease=10s unix 1760000000123 format 1, "
							   "the others 2")));
	lookup(&p, (struct call){.name = SLICE("a")}, false);
	ck_assert_uint_eq(p.answer.refused.n, 0);
	probe_done(&p);
}
END_TEST

START_TEST(of_very_many_registrations_a_part_is_read)
{
	struct probe p;
	redisReply *reply;
	const char *scans;

	probe_init(&p);
	freeReplyObject(redisCommand(p.context, "EVAL %s 1 hf:node",
		"for i = 1, 20000 do redis.call('HSET', KEYS[1], 'd:' .. string.format('%032x', i),"
		" '9000000000000000 10 10 0 0') end"));
	lookup(&p, (struct call){0}, true);
	ck_assert(p.answer.daemons.n > 40000 && p.answer.daemons.n <= 60000);
	reply = redisCommand(p.context, "INFO commandstats");
	ck_assert(reply != NULL && reply->type == REDIS_REPLY_STRING);
	scans = strstr(reply->str, "cmdstat_hscan:calls=");
	ck_assert(scans != NULL);
	ck_assert_int_le(atoi(scans + strlen("cmdstat_hscan:calls=")), 5);
	freeReplyObject(reply);
	probe_done(&p);
}
END_TEST

START_TEST(a_key_of_a_rule_is_looked_at_where_it_is)
{
	struct probe p;

	probe_init(&p);
	redis_run(&p.server, "SET lock:a " A ":1v PX 60000");
	lookup(&p, (struct call){.name = SLICE("a"), .key = "lock:%"}, false);
	ck_assert(slice_equal(p.answer.kind, SLICE("exclusive")));
	redis_run(&p.server, "HSET a b:1 1");
	lookup(&p, (struct call){.name = SLICE("a"), .interop = INTEROP_REDISSON}, false);
	ck_assert(slice_equal(p.answer.kind, SLICE("foreign")));
	probe_done(&p);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("lookup", NULL, NULL, each_kind_of_lock_names_its_holders,
		the_queue_is_told_in_order_without_places_that_have_ended,
		registered_daemons_are_told_while_they_live,
		refused_daemons_are_told_apart_while_their_records_count,
		of_very_many_registrations_a_part_is_read, a_key_of_a_rule_is_looked_at_where_it_is);
}
