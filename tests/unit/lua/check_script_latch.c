/*
 * Tests of lua/latch.lua: a latch at a master, on a real server and, to the letter, on the simulated one.
 */
#include "tests/sim/world/stage.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREVER_US  INT64_C(9000000000000000)
#define DAY_MS      86400000
#define INCARNATION 0xabc
#define A           "a1234567890123456789012345678901"
#define B           "b1234567890123456789012345678901"

static struct stage stage;
static const struct call_settings daemons[] = {
	{.namespace_ = "hf", .daemon_id = A, .margin_ms = 1000, .layout = "x"},
	{.namespace_ = "hf", .daemon_id = B, .margin_ms = 1000, .layout = "x"},
};
enum { DA, DB };

/* Each test is run once on each kind of server. */
#define ON_BOTH(name)                                                                                        \
	static void name##_on(void);                                                                         \
	START_TEST(name)                                                                                     \
	{                                                                                                    \
		for (int i = 0; i < 2; i++) {                                                                \
			stage_init(&stage, i == 0);                                                          \
			open_master(INCARNATION);                                                            \
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

static void
open_master(uint64_t incarnation)
{
	run_call(DA, (struct call){.op = CALL_HELLO, .incarnation = incarnation});
	struct vote v = run_call(DA, (struct call){.op = CALL_ADMIT, .incarnation = incarnation, .token = 1});
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
}

static struct call
call_of(enum latch_op op, const char *name)
{
	return (struct call){.op = CALL_LATCH, .latch_op = op, .name = slice_of(name)};
}

static struct vote
set(int daemon, uint64_t id, int64_t steps, int64_t lease_ms)
{
	struct call call = call_of(LATCH_OP_SET, "a");
	call.latch = id;
	call.steps = steps;
	call.ttl_ms = lease_ms;
	call.deadline_us = FOREVER_US;
	return run_call(daemon, call);
}

static struct vote
down(int daemon, uint64_t id, uint64_t session, int64_t steps)
{
	struct call call = call_of(LATCH_OP_DOWN, "a");
	call.latch = id;
	call.session = session;
	call.steps = steps;
	return run_call(daemon, call);
}

static struct vote
look(int daemon, int64_t watch_ms)
{
	struct call call = call_of(LATCH_OP_LOOK, "a");
	call.queue_ms = watch_ms;
	return run_call(daemon, call);
}

static void
is(struct vote v, uint64_t id, int64_t count, int64_t left)
{
	ck_assert_int_eq(v.outcome, OUTCOME_YES);
	ck_assert_uint_eq(v.latch.id, id);
	ck_assert_int_eq(v.latch.set, count);
	ck_assert_int_eq(v.latch.left, left);
	ck_assert_int_gt(v.latch.ttl_ms, 0);
}

static void
is_none(struct vote v, uint64_t remembered)
{
	ck_assert_int_eq(v.outcome, OUTCOME_NO);
	ck_assert_uint_eq(v.latch.id, remembered);
}

ON_BOTH(a_latch_is_set_once_and_who_set_it_knows_it_again)
{
	is_none(look(DA, 0), 0);
	is(set(DA, 7, 3, 0), 7, 3, 3);
	is(set(DA, 7, 3, 0), 7, 3, 3);
	is(set(DB, 8, 5, 1000), 7, 3, 3);
	is(look(DB, 0), 7, 3, 3);
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}:l"), DAY_MS - 60000);
}

ON_BOTH(each_counts_down_as_the_most_that_it_has_said)
{
	struct call call;
	set(DA, 7, 10, 0);
	is(down(DA, 7, 1, 2), 7, 10, 8);
	is(down(DA, 7, 1, 2), 7, 10, 8);
	is(down(DA, 7, 1, 1), 7, 10, 8);
	is(down(DA, 7, 1, 3), 7, 10, 7);
	is(down(DA, 7, 2, 1), 7, 10, 6);
	is(down(DB, 7, 1, 1), 7, 10, 5);
	call = call_of(LATCH_OP_DOWN, "a");
	call.latch = 7;
	call.session = 1;
	call.steps = 1;
	call.tag = SLICE("t:1");
	is(run_call(DA, call), 7, 10, 4);
	is(run_call(DA, call), 7, 10, 4);
	is(down(DB, 7, 9, 100), 7, 10, 0);
	is(down(DA, 7, 9, 1), 7, 10, 0);
	is(look(DA, 0), 7, 10, 0);
}

ON_BOTH(nobody_counts_down_what_is_not_there)
{
	is_none(down(DA, 7, 1, 1), 0);
	is_none(look(DA, 3000), 0);
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}:l"), -2);
}

ON_BOTH(a_late_copy_counts_nothing_down_but_the_latch_it_was_meant_for)
{
	set(DA, 7, 3, 0);
	is(down(DA, 6, 1, 1), 7, 3, 3);
	is(look(DA, 0), 7, 3, 3);
}

ON_BOTH(a_set_that_comes_late_refuses_itself_unless_it_has_nothing_to_do)
{
	struct call call = call_of(LATCH_OP_SET, "a");
	call.latch = 7;
	call.steps = 3;
	call.deadline_us = 1;
	ck_assert_int_eq(run_call(DA, call).outcome, OUTCOME_LATE);
	is_none(look(DA, 0), 0);
	set(DA, 7, 3, 0);
	is(run_call(DA, call), 7, 3, 3);
}

ON_BOTH(who_waits_is_told_once_when_it_is_set_and_when_it_opens)
{
	is_none(look(DA, 3000), 0);
	is_none(look(DB, 3000), 0);
	ck_assert_str_eq(stage_heard(&stage), "");
	/* Whoever asks has his answer. */
	set(DA, 7, 2, 0);
	ck_assert_str_eq(stage_heard(&stage), "b:latch a;");
	is(look(DB, 3000), 7, 2, 2);
	is(look(DB, 3000), 7, 2, 2);
	down(DA, 7, 1, 1);
	ck_assert_str_eq(stage_heard(&stage), "");
	down(DA, 7, 2, 1);
	ck_assert_str_eq(stage_heard(&stage), "b:latch a;");
	down(DA, 7, 3, 1);
	is(look(DB, 3000), 7, 2, 0);
	ck_assert_str_eq(stage_heard(&stage), "");
	ck_assert_int_eq(stage_ttl_ms(&stage, "hf:{a}:lw"), -2);
}

ON_BOTH(who_does_not_look_again_is_not_told)
{
	look(DB, 20);
	ck_assert_int_le(stage_ttl_ms(&stage, "hf:{a}:lw"), 20);
	stage_wait_ms(&stage, 30);
	look(DA, 3000);
	set(DA, 7, 1, 0);
	ck_assert_str_eq(stage_heard(&stage), "");
}

ON_BOTH(any_name_is_told_as_it_is)
{
	struct call call = call_of(LATCH_OP_LOOK, "50%}x:l");
	call.queue_ms = 1000;
	is_none(run_call(DB, call), 0);
	call.latch_op = LATCH_OP_SET;
	call.latch = 7;
	call.steps = 1;
	call.deadline_us = FOREVER_US;
	is(run_call(DA, call), 7, 1, 1);
	ck_assert_str_eq(stage_heard(&stage), "b:latch 50%}x:l;");
}

ON_BOTH(a_lease_ends_the_latch_at_its_time_used_or_not)
{
	ck_assert_int_le(set(DA, 7, 3, 200).latch.ttl_ms, 200);
	ck_assert_int_le(down(DA, 7, 1, 1).latch.ttl_ms, 200);
	ck_assert_int_le(look(DA, 3000).latch.ttl_ms, 200);
	ck_assert_int_le(stage_ttl_ms(&stage, "hf:{a}:l"), 200);
	stage_wait_ms(&stage, 210);
	is_none(look(DA, 0), 0);
	is(set(DB, 8, 3, 0), 8, 3, 3);
}

ON_BOTH(without_a_lease_each_use_gives_it_another_day)
{
	static const char shorten[] = "return redis.call('PEXPIRE', KEYS[1], 5000)";
	set(DA, 7, 3, 0);
	stage_do(&stage, shorten, "hf:{a}:l");
	ck_assert_int_eq(down(DA, 7, 1, 1).latch.ttl_ms, DAY_MS);
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}:l"), DAY_MS - 60000);
	stage_do(&stage, shorten, "hf:{a}:l");
	ck_assert_int_eq(look(DA, 0).latch.ttl_ms, DAY_MS);
	ck_assert_int_gt(stage_ttl_ms(&stage, "hf:{a}:l"), DAY_MS - 60000);
}

/* Restored from an old copy it may lack what was counted since. */
ON_BOTH(a_latch_of_another_memory_of_the_master_does_not_count)
{
	struct call call = call_of(LATCH_OP_LOOK, "a");
	set(DA, 7, 3, 0);
	down(DA, 7, 1, 2);
	look(DB, 3000);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	open_master(0xdef);
	ck_assert_int_eq(look(DA, 0).outcome, OUTCOME_FORGOTTEN);
	call.incarnation = 0xdef;
	is_none(run_call(DA, call), 7);
	call.latch_op = LATCH_OP_DOWN;
	call.latch = 7;
	call.steps = 1;
	is_none(run_call(DA, call), 7);
	call.latch_op = LATCH_OP_SET;
	call.latch = 8;
	call.steps = 4;
	call.deadline_us = FOREVER_US;
	is(run_call(DA, call), 8, 4, 4);
	ck_assert_str_eq(stage_heard(&stage), "b:latch a;");
}

ON_BOTH(a_guarded_master_does_nothing)
{
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'admitted', '0')", "hf:node");
	ck_assert_int_eq(set(DA, 7, 3, 0).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(down(DA, 7, 1, 1).outcome, OUTCOME_FORGOTTEN);
	ck_assert_int_eq(look(DA, 3000).outcome, OUTCOME_FORGOTTEN);
}

ON_BOTH(what_is_no_latch_is_left_alone)
{
	static const char *const makers[] = {"return redis.call('SET', KEYS[1], 'x')",
		"return redis.call('HSET', KEYS[1], 'set', 'x')",
		"return redis.call('HSET', KEYS[1], 'id', 'x', 'set', 'nan', 'done', '0')"};
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		stage_do(&stage, makers[i], "hf:{a}:l");
		ck_assert_int_eq(set(DA, 7, 3, 0).outcome, OUTCOME_WRONGKIND);
		ck_assert_int_eq(down(DA, 7, 1, 1).outcome, OUTCOME_WRONGKIND);
		ck_assert_int_eq(look(DA, 3000).outcome, OUTCOME_WRONGKIND);
		stage_do(&stage, "return redis.call('DEL', KEYS[1])", "hf:{a}:l");
	}
}

ON_BOTH(a_full_master_counts_down_and_sets_nothing_new)
{
	set(DA, 7, 2, 0);
	stage_full(&stage, true);
	is(look(DB, 3000), 7, 2, 2);
	is(down(DA, 7, 1, 1), 7, 2, 1);
	is(down(DA, 7, 2, 1), 7, 2, 0);
	stage_full(&stage, false);
	stage_do(&stage, "return redis.call('DEL', KEYS[1])", "hf:{a}:l");
	stage_full(&stage, true);
	is_none(look(DB, 3000), 0);
	ck_assert_int_eq(set(DA, 7, 2, 0).outcome, OUTCOME_ERROR);
	is_none(look(DB, 3000), 0);
	stage_full(&stage, false);
}

ON_BOTH(many_latches_share_a_command)
{
	struct call calls[3] = {
		call_of(LATCH_OP_SET, "a"), call_of(LATCH_OP_DOWN, "a"), call_of(LATCH_OP_LOOK, "b")};
	struct vote votes[3];
	for (int i = 0; i < 3; i++) {
		calls[i].incarnation = INCARNATION;
		calls[i].latch = 7;
		calls[i].steps = 2 - i;
	}
	calls[0].deadline_us = FOREVER_US;
	stage_calls(&stage, &daemons[DA], calls, 3, votes);
	is(votes[0], 7, 2, 2);
	is(votes[1], 7, 2, 1);
	is_none(votes[2], 0);
}

int
main(void)
{
	return SUITE_RUN("script_latch", NULL, NULL, a_latch_is_set_once_and_who_set_it_knows_it_again,
		each_counts_down_as_the_most_that_it_has_said, nobody_counts_down_what_is_not_there,
		a_late_copy_counts_nothing_down_but_the_latch_it_was_meant_for,
		a_set_that_comes_late_refuses_itself_unless_it_has_nothing_to_do,
		who_waits_is_told_once_when_it_is_set_and_when_it_opens, who_does_not_look_again_is_not_told,
		any_name_is_told_as_it_is, a_lease_ends_the_latch_at_its_time_used_or_not,
		without_a_lease_each_use_gives_it_another_day,
		a_latch_of_another_memory_of_the_master_does_not_count, a_guarded_master_does_nothing,
		what_is_no_latch_is_left_alone, a_full_master_counts_down_and_sets_nothing_new,
		many_latches_share_a_command);
}
