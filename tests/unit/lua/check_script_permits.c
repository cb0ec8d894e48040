/*
 * Tests of the group scripts of lua/ for permits: who gets which, in which order, and what becomes of them;
 * on a real server and, to the letter, on the simulated one.
 */
#include "tests/sim/world/callers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* k of n by this attempt; any, or those that slots names. */
static struct call
of(enum call_op op, uint64_t attempt, int64_t n, int64_t k, const char *slots)
{
	return callers_permits(callers_call(op, "a", attempt), n, k, slots);
}

static struct vote
take(struct stage *stage, int daemon, uint64_t attempt, int64_t n, int64_t k)
{
	return callers_say(stage, daemon, of(CALL_ACQUIRE, attempt, n, k, NULL));
}

static struct vote
give(struct stage *stage, int daemon, uint64_t attempt, int64_t n, int64_t k, const char *slots)
{
	return callers_say(stage, daemon, of(CALL_RELEASE, attempt, n, k, slots));
}

static void
is(struct vote v, enum outcome outcome)
{
	ck_assert_msg(v.outcome == outcome, "outcome %d, not %d: %.*s", v.outcome, outcome, (int)v.text.n,
		v.text.n > 0 ? v.text.p : "");
}

static void
is_slots(struct vote v, const char *slots)
{
	is(v, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, 0);
	ck_assert_msg(slice_equal(v.slots, slice_of(slots)), "slots %.*s, not %s", (int)v.slots.n, v.slots.p,
		slots);
}

/* slots: what it would give instead of what was named. */
static void
is_busy(struct vote v, const char *holder, int64_t position, const char *slots)
{
	is(v, OUTCOME_BUSY);
	ck_assert_msg(slice_equal(v.holder, slice_of(holder)), "holder %.*s", (int)v.holder.n,
		v.holder.n > 0 ? v.holder.p : "");
	ck_assert_int_eq(v.position, position);
	ck_assert_int_gt(v.change_ms, 0);
	ck_assert_int_le(v.change_ms, CAST_TTL_MS);
	ck_assert_msg(slice_equal(v.slots, slice_of(slots)), "slots %.*s, not %s", (int)v.slots.n,
		v.slots.n > 0 ? v.slots.p : "", slots);
}

/* "3: 0a 2b", the permits and the first digit of those who have them. */
static const char *
group(struct stage *stage, const char *key)
{
	return callers_ask(stage,
		"if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return '' end "
		"local flat, said = redis.call('HGETALL', KEYS[1]), {} "
		"for i = 1, #flat, 2 do "
		"  if flat[i] ~= 'kind' then "
		"    said[#said + 1] = ' ' .. flat[i] .. string.sub(flat[i + 1], 1, 1) "
		"  end "
		"end "
		"table.sort(said) "
		"return string.match(redis.call('HGET', KEYS[1], 'kind'), '%d+') .. ':' .. "
		"table.concat(said)",
		key);
}

/* ---- taking and giving ---- */

ON_BOTH(permits_are_taken_kept_and_given_back)
{
	struct vote v = take(stage, DA, 1, 3, 1);
	int64_t last = v.token_last;
	is_slots(v, "0");
	ck_assert_int_eq(v.token_last - v.token_first, 9);
	ck_assert_int_eq(v.position, 0);
	v = take(stage, DB, 1, 3, 2);
	is_slots(v, "1,2");
	ck_assert_int_gt(v.token_first, last);
	ck_assert_str_eq(group(stage, "hf:{a}"), "3: 0a 1b 2b");
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	ck_assert_str_eq(stage_heard(stage), "");
	is(callers_say(stage, DB, of(CALL_RENEW, 1, 3, 2, "1,2")), OUTCOME_YES);
	is(give(stage, DB, 1, 3, 2, "1,2"), OUTCOME_YES);
	is(give(stage, DB, 1, 3, 2, "1,2"), OUTCOME_NO);
	is(callers_say(stage, DB, of(CALL_RENEW, 1, 3, 2, "1,2")), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "3: 0a");
	is(give(stage, DA, 1, 3, 1, "0"), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	is(give(stage, DA, 1, 3, 1, "0"), OUTCOME_NO);
}

ON_BOTH(no_more_are_given_than_there_are)
{
	take(stage, DA, 1, 3, 1);
	take(stage, DB, 1, 3, 1);
	is_busy(take(stage, DC, 1, 3, 2), B ":1", 1, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	is_slots(take(stage, DC, 2, 3, 1), "2");
	is_busy(take(stage, DD, 1, 3, 1), C ":2", 1, "");
	give(stage, DA, 1, 3, 1, "0");
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;c:want a;d:wake a;");
	is_slots(take(stage, DD, 1, 3, 1), "0");
}

ON_BOTH(one_daemon_may_have_some_more_than_once)
{
	is_slots(take(stage, DA, 1, 3, 1), "0");
	is_slots(take(stage, DA, 2, 3, 1), "1");
	/* Another attempt of ours is somebody else: it may be good still. */
	is(give(stage, DA, 2, 3, 1, "0"), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "3: 0a");
	is_busy(callers_say(stage, DA, of(CALL_ACQUIRE, 3, 3, 1, "0")), A ":1", 1, "1");
	/* Nobody tells himself what he wants. */
	ck_assert_str_eq(stage_heard(stage), "");
	callers_say(stage, DA, of(CALL_LEAVE, 3, 3, 1, NULL));
	is_busy(take(stage, DB, 1, 3, 3), A ":1", 1, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;");
}

ON_BOTH(an_attempt_that_has_permits_gets_them_again_with_other_tokens)
{
	struct vote v = take(stage, DA, 1, 5, 2);
	int64_t last = v.token_last;
	is_slots(v, "0,1");
	v = take(stage, DA, 1, 5, 2);
	is_slots(v, "0,1");
	ck_assert_int_gt(v.token_first, last);
	v = callers_say(stage, DA, of(CALL_ACQUIRE, 1, 5, 2, "0,1"));
	is_slots(v, "0,1");
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1a");
	/* Also when others wait, and others have become free in between. */
	take(stage, DB, 1, 5, 3);
	is_busy(take(stage, DC, 1, 5, 1), B ":1", 1, "");
	is_slots(take(stage, DA, 1, 5, 2), "0,1");
	is_slots(callers_say(stage, DA, of(CALL_ACQUIRE, 1, 5, 2, "0,1")), "0,1");
	take(stage, DC, 1, 5, 1);
	give(stage, DB, 1, 5, 3, "2,3,4");
	is_slots(take(stage, DA, 1, 5, 2), "0,1");
	is_slots(callers_say(stage, DA, of(CALL_ACQUIRE, 1, 5, 2, "0,1")), "0,1");
}

ON_BOTH(permits_are_looked_for_from_the_hint_on)
{
	struct call call = of(CALL_ACQUIRE, 1, 5, 2, NULL);
	call.hint = 4;
	is_slots(callers_say(stage, DA, call), "0,4");
	call.attempt = 2;
	call.hint = INT64_MAX; /* 7 modulo 10, so 2 modulo 5 */
	is_slots(callers_say(stage, DB, call), "2,3");
	call = of(CALL_ACQUIRE, 3, 5, 1, NULL);
	call.hint = 3;
	is_slots(callers_say(stage, DC, call), "1");
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1c 2b 3b 4a");
}

ON_BOTH(who_names_permits_gets_exactly_those_or_a_proposal)
{
	is_slots(callers_say(stage, DA, of(CALL_ACQUIRE, 1, 10, 2, "3,7")), "3,7");
	is_busy(callers_say(stage, DB, of(CALL_ACQUIRE, 1, 10, 2, "2,3")), A ":1", 1, "0,1");
	is_slots(callers_say(stage, DB, of(CALL_ACQUIRE, 2, 10, 2, "0,1")), "0,1");
	/* Too few for any. */
	is_busy(callers_say(stage, DC, of(CALL_ACQUIRE, 1, 10, 7, "2,3,4,5,6,7,8")), A ":1", 1, "");
	ck_assert_str_eq(group(stage, "hf:{a}"), "10: 0b 1b 3a 7a");
}

ON_BOTH(of_several_masters_one_that_gave_others_takes_them_back)
{
	struct call call = of(CALL_ACQUIRE, 1, 5, 2, NULL);
	struct vote v;
	call.fenced = true;
	call.incarnation = CAST_INCARNATION;
	call.token = INT64_C(1) << 51;
	stage_calls(stage, &cast[DA], &call, 1, &v);
	is_slots(v, "0,1");
	ck_assert_int_eq(v.token_first, INT64_C(1) << 51);
	take(stage, DB, 1, 5, 4);
	(void)stage_heard(stage);
	call.slots = SLICE("1,4");
	call.queue_ms = CALL_QUEUELESS;
	call.token += 100;
	stage_calls(stage, &cast[DA], &call, 1, &v);
	is_slots(v, "1,4");
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 100);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 1a 4a");
	/* Also where it cannot have what it names. */
	take(stage, DC, 1, 5, 1);
	callers_say(stage, DB, of(CALL_LEAVE, 1, 5, 4, NULL));
	is_slots(take(stage, DC, 2, 5, 1), "0");
	struct call other = call;
	other.attempt = 3;
	other.permits = 1;
	other.slots = SLICE("");
	other.hint = 3;
	stage_calls(stage, &cast[DA], &other, 1, &v);
	is_slots(v, "3");
	other.slots = SLICE("4");
	stage_calls(stage, &cast[DA], &other, 1, &v);
	is_busy(v, A ":1", 0, "3");
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0c 1a 4a");
	give(stage, DC, 2, 5, 1, "0");
	is(callers_say(stage, DB, of(CALL_RELEASE, 9, 5, 1, "0")), OUTCOME_NO);
	/* A later attempt is another one. */
	call.attempt = 2;
	call.slots = SLICE("0,2");
	stage_calls(stage, &cast[DA], &call, 1, &v);
	is_slots(v, "0,2");
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1a 2a 4a");
}

/* In one command, where nothing else tells that the name has had tokens. */
ON_BOTH(two_leases_of_one_semaphore_have_tokens_of_their_own)
{
	const int64_t token = INT64_C(1) << 51;
	struct vote votes[2];
	struct call calls[2] = {
		of(CALL_ACQUIRE, 1, 5, 1, NULL),
		of(CALL_ACQUIRE, 2, 5, 1, NULL),
	};
	for (int i = 0; i < 2; i++) {
		calls[i].fenced = true;
		calls[i].incarnation = CAST_INCARNATION;
		calls[i].token = token;
	}
	stage_calls(stage, &cast[DA], calls, 2, votes);
	is_slots(votes[0], "0");
	is_slots(votes[1], "1");
	ck_assert_int_eq(votes[0].token_first, token);
	ck_assert_int_eq(votes[1].token_first, votes[0].token_last + 1);
}

ON_BOTH(each_permit_lives_as_long_as_was_said)
{
	struct call brief = of(CALL_ACQUIRE, 1, 3, 2, "0,1");
	brief.ttl_ms = 20;
	callers_say(stage, DB, of(CALL_ACQUIRE, 1, 3, 1, "2"));
	callers_say(stage, DA, brief);
	stage_wait_ms(stage, 40);
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 3, 2, "0,1")), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "3: 0a 1a 2b");
	is_slots(take(stage, DC, 1, 3, 1), "0");
	/* Who has to look closely clears the others away. */
	is_busy(take(stage, DD, 1, 3, 2), C ":1", 1, "");
	ck_assert_str_eq(group(stage, "hf:{a}"), "3: 0c 2b");
	is(give(stage, DA, 1, 3, 2, "0,1"), OUTCOME_NO);
}

ON_BOTH(a_lease_that_has_lost_a_permit_is_not_kept)
{
	take(stage, DA, 1, 3, 3);
	stage_do(stage, "return redis.call('HDEL', KEYS[1], '1')", "hf:{a}");
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 3, 3, "0,1,2")), OUTCOME_NO);
	/* What is left of it ends with it. */
	is(give(stage, DA, 1, 3, 3, "0,1,2"), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
}

ON_BOTH(a_release_that_names_none_or_others_ends_all_that_is_ours)
{
	take(stage, DA, 1, 5, 2);
	take(stage, DA, 2, 5, 1);
	is(give(stage, DA, 1, 5, 2, NULL), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 2a");
	take(stage, DA, 3, 5, 2);
	is(give(stage, DA, 3, 5, 2, "3,4"), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 2a");
	is(give(stage, DA, 3, 5, 2, NULL), OUTCOME_NO);
	is(give(stage, DB, 2, 5, 1, "2"), OUTCOME_NO);
	is(give(stage, DA, 2, 7, 1, "2"), OUTCOME_YES);
}

ON_BOTH(malformed_permits_are_refused)
{
	static const struct {
		int64_t n, k;
		const char *slots;
	} bad[] = {
		{3, 0, NULL},
		{3, 4, NULL},
		{10001, 1, NULL},
		{3, 1, "3"},
		{3, 2, "1"},
		{3, 2, "1,1"},
		{3, 2, "2,1"},
		{3, 1, "01"},
		{3, 1, ","},
		{3, 1, "1,"},
		{3, 1, "99999999999999999999"},
	};
	static const enum call_op ops[] = {CALL_ACQUIRE, CALL_RENEW, CALL_RELEASE};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
			is(callers_say(stage, DA, of(ops[k], 1, bad[i].n, bad[i].k, bad[i].slots)),
				OUTCOME_ERROR);
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 3, 1, NULL)), OUTCOME_ERROR);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	is_slots(callers_say(stage, DA, of(CALL_ACQUIRE, 1, 10000, 1, "9999")), "9999");
}

ON_BOTH(permits_may_reserve_tokens_when_they_are_renewed)
{
	int64_t last = take(stage, DA, 1, 3, 2).token_last;
	struct call call = of(CALL_RENEW, 1, 3, 2, "0,1");
	struct vote v = callers_say(stage, DA, call);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.token_first, 0);
	call.block = 5;
	v = callers_say(stage, DA, call);
	ck_assert_int_eq(v.token_first, last + 1);
	ck_assert_int_eq(v.token_last, last + 5);
}

/* ---- large numbers ---- */

/* "0,1,...": those below n that leave rest modulo step. */
static const char *
every(int64_t n, int64_t step, int64_t rest)
{
	static char text[64000];
	size_t at = 0;
	for (int64_t i = rest; i < n; i += step)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d", at > 0 ? "," : "", (int)i);
	return text;
}

ON_BOTH(a_thousand_permits_are_taken_kept_and_given_back)
{
	struct vote v = take(stage, DA, 1, 1000, 1000);
	is_slots(v, every(1000, 1, 0));
	is_busy(take(stage, DB, 1, 1000, 1), A ":1", 1, "");
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 1000, 1000, every(1000, 1, 0))), OUTCOME_YES);
	is(give(stage, DA, 1, 1000, 1000, every(1000, 1, 0)), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	is_slots(take(stage, DB, 1, 1000, 1), "0");
	give(stage, DB, 1, 1000, 1, "0");
	take(stage, DA, 2, 1000, 1000);
	is(give(stage, DA, 2, 1000, 1000, NULL), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
}

ON_BOTH(the_few_that_are_left_of_many_are_found)
{
	struct call call = of(CALL_ACQUIRE, 2, 1000, 2, NULL);
	is_slots(
		callers_say(stage, DA, of(CALL_ACQUIRE, 1, 1000, 500, every(1000, 2, 0))), every(1000, 2, 0));
	is_slots(callers_say(stage, DB, of(CALL_ACQUIRE, 1, 1000, 499, every(998, 2, 1))), every(998, 2, 1));
	is_busy(callers_say(stage, DC, call), B ":1", 1, "");
	/* All of them are not looked at again so soon: who comes is told of the first that is seen. */
	struct vote v = callers_say(stage, DD, call);
	is_busy(v, A ":1", 2, "");
	ck_assert_int_le(v.change_ms, 1000);
	callers_say(stage, DC, of(CALL_LEAVE, 2, 1000, 2, NULL));
	callers_say(stage, DD, of(CALL_LEAVE, 2, 1000, 2, NULL));
	call.permits = 1;
	call.hint = 500;
	is_slots(callers_say(stage, DC, call), "999");
	/* All its dead are cleared away at once. */
	stage_do(stage,
		"for i = 0, 999 do redis.call('HSET', KEYS[1], i, '" A ":1 1') end "
		"return redis.call('HSET', KEYS[1], '5', '" B
		":1 ' .. redis.call('TIME')[1] + 9 .. '000000')",
		"hf:{a}");
	is_busy(take(stage, DD, 1, 1000, 1000), B ":1", 1, "");
	ck_assert_str_eq(group(stage, "hf:{a}"), "1000: 5b");
}

ON_BOTH(the_dead_of_a_crowd_are_found_within_a_second)
{
	struct call once = of(CALL_ACQUIRE, 2, 500, 1, NULL);
	once.queue_ms = 0;
	is_slots(take(stage, DA, 1, 500, 500), every(500, 1, 0));
	is_busy(callers_say(stage, DB, once), A ":1", 0, "");
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
	/* One is dead, and still among the crowd. */
	stage_do(stage, "return redis.call('HSET', KEYS[1], '250', '" A ":1 0000000000000001')", "hf:{a}");
	is_busy(callers_say(stage, DB, once), A ":1", 0, "");
	is_busy(take(stage, DC, 1, 500, 1), A ":1", 1, "");
	stage_wait_ms(stage, 1000);
	is_slots(take(stage, DC, 1, 500, 1), "250");
	give(stage, DC, 1, 500, 1, "250");
	/* Enough for one, and another is first: so it is told, crowd or not. */
	give(stage, DC, 1, 500, 1, "250");
	is_busy(take(stage, DB, 3, 500, 2), A ":1", 1, "");
	is_busy(take(stage, DC, 2, 500, 1), "", 2, "");
	is_busy(take(stage, DC, 2, 500, 1), "", 2, "");
	/* What is free is called for without a look at all. */
	(void)stage_heard(stage);
	give(stage, DA, 1, 500, 500, NULL);
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	is_slots(take(stage, DB, 3, 500, 2), "0,1");
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
}

/* Otherwise a permit would stay with the dead for longer than a lease. */
ON_BOTH(the_dead_of_a_crowd_are_found_within_a_lease_that_is_shorter_than_a_second)
{
	struct call all = of(CALL_ACQUIRE, 1, 500, 500, every(500, 1, 0)),
		    one = of(CALL_ACQUIRE, 2, 500, 1, NULL);
	all.ttl_ms = one.ttl_ms = 300;
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'ttl_max', 300)", "hf:node");
	is_slots(callers_say(stage, DA, all), every(500, 1, 0));
	is_busy(callers_say(stage, DB, one), A ":1", 1, "");
	stage_wait_ms(stage, 100);
	is(callers_say(stage, DA, callers_as(all, CALL_RENEW)), OUTCOME_YES);
	stage_do(stage, "return redis.call('HSET', KEYS[1], '250', '" A ":1 0000000000000001')", "hf:{a}");
	struct vote v = callers_say(stage, DB, one);
	is_busy(v, A ":1", 1, "");
	ck_assert_int_le(v.change_ms, 200);
	stage_wait_ms(stage, 200);
	is_slots(callers_say(stage, DB, one), "250");
}

/* Not all are looked at again, but whose those are that are seen is told. */
ON_BOTH(who_wants_one_of_a_crowd_tells_the_daemons_that_it_sees)
{
	is_slots(callers_say(stage, DA, of(CALL_ACQUIRE, 1, 500, 250, every(500, 2, 0))), every(500, 2, 0));
	is_slots(callers_say(stage, DB, of(CALL_ACQUIRE, 1, 500, 250, every(500, 2, 1))), every(500, 2, 1));
	is_busy(take(stage, DC, 1, 500, 1), B ":1", 1, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	is_busy(take(stage, DC, 2, 500, 1), A ":1", 1, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	is_busy(take(stage, DB, 2, 500, 1), A ":1", 2, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;");
}

/* ---- the queue ---- */

ON_BOTH(who_wants_many_is_not_passed_by_who_wants_few)
{
	struct call once = of(CALL_ACQUIRE, 1, 4, 1, NULL);
	once.queue_ms = 0;
	take(stage, DA, 1, 4, 2);
	take(stage, DB, 1, 4, 1);
	is_busy(take(stage, DC, 1, 4, 3), B ":1", 1, "");
	(void)stage_heard(stage);
	/* One is free, and kept for who wants three. */
	is_busy(take(stage, DD, 1, 4, 1), "", 2, "");
	is_busy(callers_say(stage, DE, once), "", 0, "");
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;a:want a;b:want a;");
	is(give(stage, DB, 1, 4, 1, "2"), OUTCOME_YES);
	/* Two are free: nobody is called, and the head's time does not begin. */
	ck_assert_str_eq(stage_heard(stage), "");
	stage_wait_ms(stage, 310);
	is_busy(take(stage, DD, 1, 4, 1), "", 2, "");
	(void)stage_heard(stage);
	is(give(stage, DA, 1, 4, 2, "0,1"), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	struct vote v = take(stage, DD, 1, 4, 1);
	is_busy(v, "", 2, "");
	ck_assert_int_le(v.change_ms, 300);
	v = take(stage, DC, 1, 4, 3);
	is_slots(v, "0,1,2");
	/* One is left, and that is enough for the next, who lacks nothing. */
	ck_assert_int_eq(v.position, 0);
	ck_assert_str_eq(stage_heard(stage), "d:wake a;");
	is_slots(take(stage, DD, 1, 4, 1), "3");
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
}

ON_BOTH(who_wants_many_and_does_not_come_is_passed)
{
	take(stage, DA, 1, 4, 4);
	take(stage, DB, 1, 4, 3);
	take(stage, DC, 1, 4, 2);
	give(stage, DA, 1, 4, 4, NULL);
	stage_wait_ms(stage, 310);
	is_slots(take(stage, DC, 1, 4, 2), "0,1");
	is_busy(take(stage, DB, 1, 4, 3), C ":1", 1, "");
	/* A head that cannot have what it wants keeps its place however long it takes. */
	stage_wait_ms(stage, 310);
	is_busy(take(stage, DD, 1, 4, 1), "", 2, "");
}

ON_BOTH(a_single_try_that_cannot_use_its_turn_leaves_it_to_the_next)
{
	struct call once = of(CALL_ACQUIRE, 1, 3, 2, NULL);
	once.queue_ms = 0;
	take(stage, DA, 1, 3, 2);
	take(stage, DE, 1, 3, 1);
	is_busy(take(stage, DB, 1, 3, 1), E ":1", 1, "");
	give(stage, DE, 1, 3, 1, "2");
	stage_wait_ms(stage, 310);
	(void)stage_heard(stage);
	/* B, who was called, has let its time go by, and D wants more than is free. */
	is_busy(callers_say(stage, DD, once), A ":1", 0, "");
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	is_busy(take(stage, DC, 1, 3, 1), "", 2, "");
	is_slots(take(stage, DB, 1, 3, 1), "2");
}

/* The last was under way for long: a longer one was asked for meanwhile. */
ON_BOTH(a_call_with_a_shorter_term_ends_no_permits_earlier)
{
	struct call calls[] = {of(CALL_ACQUIRE, 1, 3, 2, NULL), of(CALL_ACQUIRE, 1, 3, 2, "0,1"),
		of(CALL_RENEW, 1, 3, 2, "0,1")};
	is_slots(take(stage, DA, 1, 3, 2), "0,1");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		calls[i].ttl_ms = 20;
		is(callers_say(stage, DA, calls[i]), OUTCOME_YES);
	}
	stage_wait_ms(stage, 40);
	is_slots(take(stage, DB, 1, 3, 1), "2");
	is_busy(take(stage, DC, 1, 3, 1), B ":1", 1, "");
}

ON_BOTH(permits_call_one_waiter_after_the_other)
{
	take(stage, DA, 1, 3, 3);
	for (int i = DB; i <= DE; i++)
		take(stage, i, 1, 3, 1);
	(void)stage_heard(stage);
	give(stage, DA, 1, 3, 3, "0,1,2");
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	is_slots(take(stage, DB, 1, 3, 1), "0");
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	is_slots(take(stage, DC, 1, 3, 1), "1");
	ck_assert_str_eq(stage_heard(stage), "d:wake a;");
	struct vote v = take(stage, DD, 1, 3, 1);
	is_slots(v, "2");
	ck_assert_int_eq(v.position, 1);
	ck_assert_str_eq(stage_heard(stage), "");
	ck_assert_int_eq(callers_say(stage, DD, of(CALL_RENEW, 1, 3, 1, "2")).position, 1);
	give(stage, DC, 1, 3, 1, "1");
	ck_assert_str_eq(stage_heard(stage), "e:wake a;");
}

/* Only then a daemon is told to give back what it has. */
ON_BOTH(who_waits_for_its_turn_counts_if_it_lacks_permits)
{
	struct call block = of(CALL_RENEW, 1, 4, 2, "0,1");
	block.block = 5;
	is_slots(take(stage, DA, 1, 4, 2), "0,1");
	is_slots(take(stage, DA, 2, 4, 2), "2,3");
	is(take(stage, DB, 1, 4, 1), OUTCOME_BUSY);
	ck_assert_int_eq(callers_say(stage, DA, of(CALL_RENEW, 1, 4, 2, "0,1")).position, 1);
	ck_assert_int_eq(callers_say(stage, DA, block).position, 1);
	give(stage, DA, 2, 4, 2, "2,3");
	ck_assert_int_eq(callers_say(stage, DA, of(CALL_RENEW, 1, 4, 2, "0,1")).position, 0);
	ck_assert_int_eq(callers_say(stage, DA, block).position, 0);
	is_busy(take(stage, DC, 1, 4, 2), "", 2, "");
	struct vote v = take(stage, DB, 1, 4, 1);
	is_slots(v, "2");
	ck_assert_int_eq(v.position, 1);
	ck_assert_int_eq(callers_say(stage, DA, of(CALL_RENEW, 1, 4, 2, "0,1")).position, 1);
}

ON_BOTH(the_dead_are_free_when_the_head_is_called)
{
	struct call brief = of(CALL_ACQUIRE, 1, 3, 1, "0");
	brief.ttl_ms = 20;
	callers_say(stage, DA, brief);
	is_slots(callers_say(stage, DB, of(CALL_ACQUIRE, 1, 3, 1, "1")), "1");
	is_slots(callers_say(stage, DB, of(CALL_ACQUIRE, 2, 3, 1, "2")), "2");
	is(take(stage, DC, 1, 3, 2), OUTCOME_BUSY);
	stage_wait_ms(stage, 40);
	(void)stage_heard(stage);
	give(stage, DB, 1, 3, 1, "1");
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	is_slots(take(stage, DC, 1, 3, 2), "0,1");
}

ON_BOTH(a_second_release_does_not_call_the_head_again)
{
	take(stage, DA, 1, 3, 1);
	take(stage, DA, 2, 3, 2);
	take(stage, DB, 1, 3, 1);
	(void)stage_heard(stage);
	give(stage, DA, 1, 3, 1, "0");
	give(stage, DA, 2, 3, 2, "1,2");
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
}

ON_BOTH(a_head_is_called_again_when_enough_was_gone_in_between)
{
	struct call call = of(CALL_ACQUIRE, 1, 2, 1, NULL);
	take(stage, DA, 1, 2, 2);
	take(stage, DB, 1, 2, 2);
	(void)stage_heard(stage);
	give(stage, DA, 1, 2, 2, "0,1");
	call.queue_ms = CALL_QUEUELESS; /* one that heeds no queue, as at other masters */
	is_slots(callers_say(stage, DC, call), "0");
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	is_busy(take(stage, DD, 1, 2, 2), C ":1", 2, "");
	(void)stage_heard(stage);
	give(stage, DC, 1, 2, 1, "0");
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
}

ON_BOTH(who_waits_is_told_when_enough_may_have_ended_by_themselves)
{
	static const int64_t ttl_ms[] = {2000, 5000, 8000};
	for (int i = 0; i < 3; i++) {
		struct call call = of(CALL_ACQUIRE, 1, 4, 1, NULL);
		call.ttl_ms = ttl_ms[i];
		callers_say(stage, DA + i, call);
	}
	for (int k = 1; k <= 3; k++) {
		struct call call = of(CALL_ACQUIRE, 1, 4, k + 1, NULL); /* and one is free */
		call.queue_ms = 0;
		struct vote v = callers_say(stage, DD, call);
		is_busy(v, C ":1", 0, "");
		ck_assert_int_le(v.change_ms, ttl_ms[k - 1]);
		ck_assert_int_gt(v.change_ms, ttl_ms[k - 1] - 1900);
	}
}

ON_BOTH(leaving_the_queue_calls_who_can_do_with_what_is_free)
{
	take(stage, DA, 1, 3, 2);
	take(stage, DB, 1, 3, 3);
	take(stage, DC, 1, 3, 2);
	take(stage, DD, 1, 3, 1);
	(void)stage_heard(stage);
	is(callers_say(stage, DB, of(CALL_LEAVE, 1, 3, 3, NULL)), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
	is(callers_say(stage, DC, of(CALL_LEAVE, 1, 3, 2, NULL)), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "d:wake a;");
	is_slots(take(stage, DD, 1, 3, 1), "2");
}

ON_BOTH(where_the_queue_does_not_live_nobody_is_heeded)
{
	struct call call = of(CALL_ACQUIRE, 1, 3, 1, NULL);
	take(stage, DA, 1, 3, 2);
	take(stage, DB, 1, 3, 2);
	call.queue_ms = CALL_QUEUELESS;
	is_slots(callers_say(stage, DC, call), "2");
	call.attempt = 2;
	is_busy(callers_say(stage, DC, call), C ":1", 0, "");
}

ON_BOTH(who_had_its_turn_for_nothing_has_it_again)
{
	struct call back = of(CALL_RELEASE, 2, 3, 2, "0,1");
	back.queue_ms = 3000;
	take(stage, DA, 1, 3, 3);
	take(stage, DB, 1, 3, 2);
	take(stage, DC, 1, 3, 2);
	give(stage, DA, 1, 3, 3, NULL);
	is_slots(take(stage, DB, 2, 3, 2), "0,1");
	(void)stage_heard(stage);
	is(callers_say(stage, DB, back), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
	is_busy(take(stage, DC, 1, 3, 2), "", 2, "");
	is_slots(take(stage, DB, 3, 3, 2), "0,1");
}

/* ---- another limit ---- */

ON_BOTH(another_limit_is_refused_while_any_is_taken)
{
	take(stage, DA, 1, 3, 1);
	struct vote v = take(stage, DB, 1, 5, 1);
	is(v, OUTCOME_LIMIT);
	ck_assert_int_eq(v.limit, 3);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
	is(callers_say(stage, DB, of(CALL_RENEW, 1, 5, 1, "0")), OUTCOME_NO);
	give(stage, DA, 1, 3, 1, "0");
	is_slots(take(stage, DB, 1, 5, 1), "0");
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0b");
	v = take(stage, DA, 2, 3, 1);
	is(v, OUTCOME_LIMIT);
	ck_assert_int_eq(v.limit, 5);
}

ON_BOTH(another_limit_counts_once_the_last_one_is_dead)
{
	struct call brief = of(CALL_ACQUIRE, 1, 3, 2, NULL);
	brief.ttl_ms = 20;
	callers_say(stage, DA, brief);
	stage_do(stage, "return redis.call('PEXPIRE', KEYS[1], 5000)", "hf:{a}");
	stage_wait_ms(stage, 40);
	is_slots(take(stage, DB, 1, 2, 2), "0,1");
	ck_assert_str_eq(group(stage, "hf:{a}"), "2: 0b 1b");
}

ON_BOTH(who_waits_with_another_limit_leaves_the_queue)
{
	take(stage, DA, 1, 3, 3);
	take(stage, DB, 1, 3, 1);
	take(stage, DC, 1, 3, 1);
	/* The daemon at the head has been told of another limit. */
	is(take(stage, DB, 2, 4, 1), OUTCOME_LIMIT);
	(void)stage_heard(stage);
	give(stage, DA, 1, 3, 3, NULL);
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	/* And at the head of those who could be served now, it calls the next one. */
	is_slots(take(stage, DC, 1, 3, 1), "0");
	take(stage, DA, 2, 3, 2);
	take(stage, DB, 3, 3, 2);
	take(stage, DD, 1, 3, 1);
	give(stage, DC, 1, 3, 1, "0");
	(void)stage_heard(stage);
	is(take(stage, DB, 4, 4, 1), OUTCOME_LIMIT);
	ck_assert_str_eq(stage_heard(stage), "a:want a;d:wake a;");
}

/* They may only be kept for a while. */
ON_BOTH(who_cannot_have_it_for_the_kind_or_the_limit_tells_the_daemons_of_the_permits)
{
	struct call call = callers_call(CALL_ACQUIRE, "a", 1);
	take(stage, DA, 1, 3, 1);
	take(stage, DB, 1, 3, 1);
	is(take(stage, DC, 1, 4, 1), OUTCOME_LIMIT);
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	is(callers_say(stage, DC, call), OUTCOME_WRONGKIND);
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	call.kind = KIND_SHARED;
	is(callers_say(stage, DC, call), OUTCOME_WRONGKIND);
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
}

/* ---- clocks, memory ---- */

ON_BOTH(permits_that_outlive_the_longest_lease_are_cut_short)
{
	take(stage, DA, 1, 2, 2);
	/* The clock stepped back by a day. */
	stage_do(stage,
		"local far = redis.call('TIME')[1] + 86400 .. '000000' "
		"redis.call('PEXPIRE', KEYS[1], 86400000) "
		"return redis.call('HSET', KEYS[1], '0', '" A ":1 ' .. far, '1', '" A ":1 ' .. far)",
		"hf:{a}");
	struct vote v = take(stage, DB, 1, 2, 1);
	is_busy(v, A ":1", 1, "");
	ck_assert_int_eq(v.change_ms, CAST_TTL_MS);
	ck_assert_int_le(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS);
	v = take(stage, DB, 1, 2, 1);
	ck_assert_int_le(v.change_ms, CAST_TTL_MS);
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 2, 2, "0,1")), OUTCOME_YES);
}

ON_BOTH(a_full_master_keeps_and_releases_permits_but_gives_none)
{
	take(stage, DA, 1, 3, 2);
	stage_full(stage, true);
	struct vote v = take(stage, DB, 1, 3, 1);
	is(v, OUTCOME_ERROR);
	ck_assert(v.text.n > 3 && memcmp(v.text.p, "OOM", 3) == 0);
	is(callers_say(stage, DB, callers_permits(callers_call(CALL_ACQUIRE, "b", 1), 3, 1, NULL)),
		OUTCOME_ERROR);
	is(callers_say(stage, DA, of(CALL_RENEW, 1, 3, 2, "0,1")), OUTCOME_YES);
	is(give(stage, DA, 1, 3, 2, "0,1"), OUTCOME_YES);
	stage_full(stage, false);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{b}"), -2);
}

ON_BOTH(a_late_try_takes_nothing)
{
	struct call call = of(CALL_ACQUIRE, 1, 3, 1, NULL);
	call.deadline_us = 1;
	is(callers_say(stage, DA, call), OUTCOME_LATE);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
}

/* ---- a master that forgot ---- */

static struct call
reclaim_of(uint64_t attempt, int64_t n, const char *slots, int64_t newest)
{
	int64_t k = 1;
	for (const char *p = slots; *p != '\0'; p++)
		k += *p == ',';
	struct call call = of(CALL_RECLAIM, attempt, n, k, slots);
	call.incarnation = 0xdef;
	call.newest = newest;
	return call;
}

static void
forget(struct stage *stage)
{
	stage_flush(stage);
	callers_hello(stage, 0xdef);
}

ON_BOTH(permits_are_reclaimed_by_their_numbers)
{
	int64_t last = take(stage, DB, 1, 5, 2).token_last;
	forget(stage);
	struct call call = reclaim_of(1, 5, "0,1", last);
	call.token = last;
	for (int i = 0; i < 2; i++) {
		is(callers_say(stage, DB, call), OUTCOME_YES);
		is(callers_say(stage, DA, reclaim_of(2, 5, "4", last)), OUTCOME_YES);
	}
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0b 1b 4a");
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	/* One of them is somebody's already. */
	is(callers_say(stage, DC, reclaim_of(1, 5, "1,2", last)), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0b 1b 4a");
	call.deadline_us = 1;
	is(callers_say(stage, DB, call), OUTCOME_LATE);
	call = of(CALL_RECLAIM, 1, 5, 1, NULL);
	call.incarnation = 0xdef;
	is(callers_say(stage, DB, call), OUTCOME_ERROR);
	callers_open(stage, 0xdef);
	is(callers_say(stage, DB, reclaim_of(1, 5, "0,1", last)), OUTCOME_FORGOTTEN);
	call = of(CALL_RENEW, 1, 5, 2, "0,1");
	call.incarnation = 0xdef;
	is(callers_say(stage, DB, call), OUTCOME_YES);
}

ON_BOTH(of_two_that_reclaim_one_permit_the_newer_has_it)
{
	forget(stage);
	is(callers_say(stage, DA, reclaim_of(1, 5, "0,1", 10)), OUTCOME_YES);
	is(callers_say(stage, DB, reclaim_of(1, 5, "1,2", 20)), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1b 2b");
	is(callers_say(stage, DA, reclaim_of(1, 5, "0,1", 10)), OUTCOME_NO);
	is(callers_say(stage, DC, reclaim_of(1, 5, "2", 20)), OUTCOME_NO);
	/* Another limit, or another kind, and older than the newest of them. */
	is(callers_say(stage, DC, reclaim_of(1, 6, "5", 15)), OUTCOME_NO);
	struct call call = reclaim_of(1, 5, "0", 15);
	call.kind = KIND_SHARED;
	is(callers_say(stage, DC, call), OUTCOME_NO);
	call.kind = KIND_EXCLUSIVE;
	is(callers_say(stage, DC, call), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1b 2b");
	is(callers_say(stage, DC, reclaim_of(1, 6, "5", 25)), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "6: 5c");
	is(callers_say(stage, DB, reclaim_of(1, 5, "1,2", 20)), OUTCOME_NO);
}

ON_BOTH(permits_that_are_reclaimed_beat_those_of_the_past)
{
	static const char *const old[] = {
		"return redis.call('SET', KEYS[1], '" C ":9', 'PX', 9000)",
		"return redis.call('HSET', KEYS[1], 'kind', 'permits 3', '0', '" C ":9 9000000000000000')",
		"return redis.call('HSET', KEYS[1], 'kind', 'shared', '" C "', '" C ":9 9000000000000000')",
	};
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		forget(stage);
		stage_do(stage, old[i], "hf:{a}");
		is(callers_say(stage, DA, reclaim_of(1, 5, "0,3", 10)), OUTCOME_YES);
		ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 3a");
	}
	/* In a group of this kind one by one: the others end with their time. */
	forget(stage);
	stage_do(stage,
		"return redis.call('HSET', KEYS[1], 'kind', 'permits 5', '0', '" C ":9 9000000000000000', "
		"'1', '" C ":9 9000000000000000')",
		"hf:{a}");
	is(callers_say(stage, DA, reclaim_of(1, 5, "0,3", 10)), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "5: 0a 1c 3a");
}

ON_BOTH(a_thousand_permits_are_reclaimed)
{
	forget(stage);
	is(callers_say(stage, DA, reclaim_of(1, 1000, every(1000, 1, 0), 10)), OUTCOME_YES);
	is(callers_say(stage, DA, reclaim_of(1, 1000, every(1000, 1, 0), 10)), OUTCOME_YES);
	is(callers_say(stage, DB, reclaim_of(1, 1000, "999", 10)), OUTCOME_NO);
}

int
main(void)
{
	return SUITE_RUN("script_permits", NULL, NULL, permits_are_taken_kept_and_given_back,
		no_more_are_given_than_there_are, one_daemon_may_have_some_more_than_once,
		an_attempt_that_has_permits_gets_them_again_with_other_tokens,
		permits_are_looked_for_from_the_hint_on, who_names_permits_gets_exactly_those_or_a_proposal,
		of_several_masters_one_that_gave_others_takes_them_back,
		each_permit_lives_as_long_as_was_said, a_lease_that_has_lost_a_permit_is_not_kept,
		a_release_that_names_none_or_others_ends_all_that_is_ours, malformed_permits_are_refused,
		two_leases_of_one_semaphore_have_tokens_of_their_own,
		permits_may_reserve_tokens_when_they_are_renewed,
		a_thousand_permits_are_taken_kept_and_given_back, the_few_that_are_left_of_many_are_found,
		the_dead_of_a_crowd_are_found_within_a_second,
		the_dead_of_a_crowd_are_found_within_a_lease_that_is_shorter_than_a_second,
		who_wants_one_of_a_crowd_tells_the_daemons_that_it_sees,
		who_wants_many_is_not_passed_by_who_wants_few, who_wants_many_and_does_not_come_is_passed,
		a_single_try_that_cannot_use_its_turn_leaves_it_to_the_next,
		a_call_with_a_shorter_term_ends_no_permits_earlier, permits_call_one_waiter_after_the_other,
		who_waits_for_its_turn_counts_if_it_lacks_permits, the_dead_are_free_when_the_head_is_called,
		a_second_release_does_not_call_the_head_again,
		a_head_is_called_again_when_enough_was_gone_in_between,
		who_waits_is_told_when_enough_may_have_ended_by_themselves,
		leaving_the_queue_calls_who_can_do_with_what_is_free,
		where_the_queue_does_not_live_nobody_is_heeded, who_had_its_turn_for_nothing_has_it_again,
		another_limit_is_refused_while_any_is_taken, another_limit_counts_once_the_last_one_is_dead,
		who_waits_with_another_limit_leaves_the_queue,
		who_cannot_have_it_for_the_kind_or_the_limit_tells_the_daemons_of_the_permits,
		permits_that_outlive_the_longest_lease_are_cut_short,
		a_full_master_keeps_and_releases_permits_but_gives_none, a_late_try_takes_nothing,
		permits_are_reclaimed_by_their_numbers, of_two_that_reclaim_one_permit_the_newer_has_it,
		permits_that_are_reclaimed_beat_those_of_the_past, a_thousand_permits_are_reclaimed);
}
