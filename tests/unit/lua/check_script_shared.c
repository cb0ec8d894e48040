/*
 * Tests of the group scripts of lua/ for readers: who shares a name with whom, in which order, and what an
 * exclusive lease has to do with it; on a real server and, to the letter, on the simulated one.
 */
#include "daemon/base/clock.h"
#include "tests/sim/world/callers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIM_MS 300 /* CLAIM_US of lua/queue.inc: how long the called one has its turn */

static struct call
shared(struct call call)
{
	call.kind = KIND_SHARED;
	return call;
}

static struct vote
reads(struct stage *stage, int daemon, uint64_t attempt)
{
	return callers_say(stage, daemon, shared(callers_call(CALL_ACQUIRE, "a", attempt)));
}

static struct vote
writes(struct stage *stage, int daemon, uint64_t attempt)
{
	return callers_say(stage, daemon, callers_call(CALL_ACQUIRE, "a", attempt));
}

static struct vote
shares(struct stage *stage, int daemon, enum call_op op, uint64_t attempt)
{
	return callers_say(stage, daemon, shared(callers_call(op, "a", attempt)));
}

static struct vote
alone(struct stage *stage, int daemon, enum call_op op, uint64_t attempt)
{
	return callers_say(stage, daemon, callers_call(op, "a", attempt));
}

static void
is(struct vote v, enum outcome outcome)
{
	ck_assert_msg(v.outcome == outcome, "outcome %d, not %d: %.*s", v.outcome, outcome, (int)v.text.n,
		v.text.n > 0 ? v.text.p : "");
}

static void
is_busy(struct vote v, const char *holder, int64_t position)
{
	is(v, OUTCOME_BUSY);
	ck_assert_msg(slice_equal(v.holder, slice_of(holder)), "holder %.*s", (int)v.holder.n, v.holder.p);
	ck_assert_int_eq(v.position, position);
	ck_assert_int_gt(v.change_ms, 0);
	ck_assert_int_le(v.change_ms, CAST_TTL_MS);
}

/* "kind" and the first digits of the members, in order of the alphabet: "shared a b". */
static const char *
group(struct stage *stage, const char *key)
{
	return callers_ask(stage,
		"if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return '' end "
		"local flat, said = redis.call('HGETALL', KEYS[1]), {} "
		"for i = 1, #flat, 2 do "
		"  if flat[i] ~= 'kind' then said[#said + 1] = ' ' .. string.sub(flat[i], 1, 1) end "
		"end "
		"table.sort(said) "
		"return redis.call('HGET', KEYS[1], 'kind') .. table.concat(said)",
		key);
}

/* ---- readers alone ---- */

ON_BOTH(readers_share_a_name_and_each_has_tokens_of_its_own)
{
	struct vote a = reads(stage, DA, 1), b = reads(stage, DB, 1);
	is(a, OUTCOME_YES);
	is(b, OUTCOME_YES);
	ck_assert_int_eq(a.token_last - a.token_first, 9);
	ck_assert_int_gt(b.token_first, a.token_last);
	ck_assert_uint_eq(a.slots.n, 0);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	ck_assert_str_eq(stage_heard(stage), "");
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_YES);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_NO);
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared b");
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	is(shares(stage, DB, CALL_RENEW, 1), OUTCOME_NO);
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_NO);
}

/* The last was under way for long: a longer one was asked for meanwhile. */
ON_BOTH(a_call_with_a_shorter_term_ends_no_share_earlier)
{
	struct call calls[2] = {
		shared(callers_call(CALL_RENEW, "a", 1)), shared(callers_call(CALL_ACQUIRE, "a", 1))};
	/* First of a share, then of what it has alone and shares from then on. */
	for (int i = 0; i < 4; i++) {
		calls[i / 2].ttl_ms = 20;
		is(i % 2 == 0 ? reads(stage, DA, 1) : writes(stage, DA, 1), OUTCOME_YES);
		is(callers_say(stage, DA, calls[i / 2]), OUTCOME_YES);
		stage_wait_ms(stage, 40);
		is_busy(writes(stage, DB, 2), A ":1", 1);
		is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
		is(writes(stage, DB, 2), OUTCOME_YES);
		is(alone(stage, DB, CALL_RELEASE, 2), OUTCOME_YES);
	}
}

ON_BOTH(a_reader_is_one_member_whatever_it_repeats)
{
	int64_t last = reads(stage, DA, 1).token_last;
	struct vote v = reads(stage, DA, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, last);
	/* Another attempt may be one that was given up, or that of a copy of the daemon. */
	is_busy(reads(stage, DA, 3), A ":1", 0);
	shares(stage, DA, CALL_RELEASE, 1);
	is(reads(stage, DA, 3), OUTCOME_YES);
	is_busy(reads(stage, DA, 2), A ":3", 0);
	is(shares(stage, DA, CALL_RENEW, 2), OUTCOME_NO);
	is(shares(stage, DA, CALL_RELEASE, 2), OUTCOME_NO);
	is(shares(stage, DA, CALL_RENEW, 3), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
	ck_assert_str_eq(stage_heard(stage), "");
}

ON_BOTH(only_the_owner_touches_a_share)
{
	reads(stage, DA, 1);
	is(shares(stage, DB, CALL_RENEW, 1), OUTCOME_NO);
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
}

ON_BOTH(each_reader_lives_as_long_as_it_said_and_the_key_as_long_as_any)
{
	struct call brief = shared(callers_call(CALL_ACQUIRE, "a", 1));
	reads(stage, DB, 1);
	brief.ttl_ms = 20;
	is(callers_say(stage, DA, brief), OUTCOME_YES);
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	stage_wait_ms(stage, 40);
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	/* Who looks closely finds the dead one and clears it away. */
	is_busy(writes(stage, DC, 1), B ":1", 1);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared b");
	ck_assert_str_eq(stage_heard(stage), "b:want a;");
}

ON_BOTH(a_group_of_the_dead_is_no_group)
{
	struct call brief = shared(callers_call(CALL_ACQUIRE, "a", 1));
	brief.ttl_ms = 20;
	callers_say(stage, DA, brief);
	stage_do(stage, "return redis.call('PEXPIRE', KEYS[1], 5000)", "hf:{a}");
	stage_wait_ms(stage, 40);
	is(writes(stage, DB, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), B ":1");
	is(alone(stage, DB, CALL_RELEASE, 1), OUTCOME_YES);
	callers_say(stage, DA, brief);
	stage_do(stage, "return redis.call('PEXPIRE', KEYS[1], 5000)", "hf:{a}");
	stage_wait_ms(stage, 40);
	is(callers_say(stage, DB, callers_permits(callers_call(CALL_ACQUIRE, "a", 2), 3, 1, NULL)),
		OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "permits 3 0");
	/* It is cleared away by who looks at it, also when somebody else is called. */
	callers_say(stage, DA, shared(callers_call(CALL_ACQUIRE, "b", 1)));
	callers_say(stage, DB, callers_call(CALL_ACQUIRE, "b", 3));
	stage_do(stage, "return redis.call('HSET', KEYS[1], '" A "', '" A ":1 0000000000000001')", "hf:{b}");
	is_busy(callers_say(stage, DC, callers_call(CALL_ACQUIRE, "b", 1)), "", 2);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{b}"), -2);
}

ON_BOTH(lifetimes_and_forms_out_of_range_are_refused)
{
	static const int64_t bad[] = {0, -1, CAST_TTL_MS + 1, INT64_MAX};
	reads(stage, DA, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct call call = shared(callers_call(CALL_ACQUIRE, "b", 2));
		call.ttl_ms = bad[i];
		/* What is too long here alone is not malformed: it may have been taken at the last HELLO.
		 */
		enum outcome outcome = bad[i] > CAST_TTL_MS ? OUTCOME_FORGOTTEN : OUTCOME_ERROR;
		is(callers_say(stage, DA, call), outcome);
		call = shared(callers_call(CALL_RENEW, "a", 1));
		call.ttl_ms = bad[i];
		is(callers_say(stage, DA, call), outcome);
	}
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{b}"), -2);
	struct call late = shared(callers_call(CALL_ACQUIRE, "b", 2));
	late.deadline_us = 1;
	is(callers_say(stage, DA, late), OUTCOME_LATE);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{b}"), -2);
	late.deadline_us = CAST_FOREVER_US;
	late.token = (INT64_C(1) << 52) + 1;
	is(callers_say(stage, DA, late), OUTCOME_ERROR);
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_YES);
}

ON_BOTH(a_share_may_reserve_tokens_when_it_is_renewed)
{
	int64_t last = reads(stage, DA, 1).token_last;
	struct call call = shared(callers_call(CALL_RENEW, "a", 1));
	call.block = 5;
	struct vote v = callers_say(stage, DA, call);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.token_first, last + 1);
	ck_assert_int_eq(v.token_last, last + 5);
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'highest', '9007199254740990')", "hf:node");
	v = callers_say(stage, DA, call);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.token_first, 0);
	is(callers_say(stage, DA, shared(callers_call(CALL_ACQUIRE, "b", 2))), OUTCOME_ERROR);
}

ON_BOTH(a_fenced_name_counts_for_readers_and_writers_together)
{
	struct call call = shared(callers_call(CALL_ACQUIRE, "a", 1));
	struct vote v;
	call.fenced = true;
	call.incarnation = CAST_INCARNATION;
	call.token = INT64_C(1) << 51;
	stage_calls(stage, &cast[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, INT64_C(1) << 51);
	call = callers_as(call, CALL_RENEW);
	call.token++;
	call.block = 10;
	stage_calls(stage, &cast[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 10);
	call = callers_as(call, CALL_RELEASE);
	stage_calls(stage, &cast[DA], &call, 1, &v);
	is(v, OUTCOME_YES);
	call = callers_as(call, CALL_ACQUIRE);
	call.kind = KIND_EXCLUSIVE;
	stage_calls(stage, &cast[DA], &call, 1, &v);
	ck_assert_int_eq(v.token_first, (INT64_C(1) << 51) + 20);
}

/* ---- readers and writers ---- */

ON_BOTH(a_writer_waits_for_every_reader_and_tells_them)
{
	reads(stage, DA, 1);
	reads(stage, DB, 1);
	struct vote v = writes(stage, DC, 1);
	is(v, OUTCOME_BUSY);
	ck_assert_int_eq(v.position, 1);
	ck_assert_int_gt(v.change_ms, CAST_TTL_MS - 1000);
	ck_assert(slice_equal(v.holder, SLICE(B ":1")));
	ck_assert_str_eq(stage_heard(stage), "a:want a;b:want a;");
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
	is_busy(writes(stage, DC, 1), A ":1", 1);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "a:want a;c:wake a;");
	is(writes(stage, DC, 1), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:w"), -2);
}

ON_BOTH(a_reader_does_not_pass_a_writer_who_waits)
{
	struct call once = shared(callers_call(CALL_ACQUIRE, "a", 1));
	once.queue_ms = 0;
	reads(stage, DA, 1);
	writes(stage, DB, 1);
	(void)stage_heard(stage);
	/* It could be had, and that is no reason: nobody is named as being in the way. */
	is_busy(reads(stage, DC, 1), "", 2);
	is_busy(callers_say(stage, DD, once), "", 0);
	ck_assert_str_eq(stage_heard(stage), "a:want a;a:want a;");
	/* Where the queue does not live nobody is heeded. */
	once.queue_ms = CALL_QUEUELESS;
	is(callers_say(stage, DD, once), OUTCOME_YES);
	is(shares(stage, DD, CALL_RELEASE, 1), OUTCOME_YES);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	/* Free, and kept for the writer. */
	struct vote v = reads(stage, DC, 1);
	is_busy(v, "", 2);
	ck_assert_int_le(v.change_ms, 300);
	is(writes(stage, DB, 1), OUTCOME_YES);
	is_busy(reads(stage, DC, 1), B ":1", 1);
	ck_assert_str_eq(stage_heard(stage), "b:want a;");
}

ON_BOTH(readers_at_the_head_of_the_queue_call_each_other_in)
{
	writes(stage, DA, 1);
	is_busy(reads(stage, DB, 1), A ":1", 1);
	is_busy(reads(stage, DC, 1), A ":1", 2);
	is_busy(writes(stage, DD, 1), A ":1", 3);
	is_busy(reads(stage, DE, 1), A ":1", 4);
	(void)stage_heard(stage);
	alone(stage, DA, CALL_RELEASE, 1);
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	struct vote v = reads(stage, DB, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.position, 3);
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	v = reads(stage, DC, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.position, 2);
	/* Now a writer is at the head, and a reader behind it. */
	ck_assert_str_eq(stage_heard(stage), "");
	is_busy(reads(stage, DE, 1), "", 2);
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_YES);
	(void)stage_heard(stage);
	is(shares(stage, DC, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "d:wake a;");
	is(writes(stage, DD, 1), OUTCOME_YES);
	alone(stage, DD, CALL_RELEASE, 1);
	ck_assert_str_eq(stage_heard(stage), "e:wake a;");
	is(reads(stage, DE, 1), OUTCOME_YES);
}

ON_BOTH(a_reader_passes_readers_who_have_not_come_yet)
{
	writes(stage, DA, 1);
	reads(stage, DB, 1);
	reads(stage, DC, 1);
	int64_t called_ms = clock_ms();
	alone(stage, DA, CALL_RELEASE, 1);
	(void)stage_heard(stage);
	is(reads(stage, DC, 1), OUTCOME_YES);
	is(reads(stage, DD, 1), OUTCOME_YES);
	/* The head has been called and is not called again before its time is over; at a real server that may
	 * be soon. */
	if (!stage->real || clock_ms() - called_ms < CLAIM_MS)
		ck_assert_str_eq(stage_heard(stage), "");
	struct vote v = reads(stage, DB, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.position, 0);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared b c d");
}

ON_BOTH(readers_who_wait_are_in_no_readers_way)
{
	writes(stage, DA, 1);
	reads(stage, DB, 1);
	reads(stage, DC, 1);
	alone(stage, DA, CALL_RELEASE, 1);
	/* Others wait, too, and for the same: no reason to end one's share. */
	ck_assert_int_eq(reads(stage, DB, 1).position, 0);
	ck_assert_int_eq(shares(stage, DB, CALL_RENEW, 1).position, 0);
	writes(stage, DD, 1);
	ck_assert_int_eq(shares(stage, DB, CALL_RENEW, 1).position, 2);
	struct call call = shared(callers_call(CALL_RENEW, "a", 1));
	call.block = 5;
	ck_assert_int_eq(callers_say(stage, DB, call).position, 2);
}

ON_BOTH(a_head_that_does_not_come_is_passed_by_a_reader)
{
	reads(stage, DA, 1);
	writes(stage, DB, 1);
	reads(stage, DC, 1);
	shares(stage, DA, CALL_RELEASE, 1);
	stage_wait_ms(stage, 310);
	(void)stage_heard(stage);
	is(reads(stage, DC, 1), OUTCOME_YES);
	/* The writer is behind now, and waits for the reader. */
	is_busy(writes(stage, DB, 1), C ":1", 1);
}

ON_BOTH(a_reader_that_is_called_and_does_not_come_is_passed_by_a_writer)
{
	writes(stage, DA, 1);
	reads(stage, DB, 1);
	writes(stage, DC, 1);
	alone(stage, DA, CALL_RELEASE, 1);
	struct vote v = writes(stage, DC, 1);
	is_busy(v, "", 2);
	ck_assert_int_le(v.change_ms, 300);
	stage_wait_ms(stage, 310);
	is(writes(stage, DC, 1), OUTCOME_YES);
}

ON_BOTH(a_writer_that_leaves_lets_the_readers_behind_it_in)
{
	reads(stage, DA, 1);
	writes(stage, DB, 1);
	reads(stage, DC, 1);
	reads(stage, DD, 1);
	(void)stage_heard(stage);
	is(alone(stage, DB, CALL_LEAVE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "c:wake a;");
	is(reads(stage, DC, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "d:wake a;");
	is(reads(stage, DD, 1), OUTCOME_YES);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
	/* A reader that leaves while a writer has the lock changes nothing for those who wait. */
	reads(stage, DE, 1);
	for (int i = DA; i <= DE; i++)
		shares(stage, i, CALL_RELEASE, 1);
	writes(stage, DA, 2);
	reads(stage, DB, 2);
	reads(stage, DC, 2);
	(void)stage_heard(stage);
	is(shares(stage, DB, CALL_LEAVE, 2), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
}

ON_BOTH(a_writer_that_waits_for_readers_of_its_own_keeps_others_from_coming_in)
{
	struct call enter = shared(callers_call(CALL_ENTER, "a", 1));
	enter.queue_ms = 3000;
	is(callers_say(stage, DA, enter), OUTCOME_NO);
	reads(stage, DA, 1);
	reads(stage, DB, 1);
	(void)stage_heard(stage);
	is(callers_say(stage, DA, enter), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "b:want a;");
	is(reads(stage, DC, 1), OUTCOME_BUSY);
	/* Said again it is the same place. */
	is(callers_say(stage, DA, enter), OUTCOME_YES);
	is_busy(writes(stage, DD, 1), B ":1", 3);
	shares(stage, DA, CALL_RELEASE, 1);
	is_busy(writes(stage, DA, 2), B ":1", 1);
	(void)stage_heard(stage);
	shares(stage, DB, CALL_RELEASE, 1);
	ck_assert_str_eq(stage_heard(stage), "a:wake a;");
	is(writes(stage, DA, 2), OUTCOME_YES);
	is(callers_say(stage, DA, enter), OUTCOME_NO);
}

ON_BOTH(what_another_attempt_of_ours_has_stays)
{
	/* A share of an earlier attempt, and the lock is wanted alone. */
	reads(stage, DA, 1);
	is_busy(writes(stage, DA, 2), A ":1", 1);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
	shares(stage, DA, CALL_RELEASE, 1);
	is(writes(stage, DA, 2), OUTCOME_YES);
	/* The other way round. */
	is_busy(reads(stage, DA, 3), A ":2", 1);
	alone(stage, DA, CALL_RELEASE, 2);
	is(reads(stage, DA, 3), OUTCOME_YES);
	/* Beside another reader. */
	reads(stage, DB, 1);
	is(writes(stage, DA, 4), OUTCOME_BUSY);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	/* A copy that comes late. */
	is(writes(stage, DA, 2), OUTCOME_BUSY);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
}

ON_BOTH(a_reader_that_had_its_turn_for_nothing_has_it_again)
{
	struct call back = shared(callers_call(CALL_RELEASE, "a", 2));
	back.queue_ms = 3000;
	writes(stage, DA, 1);
	reads(stage, DB, 1);
	writes(stage, DC, 1);
	alone(stage, DA, CALL_RELEASE, 1);
	is(reads(stage, DB, 2), OUTCOME_YES);
	(void)stage_heard(stage);
	is(callers_say(stage, DB, back), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
	is_busy(writes(stage, DC, 1), "", 2);
	is_busy(reads(stage, DD, 1), "", 3);
	is(reads(stage, DB, 3), OUTCOME_YES);
	is(callers_say(stage, DB, back), OUTCOME_NO);
}

/* ---- an exclusive lease that becomes a shared one ---- */

ON_BOTH(who_has_it_alone_may_share_it_without_a_gap)
{
	struct vote v = writes(stage, DA, 1);
	int64_t last = v.token_last;
	reads(stage, DB, 1);
	writes(stage, DC, 1);
	(void)stage_heard(stage);
	is(shares(stage, DB, CALL_RENEW, 1), OUTCOME_NO);
	is(shares(stage, DA, CALL_RENEW, 2), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), A ":1");
	v = shares(stage, DA, CALL_RENEW, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.position, 2);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	is(reads(stage, DB, 1), OUTCOME_YES);
	/* Said again it is a renewal like any other. */
	struct call call = shared(callers_call(CALL_RENEW, "a", 1));
	call.block = 5;
	v = callers_say(stage, DA, call);
	is(v, OUTCOME_YES);
	ck_assert_int_gt(v.token_first, last);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	/* What is shared is no lease of its own any more. */
	is(alone(stage, DA, CALL_RENEW, 1), OUTCOME_WRONGKIND);
	is(alone(stage, DA, CALL_RELEASE, 1), OUTCOME_WRONGKIND);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_YES);
	is(writes(stage, DC, 1), OUTCOME_YES);
}

ON_BOTH(a_lease_that_is_to_be_shared_ends_as_it_is)
{
	writes(stage, DA, 1);
	reads(stage, DB, 1);
	(void)stage_heard(stage);
	is(shares(stage, DB, CALL_RELEASE, 1), OUTCOME_NO);
	is(shares(stage, DA, CALL_RELEASE, 2), OUTCOME_NO);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "b:wake a;");
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), "");
}

ON_BOTH(a_vote_that_is_repaired_becomes_shared_too)
{
	writes(stage, DA, 1);
	writes(stage, DB, 1);
	(void)stage_heard(stage);
	struct call call = shared(callers_call(CALL_ACQUIRE, "a", 1));
	call.queue_ms = CALL_QUEUELESS;
	is(callers_say(stage, DA, call), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
	/* It is ours, whoever waits. */
	call.queue_ms = 3000;
	is(callers_say(stage, DA, call), OUTCOME_YES);
	ck_assert_str_eq(stage_heard(stage), "");
}

/* ---- what else may lie at the key ---- */

ON_BOTH(a_key_of_another_kind_is_not_touched)
{
	static const char *const scripts_[] = {"return redis.call('ZADD', KEYS[1], 1, 'x')",
		"return redis.call('HSET', KEYS[1], '6ba7b810-9dad-11d1-80b4-00c04fd430c8:1', '1')",
		"return redis.call('HSET', KEYS[1], 'kind', 'odd', 'x', '" A ":1 9000000000000000')"};
	static const enum call_op ops[] = {CALL_ACQUIRE, CALL_RENEW, CALL_RELEASE};
	for (size_t i = 0; i < sizeof(scripts_) / sizeof(scripts_[0]); i++) {
		stage_do(stage, "return redis.call('DEL', KEYS[1])", "hf:{a}");
		stage_do(stage, scripts_[i], "hf:{a}");
		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
			is(shares(stage, DA, ops[k], 1), OUTCOME_WRONGKIND);
			is(callers_say(stage, DA, callers_permits(callers_call(ops[k], "a", 1), 3, 1, "1")),
				OUTCOME_WRONGKIND);
			is(alone(stage, DA, ops[k], 1), OUTCOME_WRONGKIND);
		}
		ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -1);
		ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
		ck_assert_str_eq(stage_heard(stage), "");
	}
}

ON_BOTH(permits_and_readers_are_not_of_one_family)
{
	struct call some = callers_permits(callers_call(CALL_ACQUIRE, "a", 1), 3, 1, NULL);
	reads(stage, DA, 1);
	(void)stage_heard(stage);
	is(callers_say(stage, DB, some), OUTCOME_WRONGKIND);
	ck_assert_str_eq(stage_heard(stage), "a:want a;");
	shares(stage, DA, CALL_RELEASE, 1);
	writes(stage, DA, 2);
	is(callers_say(stage, DB, some), OUTCOME_WRONGKIND);
	is(callers_say(stage, DA, callers_permits(callers_call(CALL_RENEW, "a", 2), 3, 1, "0")), OUTCOME_NO);
	ck_assert_str_eq(stage_heard(stage), "a:want a;");
	alone(stage, DA, CALL_RELEASE, 2);
	is(callers_say(stage, DB, some), OUTCOME_YES);
	is(reads(stage, DA, 3), OUTCOME_WRONGKIND);
	is(writes(stage, DA, 3), OUTCOME_WRONGKIND);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}:q"), -2);
	is(callers_say(stage, DB, callers_as(some, CALL_RELEASE)), OUTCOME_YES);
	is(reads(stage, DA, 3), OUTCOME_YES);
}

ON_BOTH(who_waits_for_the_wrong_kind_leaves_the_queue)
{
	struct call some = callers_permits(callers_call(CALL_ACQUIRE, "a", 1), 3, 1, NULL);
	writes(stage, DA, 1);
	writes(stage, DB, 1);
	reads(stage, DC, 1);
	alone(stage, DA, CALL_RELEASE, 1);
	is_busy(callers_say(stage, DD, some), "", 3);
	is(writes(stage, DB, 1), OUTCOME_YES);
	(void)stage_heard(stage);
	is(callers_say(stage, DD, some), OUTCOME_WRONGKIND);
	struct vote v = alone(stage, DB, CALL_RENEW, 1);
	is(v, OUTCOME_YES);
	ck_assert_int_eq(v.position, 1);
	/* At the head it is in the way of those behind it: they are called. */
	alone(stage, DB, CALL_RELEASE, 1);
	callers_say(stage, DD, some);
	shares(stage, DC, CALL_LEAVE, 1);
	is(callers_say(stage, DD, some), OUTCOME_YES);
}

ON_BOTH(what_outlives_the_longest_lease_is_cut_short)
{
	reads(stage, DA, 1);
	reads(stage, DB, 1);
	/* The clock stepped back by a day. */
	stage_do(stage,
		"local now = redis.call('TIME')[1] "
		"redis.call('PEXPIRE', KEYS[1], 86400000) "
		"return redis.call('HSET', KEYS[1], '" A "', '" A ":1 ' .. (now + 86400) .. '000000')",
		"hf:{a}");
	struct vote v = writes(stage, DC, 1);
	is_busy(v, A ":1", 1);
	ck_assert_int_eq(v.change_ms, CAST_TTL_MS);
	ck_assert_int_le(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS);
	const char *rest = "local now, value = redis.call('TIME')[1], redis.call('HGET', KEYS[1], '" A "') "
			   "return string.format('%d', string.match(value, '(%d+)$') / 1000000 - now)";
	int64_t s = atoll(callers_ask(stage, rest, "hf:{a}"));
	ck_assert(s >= 10 && s <= 12);
	/* It is ours all the same. */
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_YES);
	stage_do(stage, "return redis.call('PERSIST', KEYS[1])", "hf:{a}");
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_YES);
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), 0);
}

ON_BOTH(a_full_master_keeps_and_releases_shares_but_grants_none)
{
	reads(stage, DA, 1);
	callers_say(stage, DA, callers_call(CALL_ACQUIRE, "c", 3));
	stage_full(stage, true);
	struct vote v = callers_say(stage, DA, shared(callers_call(CALL_ACQUIRE, "b", 2)));
	is(v, OUTCOME_ERROR);
	ck_assert(v.text.n > 3 && memcmp(v.text.p, "OOM", 3) == 0);
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_YES);
	is(callers_say(stage, DA, shared(callers_call(CALL_RENEW, "c", 3))), OUTCOME_YES);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_YES);
	stage_full(stage, false);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{a}"), -2);
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{b}"), -2);
	ck_assert_str_eq(group(stage, "hf:{c}"), "shared a");
}

/* ---- many names in one command ---- */

ON_BOTH(names_of_one_command_are_shared_each_for_itself)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	struct call calls[4];
	struct vote votes[4];
	stage_do(stage, "return redis.call('ZADD', KEYS[1], 1, 'x')", "hf:{b}");
	callers_say(stage, DB, callers_call(CALL_ACQUIRE, "c", 1));
	for (int i = 0; i < 4; i++) {
		calls[i] = shared(callers_call(CALL_ACQUIRE, names[i], (uint64_t)i + 1));
		calls[i].incarnation = CAST_INCARNATION;
	}
	calls[3] = callers_permits(calls[3], 5, 2, NULL);
	calls[3].block = 3;
	stage_calls(stage, &cast[DA], calls, 4, votes);
	is(votes[0], OUTCOME_YES);
	is(votes[1], OUTCOME_WRONGKIND);
	is(votes[2], OUTCOME_BUSY);
	is(votes[3], OUTCOME_YES);
	ck_assert_int_eq(votes[3].token_first, votes[0].token_last + 1);
	ck_assert_int_eq(votes[3].token_last, votes[3].token_first + 2);
	ck_assert(slice_equal(votes[3].slots, SLICE("0,1")));
	calls[3].slots = SLICE("0,1");
	for (int i = 0; i < 4; i++)
		calls[i] = callers_as(calls[i], CALL_RENEW);
	stage_calls(stage, &cast[DA], calls, 4, votes);
	is(votes[0], OUTCOME_YES);
	is(votes[1], OUTCOME_WRONGKIND);
	is(votes[2], OUTCOME_NO);
	is(votes[3], OUTCOME_YES);
	/* All of one answer. */
	calls[1] = calls[3];
	stage_calls(stage, &cast[DA], calls, 2, votes);
	is(votes[0], OUTCOME_YES);
	is(votes[1], OUTCOME_YES);
	for (int i = 0; i < 4; i++)
		calls[i] = callers_as(calls[i], CALL_RELEASE);
	stage_calls(stage, &cast[DA], calls, 4, votes);
	is(votes[0], OUTCOME_YES);
	is(votes[1], OUTCOME_YES);
	is(votes[2], OUTCOME_NO);
	is(votes[3], OUTCOME_NO);
}

ON_BOTH(the_most_names_fit_in_one_command)
{
	static char names[CALL_GROUP_MAX][16];
	struct call calls[CALL_GROUP_MAX];
	struct vote votes[CALL_GROUP_MAX];
	for (int i = 0; i < CALL_GROUP_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		calls[i] = shared(callers_call(CALL_ACQUIRE, names[i], (uint64_t)i + 1));
		calls[i].incarnation = CAST_INCARNATION;
		calls[i].ttl_ms -= i;
	}
	for (int op = CALL_ACQUIRE; op <= CALL_RELEASE; op++) {
		for (int i = 0; i < CALL_GROUP_MAX; i++)
			calls[i] = callers_as(calls[i], (enum call_op)op);
		stage_calls(stage, &cast[DA], calls, CALL_GROUP_MAX, votes);
		for (int i = 0; i < CALL_GROUP_MAX; i++)
			is(votes[i], op == CALL_RECLAIM ? OUTCOME_FORGOTTEN : OUTCOME_YES);
	}
	ck_assert_int_eq(stage_ttl_ms(stage, "hf:{n63}"), -2);
}

/* ---- a master that forgot ---- */

static struct call
reclaim_of(uint64_t attempt, int64_t newest)
{
	struct call call = callers_call(CALL_RECLAIM, "a", attempt);
	call.incarnation = 0xdef;
	call.newest = newest;
	return call;
}

ON_BOTH(a_master_that_forgot_shares_nothing_and_takes_reclaims)
{
	reads(stage, DA, 1);
	int64_t last = reads(stage, DB, 1).token_last;
	stage_flush(stage);
	is(shares(stage, DA, CALL_RENEW, 1), OUTCOME_FORGOTTEN);
	is(reads(stage, DA, 2), OUTCOME_FORGOTTEN);
	is(shares(stage, DA, CALL_RELEASE, 1), OUTCOME_FORGOTTEN);
	callers_hello(stage, 0xdef);
	struct call call = shared(reclaim_of(1, last));
	call.token = last;
	for (int i = 0; i < 2; i++) {
		is(callers_say(stage, DA, call), OUTCOME_YES);
		is(callers_say(stage, DB, call), OUTCOME_YES);
	}
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), CAST_TTL_MS - 1000);
	/* Nothing else until it is admitted. */
	for (int op = CALL_ACQUIRE; op <= CALL_RENEW; op++) {
		struct call early = shared(callers_call((enum call_op)op, "a", 1));
		early.incarnation = 0xdef;
		is(callers_say(stage, DA, early), OUTCOME_FORGOTTEN);
		is(callers_say(stage, DA, callers_permits(early, 3, 1, "1")), OUTCOME_FORGOTTEN);
	}
	/* An older lease of one who had it alone is not taken, and changes nothing. */
	is(callers_say(stage, DC, reclaim_of(7, last - 1)), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a b");
	call.deadline_us = 1;
	is(callers_say(stage, DC, call), OUTCOME_LATE);
	call = shared(callers_call(CALL_RELEASE, "a", 1));
	call.incarnation = 0xdef;
	is(callers_say(stage, DB, call), OUTCOME_YES);
	callers_open(stage, 0xdef);
	call = shared(reclaim_of(1, last));
	is(callers_say(stage, DA, call), OUTCOME_FORGOTTEN);
	call.op = CALL_RENEW;
	is(callers_say(stage, DA, call), OUTCOME_YES);
	struct vote v = callers_say(stage, DA, (struct call){.op = CALL_HELLO, .incarnation = 1});
	ck_assert_int_ge(v.highest, last);
}

ON_BOTH(of_a_writer_and_a_reader_that_reclaim_the_newer_one_stays)
{
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	is(callers_say(stage, DA, reclaim_of(1, 10)), OUTCOME_YES);
	is(callers_say(stage, DB, shared(reclaim_of(1, 10))), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), A ":1");
	is(callers_say(stage, DB, shared(reclaim_of(1, 20))), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared b");
	is(callers_say(stage, DA, reclaim_of(1, 10)), OUTCOME_NO);
	is(callers_say(stage, DC, shared(reclaim_of(1, 5))), OUTCOME_YES);
	/* The group counts as new as the newest of it. */
	is(callers_say(stage, DA, reclaim_of(1, 19)), OUTCOME_NO);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared b c");
	is(callers_say(stage, DA, reclaim_of(1, 21)), OUTCOME_YES);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), A ":1");
	is(callers_say(stage, DB, shared(reclaim_of(1, 20))), OUTCOME_NO);
	/* One that had it alone and shares it now is the same lease. */
	is(callers_say(stage, DA, shared(reclaim_of(1, 21))), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
	/* A later attempt of one daemon takes the place of an earlier one, not the other way round. */
	is(callers_say(stage, DA, shared(reclaim_of(2, 30))), OUTCOME_YES);
	is(callers_say(stage, DA, shared(reclaim_of(1, 21))), OUTCOME_NO);
}

ON_BOTH(a_reclaim_beats_whatever_an_old_backup_brought_back)
{
	static const char *const old[] = {
		"return redis.call('SET', KEYS[1], '" C ":9', 'PX', 9000)",
		"return redis.call('HSET', KEYS[1], 'kind', 'permits 3', '0', '" C ":9 9000000000000000')",
		"return redis.call('HSET', KEYS[1], 'kind', 'shared', '" A "', '" A ":9 9000000000000000')",
	};
	stage_flush(stage);
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		stage_flush(stage);
		callers_hello(stage, 0xdef);
		stage_do(stage, old[i], "hf:{a}");
		is(callers_say(stage, DA, shared(reclaim_of(1, 10))), OUTCOME_YES);
		ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
		ck_assert(strncmp(callers_ask(stage, "return redis.call('HGET', KEYS[1], '" A "')", "hf:{a}"),
				  A ":1 ", strlen(A ":1 ")) == 0);
		ck_assert_int_gt(stage_ttl_ms(stage, "hf:{a}"), 0);
	}
	/* And one who had it alone beats a group of the past. */
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	stage_do(stage, old[2], "hf:{a}");
	is(callers_say(stage, DB, reclaim_of(1, 10)), OUTCOME_YES);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), B ":1");
}

ON_BOTH(a_reclaimed_share_beside_one_of_the_past_ends_with_it)
{
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	stage_do(stage,
		"local now = redis.call('TIME')[1] "
		"return redis.call('HSET', KEYS[1], 'kind', 'shared', '" C "', '" C
		":9 ' .. (now + 5) .. '000000')",
		"hf:{a}");
	is(callers_say(stage, DA, shared(reclaim_of(1, 10))), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a c");
	is(callers_say(stage, DC, shared(reclaim_of(11, 12))), OUTCOME_YES);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a c");
}

ON_BOTH(a_reclaim_does_not_take_what_others_wrote)
{
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	stage_do(stage, "return redis.call('SET', KEYS[1], 'somebody')", "hf:{a}");
	is(callers_say(stage, DA, shared(reclaim_of(1, 10))), OUTCOME_NO);
	ck_assert_str_eq(stage_get(stage, "hf:{a}"), "somebody");
	stage_do(stage, "return redis.call('DEL', KEYS[1])", "hf:{a}");
	stage_do(stage, "return redis.call('HSET', KEYS[1], 'x:1', '1')", "hf:{a}");
	is(callers_say(stage, DA, shared(reclaim_of(1, 10))), OUTCOME_WRONGKIND);
	is(callers_say(stage, DA, reclaim_of(1, 10)), OUTCOME_WRONGKIND);
}

ON_BOTH(a_full_master_takes_reclaims_of_shares)
{
	stage_flush(stage);
	callers_hello(stage, 0xdef);
	stage_full(stage, true);
	is(callers_say(stage, DA, shared(reclaim_of(1, 10))), OUTCOME_YES);
	stage_full(stage, false);
	ck_assert_str_eq(group(stage, "hf:{a}"), "shared a");
}

int
main(void)
{
	return SUITE_RUN("script_shared", NULL, NULL, readers_share_a_name_and_each_has_tokens_of_its_own,
		a_call_with_a_shorter_term_ends_no_share_earlier, a_reader_is_one_member_whatever_it_repeats,
		only_the_owner_touches_a_share,
		each_reader_lives_as_long_as_it_said_and_the_key_as_long_as_any,
		a_group_of_the_dead_is_no_group, lifetimes_and_forms_out_of_range_are_refused,
		a_share_may_reserve_tokens_when_it_is_renewed,
		a_fenced_name_counts_for_readers_and_writers_together,
		a_writer_waits_for_every_reader_and_tells_them, a_reader_does_not_pass_a_writer_who_waits,
		readers_at_the_head_of_the_queue_call_each_other_in,
		a_reader_passes_readers_who_have_not_come_yet, readers_who_wait_are_in_no_readers_way,
		a_head_that_does_not_come_is_passed_by_a_reader,
		a_reader_that_is_called_and_does_not_come_is_passed_by_a_writer,
		a_writer_that_leaves_lets_the_readers_behind_it_in,
		a_writer_that_waits_for_readers_of_its_own_keeps_others_from_coming_in,
		what_another_attempt_of_ours_has_stays, who_has_it_alone_may_share_it_without_a_gap,
		a_lease_that_is_to_be_shared_ends_as_it_is,
		a_reader_that_had_its_turn_for_nothing_has_it_again,
		a_vote_that_is_repaired_becomes_shared_too, a_key_of_another_kind_is_not_touched,
		permits_and_readers_are_not_of_one_family, who_waits_for_the_wrong_kind_leaves_the_queue,
		what_outlives_the_longest_lease_is_cut_short,
		a_full_master_keeps_and_releases_shares_but_grants_none,
		names_of_one_command_are_shared_each_for_itself, the_most_names_fit_in_one_command,
		a_master_that_forgot_shares_nothing_and_takes_reclaims,
		of_a_writer_and_a_reader_that_reclaim_the_newer_one_stays,
		a_reclaim_beats_whatever_an_old_backup_brought_back,
		a_reclaimed_share_beside_one_of_the_past_ends_with_it,
		a_reclaim_does_not_take_what_others_wrote, a_full_master_takes_reclaims_of_shares);
}
