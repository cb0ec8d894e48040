/*
 * Tests of the scripts of lua/ by which a lease changes its owner after a crash: adopt, group_adopt,
 * redisson_adopt, and what the reclaims know of previous owners; on a real server and, to the letter, on the
 * simulated one.
 */
#include "tests/sim/world/callers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "hf:{a}"

static void
is(struct vote v, enum outcome outcome)
{
	ck_assert_msg(v.outcome == outcome, "outcome %d, not %d: %.*s", v.outcome, outcome, (int)v.text.n,
		v.text.n > 0 ? v.text.p : "");
}

/* What this daemon says with attempt 2 of a lease that previous owners had. */
static struct call
adopt_of(const char *previous)
{
	struct call call = callers_call(CALL_ADOPT, "a", 2);

	call.previous = slice_of(previous);
	return call;
}

static struct call
shared(struct call call)
{
	call.kind = KIND_SHARED;
	return call;
}

static struct call
redisson(struct call call)
{
	call.interop = INTEROP_REDISSON;
	return call;
}

/* Acquires with attempt 1. */
static struct vote
takes(struct stage *stage, int daemon, struct call call)
{
	struct vote v;

	call.op = CALL_ACQUIRE;
	call.attempt = 1;
	call.block = 10;
	call.queue_ms = 3000;
	v = callers_say(stage, daemon, call);
	is(v, OUTCOME_YES);
	return v;
}

static struct vote
writes(struct stage *stage, int daemon)
{
	return takes(stage, daemon, callers_call(CALL_ACQUIRE, "a", 1));
}

static struct vote
reads(struct stage *stage, int daemon)
{
	return takes(stage, daemon, shared(callers_call(CALL_ACQUIRE, "a", 1)));
}

/* The members with the letter of their owner and its attempt: "shared a1 b2", "permits 3 0a1 2b2", "x1" of an
 * RLock. */
static const char *
group(struct stage *stage)
{
	return callers_ask(stage,
		"if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return '' end "
		"local flat, said = redis.call('HGETALL', KEYS[1]), {} "
		"for i = 1, #flat, 2 do "
		"  local owner = #flat[i + 1] > 17 and flat[i + 1] or flat[i] "
		"  local slot = #flat[i] < 6 and flat[i] or '' "
		"  if flat[i] ~= 'kind' then "
		"    said[#said + 1] = ' ' .. slot .. owner:sub(1, 1) .. string.match(owner, ':(%w+)') "
		"  end "
		"end "
		"table.sort(said) "
		"return (redis.call('HGET', KEYS[1], 'kind') or '') .. table.concat(said)",
		KEY);
}

/* ---- alone ---- */

ON_BOTH(exactly_the_previous_owner_is_replaced)
{
	int64_t last = writes(stage, DA).token_last;
	struct call call = adopt_of(A ":1");
	struct vote v;

	call.block = 5;
	v = callers_say(stage, DB, call);
	is(v, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, last);
	ck_assert_int_eq(v.token_last - v.token_first, 4);
	ck_assert_int_eq(v.position, 0);
	ck_assert_str_eq(stage_get(stage, KEY), B ":2");
	ck_assert_int_gt(stage_ttl_ms(stage, KEY), CAST_TTL_MS - 1000);
	/* It is nobody else's any more, and ours as any other. */
	is(callers_say(stage, DC, call), OUTCOME_NO);
	is(callers_say(stage, DA, callers_call(CALL_RENEW, "a", 1)), OUTCOME_NO);
	is(callers_say(stage, DA, callers_call(CALL_RELEASE, "a", 1)), OUTCOME_NO);
	is(callers_say(stage, DB, callers_call(CALL_RENEW, "a", 2)), OUTCOME_YES);
	is(callers_say(stage, DB, callers_call(CALL_RELEASE, "a", 2)), OUTCOME_YES);
	is(callers_say(stage, DB, call), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, KEY), "");
}

ON_BOTH(what_is_adopted_is_adopted_again_without_harm)
{
	int64_t last;

	writes(stage, DA);
	for (int i = 0; i < 3; i++) {
		struct vote v = callers_say(stage, DB, adopt_of(A ":1"));

		is(v, OUTCOME_YES);
		ck_assert_int_eq(v.token_first, 0);
		ck_assert_str_eq(stage_get(stage, KEY), B ":2");
	}
	last = callers_say(stage, DB, callers_as(adopt_of(""), CALL_ACQUIRE)).token_last;
	ck_assert_int_gt(last, 0);
	is(callers_say(stage, DB, adopt_of("")), OUTCOME_YES);
}

ON_BOTH(nobody_elses_lease_is_adopted)
{
	static const char *const others[] = {
		"", A ":2", A ":11", A ":", C ":1", "a1", A, B ":1 " C ":1", "somebody"};

	/* None. */
	is(callers_say(stage, DB, adopt_of(A ":1")), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, KEY), "");
	writes(stage, DA);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct vote v = callers_say(stage, DB, adopt_of(others[i]));

		ck_assert(v.outcome == OUTCOME_NO || v.outcome == OUTCOME_ERROR);
		ck_assert_str_eq(stage_get(stage, KEY), A ":1");
	}
}

ON_BOTH(any_of_four_previous_owners_is_replaced_and_five_are_too_many)
{
	char text[512];

	for (int i = 0; i < 4; i++) {
		int n = snprintf(text, sizeof(text), "%s", i == 0 ? A ":1" : C ":1");

		for (int k = 1; k < 4; k++)
			n += snprintf(text + n, sizeof(text) - (size_t)n, " %s", i == k ? A ":1" : C ":2");
		writes(stage, DA);
		is(callers_say(stage, DB, adopt_of(text)), OUTCOME_YES);
		ck_assert_str_eq(stage_get(stage, KEY), B ":2");
		is(callers_say(stage, DB, callers_call(CALL_RELEASE, "a", 2)), OUTCOME_YES);
	}
	writes(stage, DA);
	(void)snprintf(text, sizeof(text), "%s %s %s %s %s", A ":1", A ":2", A ":3", A ":4", A ":5");
	is(callers_say(stage, DB, adopt_of(text)), OUTCOME_ERROR);
	ck_assert_str_eq(stage_get(stage, KEY), A ":1");
}

/* They come from a file that may be damaged: the adapter sends what the core has checked, and the script
 * relies on nothing. */
ON_BOTH(hostile_previous_owners_are_refused)
{
	static const char *const texts[] = {"*", "%x+:%w+", A ":1*", A ":1\n", "\xff\xfe", A ":1 x",
		"x " A ":1", A ":1 " A, ":1", A "0:1", "false", "nil", "1", "kind", A ":1 " A ":"};
	struct call calls[3];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		calls[0] = adopt_of(texts[i]);
		calls[1] = shared(adopt_of(texts[i]));
		calls[2] = callers_permits(adopt_of(texts[i]), 3, 1, "0");
		for (size_t k = 0; k < 3; k++) {
			is(callers_say(stage, DB, calls[k]), OUTCOME_ERROR);
			ck_assert_int_eq(stage_ttl_ms(stage, KEY), -2);
		}
		is(callers_say(stage, DB, redisson(calls[0])), OUTCOME_ERROR);
	}
	/* A value that looks like several owners is none. */
	stage_do(stage, "return redis.call('SET', KEYS[1], '" A ":1 " C ":1')", KEY);
	is(callers_say(stage, DB, adopt_of(A ":1 " C ":1")), OUTCOME_NO);
	stage_do(stage, "return redis.call('SET', KEYS[1], '')", KEY);
	is(callers_say(stage, DB, adopt_of("")), OUTCOME_NO);
}

ON_BOTH(an_adopted_lease_never_ends_sooner)
{
	struct call calls[3] = {
		adopt_of(A ":1"), shared(adopt_of(A ":1")), callers_permits(adopt_of(A ":1"), 1, 1, "0")};

	for (size_t i = 0; i < 3; i++) {
		calls[i].ttl_ms = 20;
		if (i == 2)
			takes(stage, DA, callers_permits(callers_call(CALL_ACQUIRE, "a", 1), 1, 1, NULL));
		else
			(void)(i == 0 ? writes(stage, DA) : reads(stage, DA));
		is(callers_say(stage, DB, calls[i]), OUTCOME_YES);
		stage_wait_ms(stage, 40);
		is(callers_say(stage, DC, callers_as(calls[i], CALL_ACQUIRE)),
			i == 1 ? OUTCOME_YES : OUTCOME_BUSY);
		is(callers_say(stage, DB, callers_as(calls[i], CALL_RENEW)), OUTCOME_YES);
		stage_do(stage, "return redis.call('DEL', KEYS[1])", KEY);
		stage_do(stage, "return redis.call('DEL', KEYS[1] .. ':q', KEYS[1] .. ':w')", KEY);
	}
	/* What never ends does. */
	writes(stage, DA);
	stage_do(stage, "return redis.call('PERSIST', KEYS[1])", KEY);
	is(callers_say(stage, DB, calls[0]), OUTCOME_YES);
	ck_assert_int_gt(stage_ttl_ms(stage, KEY), 0);
	ck_assert_int_le(stage_ttl_ms(stage, KEY), CAST_TTL_MS);
}

ON_BOTH(a_late_adoption_does_nothing)
{
	struct call calls[3] = {adopt_of(A ":1"), shared(adopt_of(A ":1")), adopt_of(B ":2")};

	writes(stage, DA);
	for (size_t i = 0; i < 3; i++) {
		calls[i].deadline_us = 1;
		is(callers_say(stage, DB, calls[i]), OUTCOME_LATE);
		ck_assert_str_eq(stage_get(stage, KEY), A ":1");
	}
	is(callers_say(stage, DB, redisson(calls[0])), OUTCOME_LATE);
}

ON_BOTH(terms_out_of_range_are_refused)
{
	static const int64_t bad[] = {0, -1, CAST_TTL_MS + 1};
	struct call calls[3] = {adopt_of(A ":1"), shared(adopt_of(A ":1")), redisson(adopt_of(A ":1"))};

	writes(stage, DA);
	for (size_t i = 0; i < 9; i++) {
		struct call call = calls[i / 3];

		call.ttl_ms = bad[i % 3];
		is(callers_say(stage, DB, call), i % 3 == 2 ? OUTCOME_FORGOTTEN : OUTCOME_ERROR);
		call.ttl_ms = CAST_TTL_MS;
		call.block = 1000001;
		is(callers_say(stage, DB, call), OUTCOME_ERROR);
		ck_assert_str_eq(stage_get(stage, KEY), A ":1");
	}
}

ON_BOTH(a_master_that_forgot_or_went_back_adopts_nothing)
{
	struct call calls[3] = {adopt_of(A ":1"), shared(adopt_of(A ":1")), redisson(adopt_of(A ":1"))};
	int64_t mark = writes(stage, DA).token_last;

	for (size_t i = 0; i < 3; i++) {
		calls[i].mark = mark + 1;
		is(callers_say(stage, DB, calls[i]), OUTCOME_FORGOTTEN);
		calls[i].mark = 0;
		calls[i].incarnation = 0xdef;
		is(callers_say(stage, DB, calls[i]), OUTCOME_FORGOTTEN);
	}
	ck_assert_str_eq(stage_get(stage, KEY), A ":1");
	/* Guarded. */
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	for (size_t i = 0; i < 3; i++)
		is(callers_say(stage, DB, calls[i]), OUTCOME_FORGOTTEN);
}

ON_BOTH(a_full_master_adopts)
{
	writes(stage, DA);
	stage_full(stage, true);
	is(callers_say(stage, DB, adopt_of(A ":1")), OUTCOME_YES);
	is(callers_say(stage, DC, shared(adopt_of(B ":2"))), OUTCOME_YES);
	is(callers_say(stage, DD, shared(adopt_of(C ":2"))), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "shared d2");
	stage_full(stage, false);
	stage_do(stage, "return redis.call('DEL', KEYS[1])", KEY);
	takes(stage, DA, redisson(callers_call(CALL_ACQUIRE, "a", 1)));
	stage_full(stage, true);
	is(callers_say(stage, DB, redisson(adopt_of(A ":1"))), OUTCOME_YES);
	stage_full(stage, false);
}

/* Whoever waits has told the previous owner, which is gone. */
ON_BOTH(an_adoption_tells_that_others_wait)
{
	writes(stage, DA);
	is(callers_say(stage, DC, callers_call(CALL_ACQUIRE, "a", 1)), OUTCOME_BUSY);
	(void)stage_heard(stage);
	ck_assert_int_eq(callers_say(stage, DB, adopt_of(A ":1")).position, 1);
	ck_assert_int_eq(callers_say(stage, DB, adopt_of(A ":1")).position, 1);
	/* Another daemon that asks tells the new owner. */
	is(callers_say(stage, DC, callers_call(CALL_ACQUIRE, "a", 1)), OUTCOME_BUSY);
	ck_assert_str_eq(stage_heard(stage), "b:want a;");
}

ON_BOTH(names_of_one_command_are_adopted_each_for_itself)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	struct call calls[5];
	struct vote votes[5];

	for (int i = 0; i < 5; i++) {
		struct call call = callers_call(CALL_ACQUIRE, names[i], (uint64_t)i + 1);

		if (i < 4)
			is(callers_say(stage, i == 2 ? DC : DA, call), OUTCOME_YES);
		calls[i] = callers_call(CALL_ADOPT, names[i], 10);
		calls[i].incarnation = CAST_INCARNATION;
		calls[i].previous = slice_of(i == 3 ? D ":1 " A ":4" : i == 1 ? A ":2" : A ":1");
		calls[i].block = i == 1 ? 7 : 0;
	}
	calls[0].deadline_us = 1;
	stage_calls(stage, &cast[DB], calls, 5, votes);
	is(votes[0], OUTCOME_LATE);
	is(votes[1], OUTCOME_YES);
	ck_assert_int_eq(votes[1].token_last - votes[1].token_first, 6);
	is(votes[2], OUTCOME_NO);
	is(votes[3], OUTCOME_YES);
	ck_assert_int_eq(votes[3].token_last, 0);
	is(votes[4], OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, "hf:{b}"), B ":a");
	ck_assert_str_eq(stage_get(stage, "hf:{c}"), C ":3");
	ck_assert_str_eq(stage_get(stage, "hf:{d}"), B ":a");
}

/* Among several masters each name counts its own tokens, and the round proposes where they begin. */
ON_BOTH(a_fenced_name_goes_on_above_its_own_tokens)
{
	struct call call = callers_call(CALL_ACQUIRE, "a", 1);
	struct vote v;
	int64_t last;

	call.fenced = true;
	last = takes(stage, DA, call).token_last;
	for (int i = 0; i < 3; i++) {
		call = adopt_of(i == 0 ? A ":1" : B ":2");
		if (i == 1)
			call = shared(call);
		call.fenced = true;
		call.block = 3;
		call.token = i == 2 ? last + 100 : 1;
		v = callers_say(stage, i == 0 ? DB : DC, i == 2 ? shared(call) : call);
		is(v, OUTCOME_YES);
		ck_assert_int_eq(v.token_first, i == 2 ? last + 100 : last + 1);
		last = v.token_last;
	}
}

ON_BOTH(a_key_of_another_program_is_adopted_as_it_was_taken)
{
	struct call call = callers_call(CALL_ACQUIRE, "a", 1);

	call.key = "lock:%";
	call.interop = INTEROP_STRING;
	takes(stage, DA, call);
	ck_assert_str_eq(stage_get(stage, "lock:a"), A ":1");
	call = adopt_of(A ":1");
	call.key = "lock:%";
	call.interop = INTEROP_STRING;
	is(callers_say(stage, DB, call), OUTCOME_YES);
	ck_assert_str_eq(stage_get(stage, "lock:a"), B ":2");
	stage_do(stage, "return redis.call('SET', KEYS[1], 'somebody')", "lock:a");
	is(callers_say(stage, DB, call), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, "lock:a"), "somebody");
	/* A hash. */
	stage_do(stage, "redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'x', 1)", "lock:a");
	is(callers_say(stage, DB, call), OUTCOME_WRONGKIND);
}

/* ---- readers ---- */

ON_BOTH(every_reader_that_was_ours_becomes_one_reader)
{
	reads(stage, DA);
	reads(stage, DC);
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "shared b2 c1");
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_YES);
	is(callers_say(stage, DA, shared(callers_call(CALL_RENEW, "a", 1))), OUTCOME_NO);
	is(callers_say(stage, DB, shared(callers_call(CALL_RENEW, "a", 2))), OUTCOME_YES);
	/* Two processes before: each had a share when it crashed. */
	reads(stage, DA);
	ck_assert_str_eq(group(stage), "shared a1 b2 c1");
	is(callers_say(stage, DD, shared(adopt_of(B ":2 " A ":1"))), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "shared c1 d2");
	/* Ours, and one more of before that came late. */
	reads(stage, DA);
	is(callers_say(stage, DD, shared(adopt_of(B ":2 " A ":1"))), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "shared c1 d2");
	ck_assert_int_gt(stage_ttl_ms(stage, KEY), CAST_TTL_MS - 1000);
}

ON_BOTH(only_a_living_reader_that_was_ours_is_adopted)
{
	struct call call = shared(callers_call(CALL_ACQUIRE, "a", 1));

	reads(stage, DC);
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_NO);
	is(callers_say(stage, DB, shared(adopt_of(C ":2"))), OUTCOME_NO);
	call.ttl_ms = 10;
	takes(stage, DA, call);
	stage_wait_ms(stage, 30);
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_NO);
	ck_assert_str_eq(stage_heard(stage), "");
	is(callers_say(stage, DC, shared(callers_call(CALL_RENEW, "a", 1))), OUTCOME_YES);
	/* Another program's hash, and another kind of group. */
	stage_do(stage, "redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'x', '1')", KEY);
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_WRONGKIND);
	is(callers_say(stage, DB, adopt_of(A ":1")), OUTCOME_WRONGKIND);
	stage_do(stage, "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 'x')", KEY);
	is(callers_say(stage, DB, shared(adopt_of(A ":1"))), OUTCOME_NO);
}

/* The process before had begun to share it when it crashed, and this master had not heard of it. */
ON_BOTH(what_a_previous_owner_had_alone_is_shared_without_a_gap)
{
	int64_t last = writes(stage, DA).token_last;
	struct call call = shared(adopt_of(A ":1"));
	struct vote v;

	is(callers_say(stage, DC, shared(callers_call(CALL_ACQUIRE, "a", 1))), OUTCOME_BUSY);
	(void)stage_heard(stage);
	call.block = 5;
	v = callers_say(stage, DB, call);
	is(v, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, last);
	ck_assert_str_eq(group(stage), "shared b2");
	/* The reader at the head of the queue can come in now. */
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	is(callers_say(stage, DC, shared(callers_call(CALL_ACQUIRE, "a", 1))), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "shared b2 c1");
}

/* ---- permits ---- */

static struct call
permits(const char *previous, int64_t k, const char *slots)
{
	return callers_permits(adopt_of(previous), 4, k, slots);
}

static void
takes_permits(struct stage *stage, int daemon, int64_t k, const char *slots)
{
	takes(stage, daemon, callers_permits(callers_call(CALL_ACQUIRE, "a", 1), 4, k, slots));
}

ON_BOTH(permits_are_adopted_all_or_none)
{
	takes_permits(stage, DA, 2, NULL);
	takes_permits(stage, DC, 1, NULL);
	is(callers_say(stage, DB, permits(A ":1", 3, "0,1,2")), OUTCOME_NO);
	is(callers_say(stage, DB, permits(A ":1", 2, "1,3")), OUTCOME_NO);
	is(callers_say(stage, DB, permits(A ":2", 2, "0,1")), OUTCOME_NO);
	is(callers_say(stage, DB, permits(A ":1", 2, NULL)), OUTCOME_ERROR);
	ck_assert_str_eq(group(stage), "permits 4 0a1 1a1 2c1");
	is(callers_say(stage, DB, permits(A ":1", 2, "0,1")), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "permits 4 0b2 1b2 2c1");
	is(callers_say(stage, DB, permits(A ":1", 2, "0,1")), OUTCOME_YES);
	is(callers_say(stage, DA, callers_permits(callers_call(CALL_RENEW, "a", 1), 4, 2, "0,1")),
		OUTCOME_NO);
	is(callers_say(stage, DB, callers_permits(callers_call(CALL_RENEW, "a", 2), 4, 2, "0,1")),
		OUTCOME_YES);
	is(callers_say(stage, DB, callers_permits(callers_call(CALL_RELEASE, "a", 2), 4, 2, "0,1")),
		OUTCOME_YES);
	ck_assert_str_eq(group(stage), "permits 4 2c1");
}

/* A crash in the middle: some permits were acquired again by the second process. */
ON_BOTH(permits_of_several_previous_owners_become_one_lease)
{
	takes_permits(stage, DA, 2, "0,1");
	takes_permits(stage, DC, 1, "2");
	is(callers_say(stage, DB, permits(A ":1", 3, "0,1,2")), OUTCOME_NO);
	is(callers_say(stage, DB, permits(C ":1 " A ":1", 3, "0,1,2")), OUTCOME_YES);
	ck_assert_str_eq(group(stage), "permits 4 0b2 1b2 2b2");
	/* A permit that has run out was anybody's meanwhile. */
	is(callers_say(stage, DB, callers_permits(callers_call(CALL_RELEASE, "a", 2), 4, 3, "0,1,2")),
		OUTCOME_YES);
	takes_permits(stage, DC, 1, "2");
	for (int i = 0; i < 2; i++) {
		struct call call = callers_permits(callers_call(CALL_ACQUIRE, "a", 1), 4, 1, "0");

		call.ttl_ms = 10;
		takes(stage, DA, call);
		stage_wait_ms(stage, 30);
	}
	is(callers_say(stage, DB, permits(C ":1 " A ":1", 2, "0,2")), OUTCOME_NO);
	/* A lease that one has alone is none of permits. */
	stage_do(stage, "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], '" A ":1')", KEY);
	is(callers_say(stage, DB, permits(A ":1", 2, "0,2")), OUTCOME_NO);
}

/* ---- RLocks ---- */

ON_BOTH(an_rlock_is_adopted_and_stays_one)
{
	struct call call = redisson(adopt_of(A ":1"));
	int64_t last = takes(stage, DA, redisson(callers_call(CALL_ACQUIRE, "a", 1))).token_last;
	struct vote v;

	call.block = 5;
	for (int i = 0; i < 2; i++) {
		v = callers_say(stage, DB, call);
		is(v, OUTCOME_YES);
		ck_assert_int_gt(v.token_first, last);
		last = v.token_last;
		ck_assert_str_eq(
			callers_ask(stage, "return table.concat(redis.call('HGETALL', KEYS[1]), ' ')", "a"),
			B ":2 1");
	}
	ck_assert_int_gt(stage_ttl_ms(stage, "a"), CAST_TTL_MS - 1000);
	is(callers_say(stage, DA, redisson(callers_call(CALL_RENEW, "a", 1))), OUTCOME_NO);
	is(callers_say(stage, DC, call), OUTCOME_NO);
	is(callers_say(stage, DB, redisson(callers_call(CALL_RELEASE, "a", 2))), OUTCOME_YES);
	is(callers_say(stage, DB, call), OUTCOME_NO);
	/* A thread of a client of Redisson. */
	stage_do(stage, "return redis.call('HSET', KEYS[1], '285475da-9152-4c83-822a-67ee2f116a79:52', 1)",
		"a");
	is(callers_say(stage, DB, call), OUTCOME_NO);
	stage_do(stage, "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], 1)", "a");
	is(callers_say(stage, DB, call), OUTCOME_WRONGKIND);
}

/* ---- a master that forgot ---- */

static struct call
reclaim_of(struct call call, const char *previous)
{
	call.op = CALL_RECLAIM;
	call.incarnation = 0xdef;
	call.newest = 10;
	call.previous = slice_of(previous);
	return call;
}

/* A crash in the middle of a guard: what the process before has reclaimed there is ours, and no newer lease
 * of another daemon. */
ON_BOTH(what_a_previous_owner_has_reclaimed_is_reclaimed_again)
{
	struct call calls[3] = {callers_call(CALL_RECLAIM, "a", 1),
		shared(callers_call(CALL_RECLAIM, "a", 1)),
		callers_permits(callers_call(CALL_RECLAIM, "a", 1), 4, 2, "1,3")};
	static const char *const after[] = {"", "shared b1", "permits 4 1b1 3b1"};

	for (size_t i = 0; i < 3; i++) {
		stage_flush(stage);
		callers_hello(stage, 0xdef);
		is(callers_say(stage, DA, reclaim_of(calls[i], "")), OUTCOME_YES);
		/* Beside the share of another daemon there may be one more. */
		is(callers_say(stage, DB, reclaim_of(calls[i], "")), i == 1 ? OUTCOME_YES : OUTCOME_NO);
		is(callers_say(stage, DB, reclaim_of(calls[i], C ":1")), i == 1 ? OUTCOME_YES : OUTCOME_NO);
		for (int k = 0; k < 2; k++)
			is(callers_say(stage, DB, reclaim_of(calls[i], C ":1 " A ":1")), OUTCOME_YES);
		ck_assert_str_eq(group(stage), after[i]);
		if (i == 0)
			ck_assert_str_eq(stage_get(stage, KEY), B ":1");
		is(callers_say(stage, DB, reclaim_of(calls[i], "x")), OUTCOME_ERROR);
		/* The newer lease of another daemon stays. */
		calls[i].newest = 10;
		is(callers_say(stage, DC, reclaim_of(calls[i], A ":1")), i == 1 ? OUTCOME_YES : OUTCOME_NO);
	}
}

/* An RLock is never replaced: it is taken over if it was ours. */
ON_BOTH(an_rlock_of_a_previous_owner_is_reclaimed)
{
	struct call call = redisson(callers_call(CALL_RECLAIM, "a", 1));

	stage_flush(stage);
	callers_hello(stage, 0xdef);
	is(callers_say(stage, DA, reclaim_of(call, "")), OUTCOME_YES);
	is(callers_say(stage, DB, reclaim_of(call, "")), OUTCOME_NO);
	is(callers_say(stage, DB, reclaim_of(call, "x")), OUTCOME_ERROR);
	is(callers_say(stage, DB, reclaim_of(call, A ":1")), OUTCOME_YES);
	is(callers_say(stage, DB, reclaim_of(call, A ":1")), OUTCOME_YES);
	ck_assert_str_eq(callers_ask(stage, "return table.concat(redis.call('HGETALL', KEYS[1]), ' ')", "a"),
		B ":1 1");
	ck_assert_int_gt(stage_ttl_ms(stage, "a"), CAST_TTL_MS - 1000);
}

int
main(void)
{
	return SUITE_RUN("script_adopt", NULL, NULL, exactly_the_previous_owner_is_replaced,
		what_is_adopted_is_adopted_again_without_harm, nobody_elses_lease_is_adopted,
		any_of_four_previous_owners_is_replaced_and_five_are_too_many,
		hostile_previous_owners_are_refused, an_adopted_lease_never_ends_sooner,
		a_late_adoption_does_nothing, terms_out_of_range_are_refused,
		a_master_that_forgot_or_went_back_adopts_nothing, a_full_master_adopts,
		an_adoption_tells_that_others_wait, names_of_one_command_are_adopted_each_for_itself,
		a_fenced_name_goes_on_above_its_own_tokens,
		a_key_of_another_program_is_adopted_as_it_was_taken,
		every_reader_that_was_ours_becomes_one_reader, only_a_living_reader_that_was_ours_is_adopted,
		what_a_previous_owner_had_alone_is_shared_without_a_gap, permits_are_adopted_all_or_none,
		permits_of_several_previous_owners_become_one_lease, an_rlock_is_adopted_and_stays_one,
		what_a_previous_owner_has_reclaimed_is_reclaimed_again,
		an_rlock_of_a_previous_owner_is_reclaimed);
}
