/*
 * Tests of lua/hello.lua and lua/lookup.lua: what a master tells of daemons that it refused, on a real server
 * and on the simulated one. DA opened the master; the others come with what is theirs.
 */
#include "tests/sim/world/callers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ABOUT     "app-07 0.2.0 4711 1760000000 lease=10s,rules=[] 10.0.0.7:5625 " SECRET
#define SECRET    "5ec3e7005ec3e7005ec3e7005ec3e700"
#define FIELD(id) "return redis.call('HGET', KEYS[1], 'r:" id "') or ''"
#define COUNT                                                                                                \
	"local n = 0 for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do"                                \
	" n = n + (string.find(field, '^r:') and 1 or 0) end return tostring(n)"

/* A HELLO of a daemon with another clock margin. */
static struct vote
say_hello(struct stage *stage, const char *id, const char *about, int64_t margin_ms)
{
	struct call_settings daemon = {
		.namespace_ = "hf", .margin_ms = margin_ms, .layout = "x", .about = about};
	const struct call call = {.op = CALL_HELLO, .incarnation = 5};
	struct vote vote;

	snprintf(daemon.daemon_id, sizeof(daemon.daemon_id), "%s", id);
	stage_calls(stage, &daemon, &call, 1, &vote);
	ck_assert_int_eq(vote.outcome, OUTCOME_YES);
	return vote;
}

static void
refused(struct stage *stage, const char *id, const char *about)
{
	ck_assert_int_eq(say_hello(stage, id, about, 2000).hello, HELLO_MISMATCH);
}

/* What a daemon that the master takes is told of the others. */
static void
tells(struct stage *stage, int64_t count, const char *text)
{
	struct vote vote = say_hello(stage, A, "app-01 0.1.0 1 2 x unix", 1000);

	ck_assert_int_eq(vote.hello, HELLO_GOOD);
	ck_assert_int_eq(vote.refused_count, count);
	ck_assert_msg(slice_equal(vote.refused, slice_of(text)), "%.*s", (int)vote.refused.n, vote.refused.p);
}

ON_BOTH(a_daemon_that_is_taken_hears_of_one_that_is_refused)
{
	tells(stage, 0, "");
	refused(stage, B, ABOUT);
	tells(stage, 1, "b1234567 on app-07 0.2.0: clock-margin 2000 ms, the others 1000 ms");
	/* One that is refused is told nothing of others. */
	ck_assert_int_eq(say_hello(stage, C, ABOUT, 3000).refused_count, 0);
	tells(stage, 2,
		"b1234567 on app-07 0.2.0: clock-margin 2000 ms, the others 1000 ms | "
		"c1234567 on app-07 0.2.0: clock-margin 3000 ms, the others 1000 ms");
	refused(stage, D, ABOUT);
	refused(stage, E, "");
	tells(stage, 4,
		"b1234567 on app-07 0.2.0: clock-margin 2000 ms, the others 1000 ms | "
		"c1234567 on app-07 0.2.0: clock-margin 3000 ms, the others 1000 ms | "
		"d1234567 on app-07 0.2.0: clock-margin 2000 ms, the others 1000 ms | and 1 more");
}

ON_BOTH(a_record_ends_when_its_daemon_is_taken_or_leaves_or_comes_no_more)
{
	refused(stage, B, ABOUT);
	ck_assert_int_eq(say_hello(stage, B, ABOUT, 1000).hello, HELLO_GOOD);
	tells(stage, 0, "");
	ck_assert_str_eq(callers_ask(stage, FIELD(B), "hf:node"), "");
	refused(stage, C, ABOUT);
	callers_say(stage, DC, (struct call){.op = CALL_HELLO, .leaves = true});
	tells(stage, 0, "");
	refused(stage, C, ABOUT);
	/* Its time is over; or the clock went back, and it would stay for as long. */
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'r:" C "', '1 h v 1 1 s a 1 why')", "hf:node");
	tells(stage, 0, "");
	ck_assert_str_eq(callers_ask(stage, FIELD(C), "hf:node"), "");
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'r:" C "', '4000000000000000 h v 1 1 s a 1 why')",
		"hf:node");
	tells(stage, 0, "");
	ck_assert_str_eq(callers_ask(stage, FIELD(C), "hf:node"), "");
}

ON_BOTH(a_record_has_no_secret_and_nothing_that_could_be_taken_for_another_line)
{
	char about[4096];

	refused(stage, B, ABOUT);
	ck_assert_ptr_nonnull(strstr(callers_ask(stage, FIELD(B), "hf:node"), "lease=10s"));
	ck_assert_ptr_null(strstr(callers_ask(stage, FIELD(B), "hf:node"), SECRET));
	refused(stage, C,
		"ho\nst\x01\xff \x7f"
		"0.2 1 2 a\rb c");
	ck_assert_ptr_nonnull(strstr(callers_ask(stage, FIELD(C), "hf:node"), " ? ? 0 0 ? ? "));
	refused(stage, D,
		"h\x01\xfft \x7f"
		"0.2 1 2 a\xc3 c");
	ck_assert_ptr_nonnull(strstr(callers_ask(stage, FIELD(D), "hf:node"), " h??t ?0.2 1 2 a? c "));
	memset(about, 'x', sizeof about);
	about[sizeof about - 1] = '\0';
	for (size_t at = 500; at < 2600; at += 500)
		about[at] = ' ';
	memcpy(about + 1001, "99999999999999999999 1", 22);
	refused(stage, E, about);
	ck_assert_str_eq(callers_ask(stage, "return tostring(#redis.call('HGET', KEYS[1], 'r:" E "') < 800)",
				 "hf:node"),
		"true");
}

ON_BOTH(records_of_many_that_are_refused_do_not_fill_the_node)
{
	char id[33];

	for (int i = 1; i <= 100; i++) {
		snprintf(id, sizeof id, "%032x", i);
		refused(stage, id, ABOUT);
	}
	ck_assert_str_eq(callers_ask(stage, COUNT, "hf:node"), "32");
	/* The latest are there. */
	snprintf(id, sizeof id, "%032x", 100);
	ck_assert_str_eq(callers_ask(stage,
				 "return tostring(redis.call('HEXISTS', KEYS[1], "
				 "'r:00000000000000000000000000000064'))",
				 "hf:node"),
		"1");
	/* Those whose time is over go when another one comes, though nobody is taken meanwhile. */
	stage_do(stage,
		"for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do"
		" if string.find(field, '^r:') then redis.call('HSET', KEYS[1], field, '1 h v 1 1 s a 1 "
		"why') end end",
		"hf:node");
	refused(stage, B, ABOUT);
	ck_assert_str_eq(callers_ask(stage, COUNT, "hf:node"), "1");
	/* No daemon has such an id. */
	refused(stage, "Z1234567890123456789012345678901", ABOUT);
	refused(stage, "b123", ABOUT);
	ck_assert_str_eq(callers_ask(stage, COUNT, "hf:node"), "1");
}

ON_BOTH(who_is_refused_again_and_again_writes_seldom)
{
	char first[256];

	refused(stage, B, ABOUT);
	snprintf(first, sizeof first, "%s", callers_ask(stage, FIELD(B), "hf:node"));
	stage_wait_ms(stage, 5);
	refused(stage, B, ABOUT);
	ck_assert_str_eq(callers_ask(stage, FIELD(B), "hf:node"), first);
	stage_do(stage,
		"local t = redis.call('TIME') return redis.call('HSET', KEYS[1], 'r:" B
		"', string.format('%.0f', t[1] * 1000000 + 22000000) .. ' h v 1 1 s a 1 why')",
		"hf:node");
	refused(stage, B, ABOUT);
	ck_assert_ptr_nonnull(strstr(callers_ask(stage, FIELD(B), "hf:node"), "app-07"));
}

ON_BOTH(a_full_master_gets_no_record_and_says_the_same)
{
	stage_full(stage, true);
	refused(stage, B, ABOUT);
	ck_assert_str_eq(callers_ask(stage, FIELD(B), "hf:node"), "");
	stage_full(stage, false);
	refused(stage, B, ABOUT);
	tells(stage, 1, "b1234567 on app-07 0.2.0: clock-margin 2000 ms, the others 1000 ms");
}

ON_BOTH(of_long_rules_those_are_told_that_differ)
{
	char long_rules[3000] = "default", ours[3100], *end;
	struct call_settings daemon = {.namespace_ = "hf", .margin_ms = 1000, .about = ABOUT};
	const struct call call = {.op = CALL_HELLO, .incarnation = 5};
	struct vote vote;

	for (size_t n = strlen(long_rules), i = 0; n < sizeof long_rules - 40; i++)
		n += (size_t)snprintf(long_rules + n, sizeof long_rules - n, ";app%zu:*=lock:%%", i);
	snprintf(ours, sizeof ours, "return redis.call('HSET', KEYS[1], 'layout', '%s;z=a')", long_rules);
	stage_do(stage, ours, "hf:node");
	snprintf(ours, sizeof ours, "%s;z=b", long_rules);
	daemon.layout = ours;
	snprintf(daemon.daemon_id, sizeof daemon.daemon_id, "%s", B);
	stage_calls(stage, &daemon, &call, 1, &vote);
	ck_assert_int_eq(vote.hello, HELLO_MISMATCH);
	ck_assert_msg(
		slice_equal(vote.text, SLICE("rules and guard z=b, the others z=a; alive there: a1234567")),
		"%.*s", (int)vote.text.n, vote.text.p);
	/* One side has all that the other one has; and the same, in another order. */
	end = strrchr(ours, ';');
	*end = '\0';
	stage_calls(stage, &daemon, &call, 1, &vote);
	ck_assert(
		slice_equal(vote.text, SLICE("rules and guard none, the others z=a; alive there: a1234567")));
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'layout', 'default;a=1;b=2')", "hf:node");
	daemon.layout = "default;b=2;a=1";
	stage_calls(stage, &daemon, &call, 1, &vote);
	ck_assert(slice_equal(vote.text, SLICE("rules and guard in another order; alive there: a1234567")));
}

int
main(void)
{
	return SUITE_RUN("script_refused", NULL, NULL, a_daemon_that_is_taken_hears_of_one_that_is_refused,
		a_record_ends_when_its_daemon_is_taken_or_leaves_or_comes_no_more,
		a_record_has_no_secret_and_nothing_that_could_be_taken_for_another_line,
		records_of_many_that_are_refused_do_not_fill_the_node,
		who_is_refused_again_and_again_writes_seldom, a_full_master_gets_no_record_and_says_the_same,
		of_long_rules_those_are_told_that_differ);
}
