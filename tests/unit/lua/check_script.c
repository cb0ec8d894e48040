/*
 * Tests of lua/: what each script does and what repeating it does not do, on a real server and, to the
 * letter, on the simulated one.
 */
#include "tests/sim/world/stage.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MS      11000
#define FOREVER_US  INT64_C(9000000000000000)
#define INCARNATION 0xabc
#define A           "a1234567890123456789012345678901"
#define B           "b1234567890123456789012345678901"
#define C           "c1234567890123456789012345678901"

static struct stage stage;
static const struct call_settings daemons[] = {
	{.namespace_ = "hf", .daemon_id = A, .margin_ms = 1000, .layout = "x"},
	{.namespace_ = "hf", .daemon_id = B, .margin_ms = 1000, .layout = "x"},
	{.namespace_ = "hf", .daemon_id = C, .margin_ms = 1000, .layout = "x"},
};
enum { DA, DB, DC };

/* Each test is run once on each kind of server. */
#define ON_BOTH(name)                                                                                        \
	static void name##_on(void);                                                                         \
	START_TEST(name)                                                                                     \
	{                                                                                                    \
		for (int i = 0; i < 2; i++) {                                                                \
			stage_init(&stage, i == 0);                                                          \
			name##_on();                                                                         \
			stage_done(&stage);                                                                  \
		}                                                                                            \
	}                                                                                                    \
	END_TEST                                                                                             \
	static void name##_on(void)

static struct vote
run_call(int daemon, struct call call)
{
	struct vote vote;
	if (call.incarnation == 0)
		call.incarnation = INCARNATION;
	stage_calls(&stage, &daemons[daemon], &call, 1, &vote);
	return vote;
}

static struct call
acquire_of(const char *name, uint64_t attempt)
{
	return (struct call){.op = CALL_ACQUIRE,
		.name = slice_of(name),
		.attempt = attempt,
		.ttl_ms = TTL_MS,
		.deadline_us = FOREVER_US,
		.token = 1,
		.block = 10,
		.queue_ms = 3000};
}

static struct vote
acquire(int daemon, uint64_t attempt)
{
	return run_call(daemon, acquire_of("a", attempt));
}

static struct vote
simple(int daemon, enum call_op op, uint64_t attempt)
{
	return run_call(daemon, (struct call){.op = op,
					.name = SLICE("a"),
					.attempt = attempt,
					.ttl_ms = TTL_MS,
					.deadline_us = FOREVER_US,
					.token = 1});
}

static struct vote
hello(int daemon, uint64_t candidate)
{
	return run_call(daemon, (struct call){.op = CALL_HELLO, .incarnation = candidate});
}

static struct vote
admit(int daemon, uint64_t incarnation, int64_t token)
{
	return run_call(daemon, (struct call){.op = CALL_ADMIT, .incarnation = incarnation, .token = token});
}

/* Admitted, and all three daemons known. */
static void
open_master(void)
{
	ck_assert_int_eq(hello(DA, INCARNATION).outcome, OUTCOME_YES);
	ck_assert_int_eq(admit(DA, INCARNATION, 100).outcome, OUTCOME_YES);
	hello(DB, 1);
	hello(DC, 1);
	(void)stage_heard(&stage);
}

static bool
text_is(struct slice text, const char *expected)
{
	return slice_equal(text, slice_of(expected));
}

ON_BOTH(a_new_master_is_guarded_until_it_is_admitted)
{
	struct vote v = hello(DA, INCARNATION);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	ck_assert_uint_eq(v.incarnation, INCARNATION);
	ck_assert(!v.admitted);
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_FORGOTTEN);
	v = hello(DB, 0xdef);
	ck_assert_uint_eq(v.incarnation, INCARNATION);
	ck_assert_int_eq(admit(DB, 0xdef, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(admit(DB, INCARNATION, 1).outcome, OUTCOME_YES);
	ck_assert(hello(DA, 1).admitted);
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(simple(DA, CALL_RECLAIM, 1).outcome, OUTCOME_FORGOTTEN);
}

ON_BOTH(admitting_raises_the_floor_above_every_clock_and_token_and_only_once)
{
	hello(DA, INCARNATION);
	struct vote v = admit(DA, INCARNATION, 5);
	ck_assert_int_eq(v.highest, v.time_us);
	struct vote again = admit(DB, INCARNATION, INT64_C(1) << 51);
	ck_assert_int_eq(again.outcome, OUTCOME_YES);
	ck_assert_int_eq(again.highest, v.highest);
	ck_assert_int_gt(acquire(DA, 1).token_first, v.highest);
	stage_flush(&stage);
	hello(DA, 0xdef);
	v = admit(DA, 0xdef, INT64_C(1) << 51);
	ck_assert_int_eq(v.highest, INT64_C(1) << 51);
	stage_flush(&stage);
	hello(DA, INCARNATION);
	ck_assert_int_eq(admit(DA, INCARNATION, (INT64_C(1) << 52) + 1).outcome, OUTCOME_ERROR);
	ck_assert(!hello(DA, 1).admitted);
}

ON_BOTH(a_flushed_master_refuses_all_scripts_of_before)
{
	open_master();
	acquire(DA, 1);
	stage_flush(&stage);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(acquire(DA, 2).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(simple(DA, CALL_LEAVE, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(admit(DA, INCARNATION, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert(!hello(DA, 0xdef).admitted);
}

ON_BOTH(a_restarted_master_is_another_one)
{
	open_master();
	stage_restart(&stage);
	ck_assert(!hello(DA, 0xdef).admitted);
}

ON_BOTH(a_changed_identity_opens_a_guard_and_keeps_the_tokens)
{
	open_master();
	int64_t last = acquire(DA, 1).token_last;
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	struct vote v = hello(DB, 0xdef);
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
	ck_assert_int_gt(v.highest, last);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_FORGOTTEN);
}

/* Each script that takes or keeps something. */
ON_BOTH(a_memory_that_went_back_takes_no_call_of_who_knows_better)
{
	static const enum call_op ops[] = {
		CALL_ACQUIRE, CALL_RENEW, CALL_LEAVE, CALL_ENTER, CALL_ADMIT, CALL_LATCH};
	open_master();
	struct call call = acquire_of("a", 1);
	call.mark = acquire(DA, 1).token_last;
	call.attempt = 1;
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES); /* it remembers */
	stage_do(&stage, "return redis.call('HINCRBY', KEYS[1], 'highest', -11)", "hf:node");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		call.op = ops[i];
		call.latch_op = LATCH_OP_LOOK;
		call.kind = ops[i] == CALL_ENTER ? KIND_SHARED : KIND_EXCLUSIVE;
		ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_FORGOTTEN);
		call.kind = KIND_SHARED;
		ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_FORGOTTEN);
	}
	/* Who has not seen it cannot know. */
	ck_assert_int_eq(simple(DB, CALL_RENEW, 1).outcome, OUTCOME_NO);
}

ON_BOTH(a_memory_that_went_back_is_guarded_as_another_one)
{
	open_master();
	int64_t mark = acquire(DA, 1).token_last;
	struct vote v = run_call(DA, (struct call){.op = CALL_HELLO, .incarnation = 0xdef, .mark = mark});
	ck_assert_uint_eq(v.incarnation, INCARNATION);
	ck_assert(v.admitted);
	/* A HELLO is enough to tell it from what it was before. */
	ck_assert_int_gt(v.highest, mark);
	mark = v.highest;
	stage_do(&stage, "return redis.call('HINCRBY', KEYS[1], 'highest', -1)", "hf:node");
	v = run_call(DA, (struct call){.op = CALL_HELLO, .incarnation = 0xdef, .mark = mark});
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
	/* Above what the other daemons may have seen, so that they need not open one of their own. */
	ck_assert_int_gt(v.highest, v.time_us);
	ck_assert_int_gt(v.highest, mark);
	ck_assert_int_eq(simple(DB, CALL_RENEW, 1).outcome, OUTCOME_FORGOTTEN);
}

static struct vote
hello_doubting(int daemon, uint64_t candidate)
{
	return run_call(
		daemon, (struct call){.op = CALL_HELLO, .incarnation = candidate, .doubted = INCARNATION});
}

ON_BOTH(a_clock_has_jumped_when_most_daemons_say_so)
{
	open_master();
	struct vote v = hello_doubting(DA, 0xdef);
	ck_assert_uint_eq(v.incarnation, INCARNATION);
	ck_assert(v.admitted);
	/* Saying it twice is no more. */
	ck_assert(hello_doubting(DA, 0xdef).admitted);
	ck_assert(hello(DC, 0xdef).admitted);
	v = hello_doubting(DB, 0xdef);
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_FORGOTTEN);
	/* What was said of another memory is forgotten with it. */
	stage_do(&stage, "return redis.call('SET', 'said', redis.call('HEXISTS', KEYS[1], 'l:" A "'))",
		"hf:node");
	ck_assert_str_eq(stage_get(&stage, "said"), "0");
}

ON_BOTH(the_only_daemon_is_believed_that_a_clock_jumped)
{
	hello(DA, INCARNATION);
	admit(DA, INCARNATION, 100);
	ck_assert_uint_eq(hello_doubting(DA, 0xdef).incarnation, 0xdef);
}

ON_BOTH(a_trusted_master_is_admitted_at_once)
{
	struct call_settings trusting = daemons[DA];
	struct call call = {.op = CALL_HELLO, .incarnation = INCARNATION, .token = 7};
	struct vote v;
	trusting.trusted = true;
	stage_calls(&stage, &trusting, &call, 1, &v);
	ck_assert(v.admitted);
	ck_assert_int_ge(v.highest, v.time_us);
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_YES);
}

ON_BOTH(other_limits_are_refused_while_somebody_lives_by_them)
{
	struct call_settings other = daemons[DB];
	struct call call = {.op = CALL_HELLO, .incarnation = 5};
	struct vote v;
	other.margin_ms = 10;
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	ck_assert(text_is(v.text, "clock-margin 1000 ms, the others 10 ms; alive there: b1234567"));
	/* Its registration ends. */
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'd:" B "', '1 10000 10000 0 0')", "hf:node");
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
}

ON_BOTH(a_refused_daemon_that_was_told_more_shows_that_the_memory_went_back)
{
	struct call_settings other = daemons[DB];
	struct call call = {.op = CALL_HELLO, .incarnation = 5};
	struct vote v;
	int64_t mark;
	other.layout = "a=lock:%";
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'admitted', '1')", "hf:node");
	/* A refusal tells the mark, too. */
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	mark = v.highest;
	call.incarnation = 6;
	call.mark = mark + 1;
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	ck_assert_int_gt(v.highest, mark);
	call = (struct call){.op = CALL_HELLO, .incarnation = 7};
	stage_calls(&stage, &daemons[DC], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	ck_assert(!v.admitted && v.incarnation == 6);
}

ON_BOTH(who_says_that_it_ends_is_registered_no_longer)
{
	struct call_settings other = daemons[DB];
	struct call call = {.op = CALL_HELLO, .incarnation = 5}, leaves = {.op = CALL_HELLO, .leaves = true};
	struct vote v;
	other.margin_ms = 10;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	stage_calls(&stage, &daemons[DC], &call, 1, &v);
	for (int i = 0; i < 2; i++) { /* once more is harmless */
		stage_calls(&stage, &daemons[DA], &leaves, 1, &v);
		ck_assert_int_eq(v.outcome, OUTCOME_YES);
		ck_assert_int_eq(v.hello, HELLO_LEFT);
	}
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	stage_calls(&stage, &daemons[DC], &leaves, 1, &v);
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
}

ON_BOTH(daemons_of_another_format_are_refused_while_one_of_them_lives)
{
	struct call_settings other = daemons[DB];
	struct call call = {.op = CALL_HELLO, .incarnation = 5};
	struct vote v;
	other.about = "app-07 0.2.0 4711 1760000000 lease=10s 10.0.0.7:5625";
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	/* As a later release writes it. */
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'format', '2')", "hf:node");
	call.incarnation = 6;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	ck_assert(text_is(v.text, "format 1, the others 2; alive there: b1234567 on app-07 0.2.0"));
	/* When the last of them is gone the format is ours, and scripts of theirs are refused. */
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'd:" B "', '1 10000 10000 0 0')", "hf:node");
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	ck_assert_uint_eq(v.incarnation, 6);
	stage_do(&stage,
		"return redis.call('SET', 'said', redis.call('HGET', KEYS[1], 'format') .. "
		"redis.call('HEXISTS', KEYS[1], 'h:" B "') .. "
		"string.match(redis.call('HGET', KEYS[1], 'h:" A "'), '^%d+ '))",
		"hf:node");
	ck_assert_str_eq(stage_get(&stage, "said"), "101 ");
}

/* HELLO with this longest lease, and guards, and says what is to be asked for, and guarded. */
static struct vote
tells_terms(int daemon, int64_t wanted_lease_ms, int64_t guarded_lease_ms)
{
	struct call call = {.op = CALL_HELLO,
		.incarnation = 5,
		.wanted_lease_ms = wanted_lease_ms,
		.guarded_lease_ms = guarded_lease_ms};
	struct vote v;
	stage_calls(&stage, &daemons[daemon], &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	return v;
}

#define ck_assert_terms(of, longest, guarded)                                                                \
	do {                                                                                                 \
		struct vote told_ = (of);                                                                    \
		ck_assert_int_eq(told_.longest_ms, longest);                                                 \
		ck_assert_int_eq(told_.guarded_lease_ms, guarded);                                           \
	} while (0)

ON_BOTH(a_longer_lease_is_taken_when_all_guards_wait_for_it)
{
	struct call asks = {.op = CALL_ACQUIRE,
		.incarnation = 5,
		.name = SLICE("a"),
		.attempt = 1,
		.ttl_ms = 21000,
		.block = 1,
		.token = 1,
		.deadline_us = INT64_C(9000000000000000)};
	struct vote v;
	ck_assert_terms(tells_terms(DA, 10000, 10000), 10000, 10000);
	ck_assert_terms(tells_terms(DC, 10000, 10000), 10000, 10000);
	/* The newcomer asks for no more than before, and the others hear of it. */
	ck_assert_terms(tells_terms(DB, 20000, 20000), 10000, 20000);
	ck_assert_terms(tells_terms(DA, 10000, 20000), 10000, 20000);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'admitted', '1')", "hf:node");
	stage_calls(&stage, &daemons[DB], &asks, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}"), -2);
	ck_assert_terms(tells_terms(DB, 20000, 20000), 10000, 20000);
	/* With the last guard it is taken. */
	ck_assert_terms(tells_terms(DC, 10000, 20000), 20000, 20000);
	stage_calls(&stage, &daemons[DB], &asks, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_ge(stage_ttl_ms(&stage, "hf:{a}"), 11000);
	/* Who comes with a shorter one takes nothing away, and is told. */
	ck_assert_terms(tells_terms(DA, 5000, 5000), 20000, 20000);
}

ON_BOTH(the_longest_lease_is_that_of_the_living)
{
	ck_assert_terms(tells_terms(DA, 20000, 20000), 20000, 20000);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'admitted', '1')", "hf:node");
	ck_assert_terms(tells_terms(DB, 10000, 10000), 20000, 20000);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'd:" A "', '1 20000 20000 0 0')", "hf:node");
	ck_assert_terms(tells_terms(DB, 10000, 20000), 10000, 10000);
	/* It grows again as it did. */
	ck_assert_terms(tells_terms(DC, 10000, 10000), 10000, 10000);
	ck_assert_terms(tells_terms(DA, 20000, 20000), 10000, 20000);
}

ON_BOTH(a_guard_waits_for_the_longest_lease_that_any_daemon_knows_of)
{
	struct call admit = {
		.op = CALL_ADMIT, .incarnation = 5, .wanted_lease_ms = 10000, .guarded_lease_ms = 10000};
	struct vote v;
	ck_assert_terms(tells_terms(DA, 10000, 20000), 10000, 20000);
	/* While it may have forgotten the daemon whose lease that is. */
	ck_assert_terms(tells_terms(DB, 10000, 10000), 10000, 20000);
	stage_calls(&stage, &daemons[DB], &admit, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_FORGOTTEN);
	admit.guarded_lease_ms = 20000;
	stage_calls(&stage, &daemons[DB], &admit, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_terms(tells_terms(DB, 10000, 20000), 10000, 10000);
}

ON_BOTH(a_refused_daemon_is_told_for_which_lease_to_wait)
{
	struct call_settings other = daemons[DB];
	struct call call = {.op = CALL_HELLO, .incarnation = 5, .wanted_lease_ms = 10000};
	struct vote v;
	other.margin_ms = 10;
	ck_assert_terms(tells_terms(DA, 20000, 20000), 20000, 20000);
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_MISMATCH);
	ck_assert_int_eq(v.guarded_lease_ms, 20000);
}

ON_BOTH(who_slept_through_a_change_of_limits_is_not_listened_to)
{
	struct call_settings other = daemons[DB], old = daemons[DA];
	struct call call = {.op = CALL_HELLO, .incarnation = 5, .wanted_lease_ms = 20};
	struct call asks = {.op = CALL_ACQUIRE,
		.incarnation = 5,
		.name = SLICE("a"),
		.attempt = 1,
		.ttl_ms = 10,
		.block = 1,
		.token = 1,
		.deadline_us = INT64_C(9000000000000000)};
	struct vote v;
	old.margin_ms = 10;
	old.trusted = other.trusted = true;
	stage_calls(&stage, &old, &call, 1, &v);
	stage_calls(&stage, &old, &asks, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'd:" A "', '1 20 20 0 0')", "hf:node");
	stage_wait_ms(&stage, 20);
	other.margin_ms = 10;
	other.layout = "a=lock:%";
	call.incarnation = 6;
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert_int_eq(v.hello, HELLO_GOOD);
	/* Nothing is forgotten, so nothing is guarded. */
	ck_assert(v.admitted && v.incarnation == 6);
	asks.attempt = 2;
	stage_calls(&stage, &old, &asks, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_FORGOTTEN);
	/* Who agrees to what is there finds the same memory. */
	call.incarnation = 7;
	stage_calls(&stage, &other, &call, 1, &v);
	ck_assert(v.admitted && v.incarnation == 6);
}

ON_BOTH(a_lease_is_taken_kept_and_given_back)
{
	open_master();
	struct vote v = acquire(DA, 1);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.token_last - v.token_first, 9);
	ck_assert_int_eq(v.position, 0);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), A ":1");
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}"), TTL_MS - 1000);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "");
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_NO);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_NO);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "");
	ck_assert_str_eq(stage_heard(&stage), "");
}

ON_BOTH(an_attempt_that_has_the_lease_gets_it_again_with_other_tokens)
{
	open_master();
	int64_t last = acquire(DA, 1).token_last;
	ck_assert_int_gt(acquire(DA, 1).token_first, last);
}

/* A lease of another attempt may be one that was given up, or that of a copy of the daemon. */
ON_BOTH(a_lease_of_another_attempt_of_its_own_daemon_is_in_its_way)
{
	open_master();
	ck_assert_int_eq(acquire(DA, 2).outcome, OUTCOME_YES);
	ck_assert_int_eq(acquire(DA, 3).outcome, OUTCOME_BUSY);
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_BUSY);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), A ":2");
	simple(DA, CALL_RELEASE, 2);
	ck_assert_int_eq(acquire(DA, 3).outcome, OUTCOME_YES);
}

static struct vote
hello_with(int daemon, const char *nonces)
{
	return run_call(daemon,
		(struct call){.op = CALL_HELLO, .incarnation = INCARNATION, .nonces = slice_of(nonces)});
}

#define N1 "0000000000000001 "
#define N2 "0000000000000002 "
#define N3 "0000000000000003 "
#define NX "fffffffffffffff0 "

ON_BOTH(of_two_copies_of_a_daemon_the_second_is_told)
{
	ck_assert_int_eq(hello_with(DA, N1).hello, HELLO_GOOD);
	/* An answer that was lost, and the same once more. */
	ck_assert_int_eq(hello_with(DA, N3 N2 N1).hello, HELLO_GOOD);
	ck_assert_int_eq(hello_with(DA, N3 N2 N1).hello, HELLO_GOOD);
	ck_assert_int_eq(hello_with(DB, NX).hello, HELLO_GOOD);
	/* One that came before it, from another link, changes nothing. */
	ck_assert_int_eq(hello_with(DA, N2 N1).hello, HELLO_CLONED);
	ck_assert_int_eq(hello_with(DA, NX N2 N1).hello, HELLO_CLONED);
	ck_assert_int_eq(hello_with(DA, NX N3 N2).hello, HELLO_GOOD);
	ck_assert_int_eq(hello_with(DA, N1 N3 N2).hello, HELLO_CLONED);
	/* What another memory says of us does not count. */
	stage_restart(&stage);
	ck_assert_int_eq(hello_with(DA, N1).hello, HELLO_GOOD);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	ck_assert_int_eq(hello_with(DA, N2).hello, HELLO_GOOD);
}

START_TEST(a_master_that_has_evicted_keys_is_one_that_forgot)
{
	stage_init(&stage, false);
	open_master();
	ck_assert(hello(DA, 0xdef).admitted);
	master_health(stage.master)->evicted = 23;
	struct vote v = hello(DA, 0xdef);
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
	/* Once for as many. */
	ck_assert_uint_eq(hello(DB, 0xabc).incarnation, 0xdef);
	/* The counter begins anew: how many there were nobody knows. */
	master_health(stage.master)->evicted = 0;
	ck_assert_uint_eq(hello(DB, 0xabc).incarnation, 0xabc);
	stage_done(&stage);
}
END_TEST

START_TEST(a_server_that_tells_no_identity_is_refused)
{
	stage_init(&stage, false);
	master_health(stage.master)->nameless = true;
	struct vote v = hello(DA, 1);
	ck_assert_int_eq(v.outcome, OUTCOME_ERROR);
	ck_assert_ptr_nonnull(memmem(v.text.p, v.text.n, "run_id", 6));
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_FORGOTTEN);
	stage_done(&stage);
}
END_TEST

ON_BOTH(who_leaves_late_does_not_take_a_newer_place_along)
{
	open_master();
	acquire(DA, 1);
	ck_assert_int_eq(acquire(DB, 9).position, 1);
	ck_assert_int_eq(acquire(DB, 10).position, 1);
	ck_assert_int_eq(simple(DB, CALL_LEAVE, 9).outcome, OUTCOME_NO);
	ck_assert_int_eq(acquire(DC, 1).position, 2);
	ck_assert_int_eq(simple(DB, CALL_LEAVE, 10).outcome, OUTCOME_YES);
	ck_assert_int_eq(acquire(DC, 1).position, 1);
	/* Later than a number of Lua holds. */
	acquire(DB, UINT64_MAX);
	ck_assert_int_eq(simple(DB, CALL_LEAVE, UINT64_MAX - 1).outcome, OUTCOME_NO);
	ck_assert_int_eq(simple(DB, CALL_LEAVE, UINT64_MAX).outcome, OUTCOME_YES);
}

ON_BOTH(only_the_owner_touches_a_lease)
{
	open_master();
	acquire(DA, 1);
	ck_assert_int_eq(simple(DB, CALL_RELEASE, 1).outcome, OUTCOME_NO);
	ck_assert_int_eq(simple(DB, CALL_RENEW, 1).outcome, OUTCOME_NO);
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 2).outcome, OUTCOME_NO);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 2).outcome, OUTCOME_NO);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), A ":1");
}

ON_BOTH(a_late_acquire_refuses_itself)
{
	open_master();
	struct call call = acquire_of("a", 1);
	call.deadline_us = 1;
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_LATE);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}:f"), "");
}

ON_BOTH(tokens_are_strictly_above_all_before)
{
	open_master();
	struct call call = acquire_of("a", 1);
	call.token = INT64_C(1) << 51;
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.token_first, INT64_C(1) << 51);
	v = run_call(DA, call);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 10);
	/* Other names count on from there, and so does a name that was given back. */
	call.name = SLICE("b");
	v = run_call(DA, call);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 20);
	simple(DA, CALL_RELEASE, 1);
	v = acquire(DA, 2);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 30);
	ck_assert_int_eq(
		run_call(DB, (struct call){.op = CALL_HELLO, .incarnation = 1}).highest, v.token_last + 1);
	/* Who locks ever new names leaves nothing behind. */
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}:f"), -2);
	call.token = (INT64_C(1) << 52) + 1;
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_ERROR);
}

/* One name, or two that come together, where the proposal is behind, just at and ahead of what was given. */
ON_BOTH(the_highest_token_is_kept_whatever_was_proposed)
{
	struct call calls[2] = {acquire_of("a", 1), acquire_of("b", 2)};
	struct vote votes[2];
	open_master();
	int64_t highest = acquire(DA, 1).token_last;
	for (int64_t k = 0; k < 8; k++) {
		size_t n = k % 2 == 0 ? 1 : 2;
		int64_t token = highest - 1 + k / 2;
		for (size_t i = 0; i < n; i++) {
			simple(DA, CALL_RELEASE, calls[i].attempt);
			calls[i].attempt += 2;
			calls[i].incarnation = INCARNATION;
			calls[i].token = token;
			calls[i].name.p = i == 0 ? "a" : &"bcdefghi"[k];
		}
		stage_calls(&stage, &daemons[DA], calls, n, votes);
		ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[0].token_first, token > highest ? token : highest + 1);
		ck_assert_int_gt(votes[0].time_us, 0);
		ck_assert_int_eq(votes[n - 1].token_last, votes[0].token_first + 10 * (int64_t)n - 1);
		ck_assert_int_eq(votes[n - 1].time_us, votes[0].time_us);
		highest = hello(DA, 1).highest;
		ck_assert_int_eq(votes[n - 1].token_last + 1, highest);
	}
}

ON_BOTH(the_names_of_a_command_share_out_the_tokens)
{
	struct call calls[3] = {acquire_of("a", 1), acquire_of("b", 2), acquire_of("a", 1)};
	struct vote votes[3];
	open_master();
	for (int i = 0; i < 3; i++)
		calls[i].incarnation = INCARNATION;
	calls[1].block = 7;
	stage_calls(&stage, &daemons[DA], calls, 3, votes);
	/* What stands in the way, if only an earlier copy, is looked at last. */
	ck_assert_int_eq(votes[0].token_last - votes[0].token_first, 9);
	ck_assert_int_eq(votes[1].token_first, votes[0].token_last + 1);
	ck_assert_int_eq(votes[1].token_last - votes[1].token_first, 6);
	ck_assert_int_eq(votes[2].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[2].token_first, votes[1].token_last + 1);
	ck_assert_int_gt(acquire(DA, 1).token_first, votes[2].token_last);
}

static void
expect_counter(const char *key, int64_t token)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRId64, token);
	ck_assert_str_eq(stage_get(&stage, key), text);
}

ON_BOTH(a_fenced_name_counts_for_itself_and_goes_on_above_all_without_its_counter)
{
	struct call call = acquire_of("a", 1);
	struct vote v;
	call.fenced = true;
	open_master();
	call.incarnation = INCARNATION;
	call.token = INT64_C(1) << 51;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, INT64_C(1) << 51);
	/* A proposal above all tokens needs no counter. */
	ck_assert_str_eq(stage_get(&stage, "hf:{a}:f"), "");
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 10);
	expect_counter("hf:{a}:f", (INT64_C(1) << 51) + 19);
	/* A name the master has no counter of begins above the highest it knows. */
	call.name = SLICE("b");
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 20);
	/* One that has a counter is raised to exactly what is proposed, whatever other names were given. */
	call.name = SLICE("a");
	call.token = (INT64_C(1) << 51) + 25;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 25);
	/* Once there, the counter is raised with each token, also where it would not be needed. */
	expect_counter("hf:{a}:f", (INT64_C(1) << 51) + 34);
	call.token = (INT64_C(1) << 51) + 1000;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	expect_counter("hf:{a}:f", (INT64_C(1) << 51) + 1009);
	call.token = (INT64_C(1) << 51) + 25;
	stage_do(&stage, "return redis.call('DEL', KEYS[1])", "hf:{a}:f");
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 1010);
	/* It ends soon: whoever locks ever new names must not fill the master. */
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}:f"), 0);
	ck_assert_int_le(stage_ttl_ms(&stage, "hf:{a}:f"), 60000);
	call.op = CALL_RENEW;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 1020);
	call.token = (INT64_C(1) << 52) + 1;
	call.op = CALL_ACQUIRE;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_ERROR);
}

ON_BOTH(fenced_names_of_a_command_have_each_its_own_proposal)
{
	struct call calls[2] = {acquire_of("a", 1), acquire_of("b", 2)};
	struct vote votes[2];
	calls[0].fenced = calls[1].fenced = true;
	open_master();
	for (int i = 0; i < 2; i++) {
		calls[i].incarnation = INCARNATION;
		calls[i].token = (INT64_C(1) << 51) + i;
	}
	stage_calls(&stage, &daemons[DA], calls, 2, votes);
	ck_assert_int_eq(votes[0].token_first, INT64_C(1) << 51);
	ck_assert_int_eq(votes[1].token_first, (INT64_C(1) << 51) + 1);
}

/* The token of a name that the master has no counter of, and that proposes nothing. */
static int64_t
token_of_a_new_name(const char *name, uint64_t attempt)
{
	struct call call = acquire_of(name, attempt);
	struct vote v;
	call.fenced = true;
	call.incarnation = INCARNATION;
	call.token = 1;
	stage_calls(&stage, &daemons[DA], &call, 1, &v);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	return v.token_first;
}

/* A daemon sends the names of a command to each master in another order. A new name has to get the same
 * tokens from all of them. */
ON_BOTH(what_fenced_names_leave_behind_does_not_depend_on_their_order)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	const int64_t begin = INT64_C(1) << 51;
	struct vote votes[2];
	open_master();
	for (int k = 0; k < 2; k++) {
		struct call calls[2] = {acquire_of(names[2 * k], 2), acquire_of(names[2 * k + 1], 3)};
		for (int i = 0; i < 2; i++) {
			calls[i].fenced = true;
			calls[i].incarnation = INCARNATION;
			calls[i].token = begin + 1000 * k + (i == k ? 5 : 0);
		}
		stage_calls(&stage, &daemons[DA], calls, 2, votes);
		ck_assert_int_eq(votes[0].token_first, calls[0].token);
		ck_assert_int_eq(votes[1].token_first, calls[1].token);
		ck_assert_int_eq(token_of_a_new_name(k == 0 ? "e" : "f", 4), begin + 1000 * k + 5 + 10);
	}
	/* A grant far below is a mark, too. */
	struct call call = acquire_of("g", 5);
	call.fenced = true;
	call.incarnation = INCARNATION;
	call.token = begin + 5000;
	stage_calls(&stage, &daemons[DA], &call, 1, votes);
	call = acquire_of("f", 4);
	call.fenced = true;
	call.incarnation = INCARNATION;
	call.token = begin + 4000;
	stage_calls(&stage, &daemons[DA], &call, 1, votes);
	ck_assert_int_eq(votes[0].token_first, begin + 4000);
	ck_assert_int_eq(token_of_a_new_name("h", 6), begin + 5000 + 10 + 1);
}

/* The calls of one daemon arrive at each master in the same order, those of several do not. */
ON_BOTH(names_have_counters_while_more_than_one_daemon_takes_tokens)
{
	static const struct {
		int daemon;
		const char *name, *counter;
		bool fenced;
	} rows[] = {
		{DA, "a", "hf:{a}:f", false},
		{DA, "b", "hf:{b}:f", false},
		{DB, "c", "hf:{c}:f", true},
		{DA, "d", "hf:{d}:f", true},
		{DA, "e", "hf:{e}:f", true},
		{DB, "f", "hf:{f}:f", false}, /* after some time */
		{DA, "g", "hf:{g}:f", true},
	};
	struct vote v;
	open_master();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct call call = acquire_of(rows[i].name, 7);
		int64_t token = (INT64_C(1) << 51) + 100 * (int64_t)i;
		call.fenced = true;
		call.incarnation = INCARNATION;
		call.token = token;
		if (i == 5)
			stage_do(&stage, "return redis.call('HSET', KEYS[1], 'shared', '1')", "hf:node");
		stage_calls(&stage, &daemons[rows[i].daemon], &call, 1, &v);
		ck_assert_int_eq(v.token_first, token);
		if (rows[i].fenced)
			expect_counter(rows[i].counter, token + 9);
		else
			ck_assert_str_eq(stage_get(&stage, rows[i].counter), "");
	}
}

ON_BOTH(another_kind_of_key_gives_way_to_a_counter)
{
	open_master();
	int64_t token = token_of_a_new_name("a", 1);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'x', 'y')", "hf:{b}:f");
	ck_assert_int_eq(token_of_a_new_name("b", 2), token + 10);
	expect_counter("hf:{b}:f", token + 19);
}

ON_BOTH(a_counter_at_its_end_grants_nothing_more)
{
	open_master();
	ck_assert_int_eq(acquire(DA, 1).outcome, OUTCOME_YES);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'highest', '9007199254740990')", "hf:node");
	ck_assert_int_eq(run_call(DA, acquire_of("b", 2)).outcome, OUTCOME_ERROR);
	struct call call = {.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1, .ttl_ms = TTL_MS, .block = 5};
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.token_first, 0);
}

ON_BOTH(renewing_may_reserve_tokens)
{
	open_master();
	int64_t last = acquire(DA, 1).token_last;
	struct call call = {.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1, .ttl_ms = TTL_MS, .block = 5};
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.token_last, last + 5);
	call.block = 0;
	v = run_call(DA, call);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.token_first, 0);
}

/* The last was under way for long: a lease with a longer term was asked for meanwhile. */
ON_BOTH(a_call_with_a_shorter_term_ends_no_lease_earlier)
{
	struct call calls[2] = {acquire_of("a", 1), {.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1}};
	open_master();
	acquire(DA, 1);
	for (size_t i = 0; i < 2; i++) {
		calls[i].ttl_ms = 20;
		ck_assert_int_eq(run_call(DA, calls[i]).outcome, OUTCOME_YES);
		ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}"), TTL_MS - 1000);
	}
}

/* The clock stepped back, or somebody took the expiry away. */
ON_BOTH(a_lease_that_would_outlive_all_terms_is_cut_short_when_it_is_renewed)
{
	static const char *const spoils[] = {
		"return redis.call('PERSIST', KEYS[1])", "return redis.call('PEXPIRE', KEYS[1], 90000000)"};
	struct call call = {.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1};
	open_master();
	acquire(DA, 1);
	/* With the longest term there is, and with a shorter one. */
	for (size_t i = 0; i < 4; i++) {
		stage_do(&stage, spoils[i % 2], "hf:{a}");
		call.ttl_ms = i < 2 ? TTL_MS : TTL_MS / 2;
		ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES);
		int64_t left_ms = stage_ttl_ms(&stage, "hf:{a}");
		ck_assert_msg(left_ms > TTL_MS - 1000 && left_ms <= TTL_MS, "%lld", (long long)left_ms);
	}
}

ON_BOTH(lifetimes_out_of_range_are_refused)
{
	/* What is too long here alone is not malformed: it may have been taken at the last HELLO. */
	static const int64_t bad[] = {0, -1, TTL_MS + 1, INT64_MAX};
	open_master();
	acquire(DA, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct call call = acquire_of("b", 2);
		call.ttl_ms = bad[i];
		enum outcome outcome = bad[i] > TTL_MS ? OUTCOME_FORGOTTEN : OUTCOME_ERROR;
		ck_assert_int_eq(run_call(DA, call).outcome, outcome);
		call = (struct call){.op = CALL_RENEW, .name = SLICE("a"), .attempt = 1, .ttl_ms = bad[i]};
		ck_assert_int_eq(run_call(DA, call).outcome, outcome);
	}
	ck_assert_str_eq(stage_get(&stage, "hf:{b}"), "");
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), A ":1");
}

ON_BOTH(names_of_one_command_have_each_its_own_terms)
{
	struct call calls[4];
	struct vote votes[4];
	open_master();
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"a", "b", "c", "d"};
		calls[i] = acquire_of(names[i], (uint64_t)i + 1);
		calls[i].incarnation = INCARNATION;
	}
	calls[1].ttl_ms = TTL_MS + 1;
	calls[2].ttl_ms = 5000;
	calls[3].block = 3;
	for (int k = 0; k < 2; k++) {
		stage_calls(&stage, &daemons[DA], calls, 4, votes);
		ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[1].outcome, OUTCOME_FORGOTTEN);
		ck_assert_int_eq(votes[2].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[3].outcome, OUTCOME_YES);
		ck_assert_int_eq(votes[2].token_last - votes[2].token_first, 9);
		ck_assert_int_eq(votes[3].token_last - votes[3].token_first, 2);
		ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}"), 5000);
		ck_assert_int_le(stage_ttl_ms(&stage, "hf:{c}"), 5000);
		for (int i = 0; i < 4; i++)
			calls[i].op = CALL_RENEW;
	}
}

ON_BOTH(who_waits_is_queued_and_the_holder_is_told)
{
	open_master();
	acquire(DA, 1);
	struct vote v = acquire(DB, 1);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert(text_is(v.holder, A ":1"));
	ck_assert_int_eq(v.position, 1);
	ck_assert_int_gt(v.change_ms, TTL_MS - 1000);
	ck_assert_int_eq(acquire(DC, 1).position, 2);
	ck_assert_int_eq(acquire(DB, 1).position, 1);
	ck_assert_str_eq(stage_heard(&stage), "a:want a;a:want a;a:want a;");
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_heard(&stage), "b:wake a;");
	/* The head goes first, though the other one asks first. */
	v = acquire(DC, 1);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert_uint_eq(v.holder.n, 0);
	ck_assert_int_eq(v.position, 2);
	ck_assert(v.change_ms > 0 && v.change_ms <= 300);
	v = acquire(DB, 2);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.position, 1);
	ck_assert_int_eq(acquire(DC, 1).position, 1);
}

ON_BOTH(who_had_its_turn_for_nothing_has_it_again)
{
	struct call back = {.op = CALL_RELEASE, .name = SLICE("a"), .queue_ms = 3000};
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	acquire(DC, 1);
	simple(DA, CALL_RELEASE, 1);
	for (back.attempt = 2; back.attempt < 5; back.attempt++) {
		ck_assert_int_eq(acquire(DB, back.attempt).outcome, OUTCOME_YES);
		(void)stage_heard(&stage);
		ck_assert_int_eq(run_call(DB, back).outcome, OUTCOME_YES);
		ck_assert_str_eq(stage_heard(&stage), "");
		ck_assert_int_eq(acquire(DC, 1).position, 2);
	}
	/* Nothing of its own is there to be given back: so it does not go first. */
	ck_assert_int_eq(run_call(DA, back).outcome, OUTCOME_NO);
	ck_assert_int_eq(acquire(DA, 2).position, 3);
	/* Who was not in the queue stands in it now, too. */
	simple(DB, CALL_LEAVE, 9);
	simple(DC, CALL_LEAVE, 9);
	ck_assert_int_eq(acquire(DA, 3).outcome, OUTCOME_YES);
	back.attempt = 3;
	ck_assert_int_eq(run_call(DA, back).outcome, OUTCOME_YES);
	ck_assert_int_eq(acquire(DB, 9).position, 2);
}

ON_BOTH(who_comes_stands_behind_one_that_went_ahead_of_the_first)
{
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	/* As after some turns for nothing: each of them stands one before the first. */
	stage_do(&stage, "return redis.call('ZADD', KEYS[1], '-7', '" B "')", "hf:{a}:q");
	ck_assert_int_eq(acquire(DC, 1).position, 2);
	ck_assert_int_eq(acquire(DC, 1).position, 2);
	ck_assert_int_eq(acquire(DB, 1).position, 1);
}

ON_BOTH(one_try_does_not_queue_and_does_not_jump_the_queue)
{
	open_master();
	struct call once = acquire_of("a", 9);
	once.queue_ms = 0;
	acquire(DA, 1);
	struct vote v = run_call(DB, once);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert_int_eq(v.position, 0);
	acquire(DC, 1);
	simple(DA, CALL_RELEASE, 1);
	ck_assert_int_eq(run_call(DB, once).outcome, OUTCOME_BUSY);
	ck_assert_int_eq(acquire(DC, 1).outcome, OUTCOME_YES);
}

ON_BOTH(a_head_that_does_not_come_goes_to_the_end)
{
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	acquire(DC, 1);
	simple(DA, CALL_RELEASE, 1);
	stage_wait_ms(&stage, 310);
	(void)stage_heard(&stage);
	struct vote v = acquire(DC, 1);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.position, 1);
	ck_assert_int_eq(acquire(DB, 1).position, 1);
}

/* The clock stepped back after the head was called, and the head is gone. */
ON_BOTH(a_head_is_waited_for_no_longer_when_the_clock_stepped_back)
{
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	acquire(DC, 1);
	simple(DA, CALL_RELEASE, 1);
	stage_do(&stage,
		"local daemon, till = string.match(redis.call('HGET', KEYS[1], 'claim'), '^(%x+) (%d+)$') "
		"return redis.call('HSET', KEYS[1], 'claim', string.format('%s %.0f', daemon, till + "
		"20000000))",
		"hf:{a}:w");
	ck_assert_int_eq(acquire(DC, 1).outcome, OUTCOME_BUSY);
	stage_wait_ms(&stage, 310);
	ck_assert_int_eq(acquire(DC, 1).outcome, OUTCOME_YES);
}

ON_BOTH(a_lock_that_ran_out_is_kept_for_the_head_too)
{
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	/* Not before who comes second is in the queue, however slow the machine is. */
	stage_do(&stage, "return redis.call('PEXPIRE', KEYS[1], 1)", "hf:{a}");
	stage_wait_ms(&stage, 20);
	(void)stage_heard(&stage);
	ck_assert_int_eq(acquire(DC, 1).outcome, OUTCOME_BUSY);
	ck_assert_str_eq(stage_heard(&stage), "b:wake a;");
	ck_assert_int_eq(acquire(DB, 1).outcome, OUTCOME_YES);
}

ON_BOTH(a_place_that_is_not_refreshed_ends)
{
	open_master();
	acquire(DA, 1);
	struct call brief = acquire_of("a", 1);
	brief.queue_ms = 20;
	run_call(DB, brief);
	acquire(DC, 1);
	stage_wait_ms(&stage, 40);
	(void)stage_heard(&stage);
	simple(DA, CALL_RELEASE, 1);
	ck_assert_str_eq(stage_heard(&stage), "c:wake a;");
	ck_assert_int_eq(acquire(DC, 1).outcome, OUTCOME_YES);
}

ON_BOTH(leaving_calls_the_next_head_of_a_free_lock)
{
	open_master();
	acquire(DA, 1);
	acquire(DB, 1);
	acquire(DC, 1);
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(simple(DC, CALL_LEAVE, 1).outcome, OUTCOME_YES);
	acquire(DC, 1);
	(void)stage_heard(&stage);
	simple(DA, CALL_RELEASE, 1);
	simple(DB, CALL_LEAVE, 1);
	ck_assert_str_eq(stage_heard(&stage), "b:wake a;c:wake a;");
	acquire(DC, 1);
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}:q"), -2);
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}:w"), -2);
}

ON_BOTH(names_of_one_command_answer_for_themselves)
{
	struct call calls[3] = {acquire_of("a", 1), acquire_of("b", 2), acquire_of("c", 3)};
	struct vote votes[3];
	open_master();
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'f', 'v')", "hf:{b}");
	for (int i = 0; i < 3; i++)
		calls[i].incarnation = INCARNATION;
	stage_calls(&stage, &daemons[DA], calls, 3, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_WRONGKIND);
	ck_assert_int_eq(votes[2].outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "hf:{c}"), A ":3");
	ck_assert_str_eq(stage_get(&stage, "hf:{b}:f"), "");
	calls[1].op = CALL_RENEW;
	stage_calls(&stage, &daemons[DA], &calls[1], 1, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_WRONGKIND);
}

ON_BOTH(names_that_somebody_waits_for_end_among_others_as_alone)
{
	struct call calls[4];
	struct vote votes[4];
	open_master();
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"a", "b", "c", "d"};
		calls[i] = acquire_of(names[i], (uint64_t)i + 1);
		calls[i].incarnation = INCARNATION;
	}
	stage_calls(&stage, &daemons[DA], calls, 3, votes);
	run_call(DB, acquire_of("b", 1));
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'f', 'v')", "hf:{d}");
	(void)stage_heard(&stage);
	for (int i = 0; i < 4; i++)
		calls[i].op = CALL_RENEW;
	stage_calls(&stage, &daemons[DA], calls, 4, votes);
	ck_assert_int_eq(votes[0].position, 0);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].position, 1);
	ck_assert_int_gt(votes[1].token_first, votes[0].token_last);
	ck_assert_int_eq(votes[3].outcome, OUTCOME_WRONGKIND);
	for (int i = 0; i < 4; i++) {
		calls[i].op = CALL_RELEASE;
		calls[i].queue_ms = 0;
	}
	calls[2].attempt = 9;
	stage_calls(&stage, &daemons[DA], calls, 4, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
	ck_assert_int_gt(votes[0].time_us, 0);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[2].outcome, OUTCOME_NO);
	ck_assert_int_eq(votes[3].outcome, OUTCOME_WRONGKIND);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "");
	ck_assert_str_eq(stage_get(&stage, "hf:{b}"), "");
	ck_assert_str_eq(stage_get(&stage, "hf:{c}"), A ":3");
	ck_assert_str_eq(stage_heard(&stage), "b:wake b;");
	/* The free name that is kept for another is not taken along with those that nobody waits for. */
	struct call some[3] = {acquire_of("a", 5), acquire_of("b", 6), acquire_of("e", 7)};
	for (int i = 0; i < 3; i++)
		some[i].incarnation = INCARNATION;
	stage_calls(&stage, &daemons[DC], some, 3, votes);
	ck_assert_int_eq(votes[0].outcome, OUTCOME_YES);
	ck_assert_int_eq(votes[1].outcome, OUTCOME_BUSY);
	ck_assert_int_eq(votes[2].outcome, OUTCOME_YES);
}

ON_BOTH(a_release_tells_the_time_where_an_acquire_may_be_under_way)
{
	struct call release = {.op = CALL_RELEASE, .attempt = 1, .name = SLICE("a")};
	open_master();
	acquire(DA, 1);
	struct vote v = run_call(DA, release);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_eq(v.time_us, 0);
	acquire(DA, 2);
	release.attempt = 2;
	release.deadline_us = 1;
	v = run_call(DA, release);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_gt(v.time_us, 0);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "");
	v = run_call(DA, release);
	ck_assert_int_eq(v.outcome, OUTCOME_NO);
	ck_assert_int_gt(v.time_us, 0);
	/* What it does not hold any more it does not hold either where nobody asked. */
	release.deadline_us = 0;
	ck_assert_int_eq(run_call(DA, release).outcome, OUTCOME_NO);
}

ON_BOTH(messages_carry_the_name_as_it_is)
{
	struct call call = acquire_of("50% {of} %25", 1);
	open_master();
	run_call(DA, call);
	run_call(DB, call);
	call.op = CALL_RELEASE;
	call.queue_ms = 0;
	run_call(DA, call);
	ck_assert_str_eq(stage_heard(&stage), "a:want 50% {of} %25;b:wake 50% {of} %25;");
}

ON_BOTH(foreign_locks_are_respected_and_never_cut_short)
{
	open_master();
	struct call call = acquire_of("x", 1);
	call.key = "lock:%";
	stage_do(&stage, "return redis.call('SET', KEYS[1], 'somebody')", "lock:x");
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert_int_eq(stage_ttl_ms(&stage, "lock:x"), -1);
	stage_do(&stage, "return redis.call('SET', KEYS[1], 'somebody', 'PX', 99000000)", "lock:x");
	run_call(DA, call);
	ck_assert_int_gt(stage_ttl_ms(&stage, "lock:x"), 90000000);
	ck_assert_str_eq(stage_heard(&stage), "");
}

ON_BOTH(a_lease_of_ours_that_lives_too_long_is_cut_short)
{
	open_master();
	stage_do(&stage, "return redis.call('SET', KEYS[1], '" B ":1', 'PX', 99000000)", "hf:{a}");
	struct vote v = acquire(DA, 1);
	ck_assert_int_eq(v.change_ms, TTL_MS);
	ck_assert_int_le(stage_ttl_ms(&stage, "hf:{a}"), TTL_MS);
	stage_do(&stage, "return redis.call('PERSIST', KEYS[1])", "hf:{a}");
	acquire(DA, 1);
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}"), 0);
}

/* The same for an RLock. One of a client of Redisson lives as long as it is told to. */
ON_BOTH(an_rlock_of_ours_that_lives_too_long_is_cut_short)
{
	struct call call = acquire_of("a", 1);
	open_master();
	call.interop = INTEROP_REDISSON;
	ck_assert_int_eq(run_call(DB, call).outcome, OUTCOME_YES);
	stage_do(&stage, "return redis.call('PEXPIRE', KEYS[1], 99000000)", "a");
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.outcome, OUTCOME_BUSY);
	ck_assert_int_eq(v.change_ms, TTL_MS);
	int64_t left_ms = stage_ttl_ms(&stage, "a");
	ck_assert_msg(left_ms > 0 && left_ms <= TTL_MS, "%lld", (long long)left_ms);
	stage_do(&stage, "return redis.call('PERSIST', KEYS[1])", "a");
	ck_assert_int_eq(run_call(DA, call).change_ms, TTL_MS);
	ck_assert_int_gt(stage_ttl_ms(&stage, "a"), 0);
	stage_wait_ms(&stage, TTL_MS + 1);
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES);
	stage_do(&stage,
		"redis.call('DEL', KEYS[1]) "
		"redis.call('HSET', KEYS[1], '285475da-9152-4c83-822a-67ee2f116a79:52', 1) "
		"return redis.call('PEXPIRE', KEYS[1], 99000000)",
		"a");
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_BUSY);
	ck_assert_int_gt(stage_ttl_ms(&stage, "a"), 90000000);
}

ON_BOTH(an_rlock_gets_tokens_above_its_counter_and_raises_it)
{
	struct call call = acquire_of("a", 1);
	open_master();
	call.interop = INTEROP_REDISSON;
	stage_do(&stage, "return redis.call('SET', KEYS[1], '1770000000000000')", "redisson_lock_token:{a}");
	struct vote v = run_call(DA, call);
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, INT64_C(1770000000000000));
	ck_assert_int_eq(strtoll(stage_get(&stage, "redisson_lock_token:{a}"), NULL, 10), v.token_last);
}

ON_BOTH(a_reclaim_brings_a_lease_back_and_beats_the_dead)
{
	open_master();
	int64_t last = acquire(DA, 1).token_last;
	stage_flush(&stage);
	hello(DA, 0xdef);
	stage_do(&stage, "return redis.call('SET', KEYS[1], '" C ":9', 'PX', 9000)", "hf:{a}");
	struct call call = {.op = CALL_RECLAIM,
		.name = SLICE("a"),
		.attempt = 1,
		.incarnation = 0xdef,
		.ttl_ms = TTL_MS,
		.deadline_us = FOREVER_US,
		.token = last};
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), A ":1");
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES);
	ck_assert_int_eq(run_call(DB, call).outcome, OUTCOME_NO);
	call.name = SLICE("b");
	call.deadline_us = 1;
	ck_assert_int_eq(run_call(DB, call).outcome, OUTCOME_LATE);
	admit(DA, 0xdef, 1);
	struct vote v = run_call(DB, (struct call){.op = CALL_HELLO, .incarnation = 1});
	ck_assert_int_gt(v.highest, last);
	call.deadline_us = FOREVER_US;
	ck_assert_int_eq(run_call(DB, call).outcome, OUTCOME_FORGOTTEN);
	call.op = CALL_RENEW;
	call.name = SLICE("a");
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_YES);
}

ON_BOTH(of_two_that_reclaim_the_newer_lease_stays_whoever_comes_first)
{
	hello(DA, INCARNATION);
	struct call older = {.op = CALL_RECLAIM, .name = SLICE("a"), .attempt = 1, .ttl_ms = TTL_MS};
	older.deadline_us = FOREVER_US;
	older.newest = 10;
	struct call newer = older;
	newer.newest = 20;
	ck_assert_int_eq(run_call(DA, older).outcome, OUTCOME_YES);
	ck_assert_int_eq(run_call(DB, newer).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), B ":1");
	ck_assert_int_eq(run_call(DA, older).outcome, OUTCOME_NO);
	ck_assert_int_eq(run_call(DC, newer).outcome, OUTCOME_NO);
	ck_assert_int_eq(run_call(DB, newer).outcome, OUTCOME_YES);
}

ON_BOTH(a_reclaim_does_not_take_a_foreign_lock)
{
	hello(DA, INCARNATION);
	stage_do(&stage, "return redis.call('SET', KEYS[1], 'somebody')", "hf:{a}");
	ck_assert_int_eq(simple(DA, CALL_RECLAIM, 1).outcome, OUTCOME_NO);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "somebody");
}

ON_BOTH(a_lease_can_be_released_while_the_master_is_guarded)
{
	hello(DA, INCARNATION);
	ck_assert_int_eq(simple(DA, CALL_RECLAIM, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_YES);
}

ON_BOTH(a_full_master_keeps_and_releases_but_does_not_grant)
{
	open_master();
	acquire(DA, 1);
	stage_full(&stage, true);
	struct vote v = run_call(DA, acquire_of("b", 2));
	ck_assert_int_eq(v.outcome, OUTCOME_ERROR);
	ck_assert(v.text.n > 3 && memcmp(v.text.p, "OOM", 3) == 0);
	ck_assert_int_eq(simple(DA, CALL_RENEW, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(hello(DA, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(simple(DA, CALL_RELEASE, 1).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "hf:{a}"), "");
	stage_full(&stage, false);
	ck_assert_str_eq(stage_get(&stage, "hf:{b}"), "");
}

static struct call
with_python_redis_lock(struct call call)
{
	call.key = "lock:%";
	call.interop = INTEROP_PYTHON_REDIS_LOCK;
	return call;
}

/* The store of the simulator has no lists. */
START_TEST(a_release_wakes_a_waiter_of_python_redis_lock_and_the_head_of_the_queue)
{
	struct call release = with_python_redis_lock((struct call){.op = CALL_RELEASE, .name = SLICE("a")});
	stage_init(&stage, true);
	open_master();
	run_call(DA, with_python_redis_lock(acquire_of("a", 1)));
	run_call(DB, with_python_redis_lock(acquire_of("a", 1)));
	ck_assert_str_eq(stage_get(&stage, "lock:a"), A ":1");
	(void)stage_heard(&stage);
	ck_assert_int_eq(run_call(DB, release).outcome, OUTCOME_NO);
	release.attempt = 2;
	ck_assert_int_eq(run_call(DA, release).outcome, OUTCOME_NO);
	ck_assert_int_lt(stage_ttl_ms(&stage, "lock-signal:a"), 0);
	release.attempt = 1;
	ck_assert_int_eq(run_call(DA, release).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "lock:a"), "");
	ck_assert_int_gt(stage_ttl_ms(&stage, "lock-signal:a"), 0);
	ck_assert_int_le(stage_ttl_ms(&stage, "lock-signal:a"), 1000);
	ck_assert_str_eq(stage_heard(&stage), "b:wake a;");
	stage_done(&stage);
}
END_TEST

START_TEST(a_full_master_releases_a_lock_of_python_redis_lock)
{
	struct call release = {.op = CALL_RELEASE, .name = SLICE("a"), .attempt = 1};
	stage_init(&stage, true);
	open_master();
	run_call(DA, with_python_redis_lock(acquire_of("a", 1)));
	stage_full(&stage, true);
	ck_assert_int_eq(run_call(DA, with_python_redis_lock(release)).outcome, OUTCOME_YES);
	ck_assert_str_eq(stage_get(&stage, "lock:a"), "");
	stage_full(&stage, false);
	stage_done(&stage);
}
END_TEST

ON_BOTH(a_full_master_takes_reclaims_and_is_admitted)
{
	hello(DA, INCARNATION);
	stage_full(&stage, true);
	ck_assert_int_eq(simple(DA, CALL_RECLAIM, 1).outcome, OUTCOME_YES);
	ck_assert_int_eq(admit(DA, INCARNATION, 1).outcome, OUTCOME_YES);
	stage_full(&stage, false);
}

START_TEST(a_server_that_cannot_be_used_is_named_and_not_touched)
{
	stage_init(&stage, true);
	redis_run(&stage.redis, "CONFIG SET maxmemory-policy volatile-lru");
	ck_assert_int_eq(hello(DA, 1).hello, HELLO_EVICTING);
	redis_run(&stage.redis, "CONFIG SET maxmemory-policy noeviction");
	redis_run(&stage.redis, "REPLICAOF 127.0.0.1 1");
	ck_assert_int_eq(hello(DA, 1).hello, HELLO_REPLICA);
	ck_assert_int_eq(redis_integer(&stage.redis, "DBSIZE"), 0);
	redis_run(&stage.redis, "REPLICAOF NO ONE");
	ck_assert_int_eq(hello(DA, 1).hello, HELLO_GOOD);
	ck_assert_int_eq(admit(DA, 1, 1).outcome, OUTCOME_YES);
	redis_run(&stage.redis, "REPLICAOF 127.0.0.1 1");
	struct call call = acquire_of("a", 1);
	call.incarnation = 1;
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_DEMOTED);
	stage_done(&stage);
}
END_TEST

START_TEST(a_failover_changes_the_identity)
{
	stage_init(&stage, true);
	open_master();
	redis_run(&stage.redis, "REPLICAOF 127.0.0.1 1");
	redis_run(&stage.redis, "REPLICAOF NO ONE");
	struct vote v = hello(DA, 0xdef);
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
	stage_done(&stage);
}
END_TEST

/* As for a first replica: no data came from elsewhere. */
ON_BOTH(a_new_replication_id_alone_is_no_loss)
{
	open_master();
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'replid', 'x')", "hf:node");
	struct vote v = hello(DA, 0xdef);
	ck_assert_uint_eq(v.incarnation, INCARNATION);
	ck_assert(v.admitted);
	stage_do(
		&stage, "return redis.call('SET', 'said', redis.call('HGET', KEYS[1], 'replid'))", "hf:node");
	ck_assert_str_ne(stage_get(&stage, "said"), "x");
	/* It has read data of another server since. */
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'replid', 'x', 'received', '7')", "hf:node");
	v = hello(DA, 0xdef);
	ck_assert_uint_eq(v.incarnation, 0xdef);
	ck_assert(!v.admitted);
}

ON_BOTH(a_clock_out_of_range_is_refused_and_leaves_no_memory)
{
	int64_t wall_us = stage.wall_us;
	const int64_t wrong[] = {INT64_C(1) << 52, INT64_C(1) << 53, INT64_C(1) << 54, -INT64_C(1000000000)};

	open_master();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		stage.wall_us = wrong[i];
		struct vote v = hello(DA, 0xbad);
		ck_assert_int_eq(v.outcome, OUTCOME_YES);
		ck_assert_int_eq(v.hello, HELLO_CLOCK);
		ck_assert_int_eq(v.highest, 0);
		ck_assert_int_eq(v.time_us, 0);
		/* Keys may have run out by that clock. */
		stage.wall_us = wall_us += 1000000;
		v = hello(DA, 0xdef + i);
		ck_assert_int_eq(v.hello, HELLO_GOOD);
		ck_assert_uint_eq(v.incarnation, 0xdef + i);
		ck_assert(!v.admitted);
		ck_assert_int_lt(v.highest, INT64_C(1) << 52);
	}
}

START_TEST(the_sha1_is_that_of_the_text)
{
	stage_init(&stage, true);
	for (size_t i = 0; i < SCRIPT_COUNT; i++) {
		struct slice args[] = {SLICE("return redis.sha1hex(ARGV[1])"), SLICE("0"),
			{scripts[i].text, scripts[i].length}};
		redisReply *reply = stage_eval(&stage, 3, args);
		ck_assert_str_eq(reply->str, scripts[i].sha1);
		freeReplyObject(reply);
	}
	stage_done(&stage);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("script", NULL, NULL, a_new_master_is_guarded_until_it_is_admitted,
		admitting_raises_the_floor_above_every_clock_and_token_and_only_once,
		a_flushed_master_refuses_all_scripts_of_before, a_restarted_master_is_another_one,
		a_changed_identity_opens_a_guard_and_keeps_the_tokens,
		a_memory_that_went_back_takes_no_call_of_who_knows_better,
		a_memory_that_went_back_is_guarded_as_another_one,
		a_clock_has_jumped_when_most_daemons_say_so, the_only_daemon_is_believed_that_a_clock_jumped,
		a_trusted_master_is_admitted_at_once, who_says_that_it_ends_is_registered_no_longer,
		daemons_of_another_format_are_refused_while_one_of_them_lives,
		other_limits_are_refused_while_somebody_lives_by_them,
		a_refused_daemon_that_was_told_more_shows_that_the_memory_went_back,
		a_longer_lease_is_taken_when_all_guards_wait_for_it, the_longest_lease_is_that_of_the_living,
		a_guard_waits_for_the_longest_lease_that_any_daemon_knows_of,
		a_refused_daemon_is_told_for_which_lease_to_wait,
		who_slept_through_a_change_of_limits_is_not_listened_to, a_lease_is_taken_kept_and_given_back,
		an_attempt_that_has_the_lease_gets_it_again_with_other_tokens,
		a_lease_of_another_attempt_of_its_own_daemon_is_in_its_way,
		of_two_copies_of_a_daemon_the_second_is_told, a_server_that_tells_no_identity_is_refused,
		a_master_that_has_evicted_keys_is_one_that_forgot,
		who_leaves_late_does_not_take_a_newer_place_along, only_the_owner_touches_a_lease,
		a_late_acquire_refuses_itself, tokens_are_strictly_above_all_before,
		the_highest_token_is_kept_whatever_was_proposed, the_names_of_a_command_share_out_the_tokens,
		a_fenced_name_counts_for_itself_and_goes_on_above_all_without_its_counter,
		names_have_counters_while_more_than_one_daemon_takes_tokens,
		another_kind_of_key_gives_way_to_a_counter,
		what_fenced_names_leave_behind_does_not_depend_on_their_order,
		fenced_names_of_a_command_have_each_its_own_proposal,
		a_counter_at_its_end_grants_nothing_more,
		names_that_somebody_waits_for_end_among_others_as_alone,
		a_release_tells_the_time_where_an_acquire_may_be_under_way, messages_carry_the_name_as_it_is,
		renewing_may_reserve_tokens, a_call_with_a_shorter_term_ends_no_lease_earlier,
		a_lease_that_would_outlive_all_terms_is_cut_short_when_it_is_renewed,
		lifetimes_out_of_range_are_refused, names_of_one_command_have_each_its_own_terms,
		who_waits_is_queued_and_the_holder_is_told, who_had_its_turn_for_nothing_has_it_again,
		who_comes_stands_behind_one_that_went_ahead_of_the_first,
		one_try_does_not_queue_and_does_not_jump_the_queue, a_head_that_does_not_come_goes_to_the_end,
		a_head_is_waited_for_no_longer_when_the_clock_stepped_back,
		a_lock_that_ran_out_is_kept_for_the_head_too, a_place_that_is_not_refreshed_ends,
		leaving_calls_the_next_head_of_a_free_lock, names_of_one_command_answer_for_themselves,
		foreign_locks_are_respected_and_never_cut_short,
		a_lease_of_ours_that_lives_too_long_is_cut_short,
		an_rlock_of_ours_that_lives_too_long_is_cut_short,
		an_rlock_gets_tokens_above_its_counter_and_raises_it,
		a_reclaim_brings_a_lease_back_and_beats_the_dead,
		of_two_that_reclaim_the_newer_lease_stays_whoever_comes_first,
		a_reclaim_does_not_take_a_foreign_lock, a_lease_can_be_released_while_the_master_is_guarded,
		a_full_master_keeps_and_releases_but_does_not_grant,
		a_release_wakes_a_waiter_of_python_redis_lock_and_the_head_of_the_queue,
		a_full_master_releases_a_lock_of_python_redis_lock,
		a_full_master_takes_reclaims_and_is_admitted,
		a_server_that_cannot_be_used_is_named_and_not_touched, a_failover_changes_the_identity,
		a_new_replication_id_alone_is_no_loss, a_clock_out_of_range_is_refused_and_leaves_no_memory,
		the_sha1_is_that_of_the_text);
}
