/*
 * Tests of lua/hello.lua: which set of masters a master stores, and whom it refuses, on a real server and on
 * the simulated one.
 */
#include "tests/sim/world/callers.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define ID     "0000000000001001"
#define S      "1 " ID ":url 0000000000001002:url 0000000000001003:url"
#define T      "1 " ID ":url 0000000000001002:url 0000000000001004:url"
#define T2     "2 " ID ":url 0000000000001002:url 0000000000001004:url"
#define T3     "3 " ID ":url 0000000000001002:url 0000000000001004:url"
#define S2     "2 " ID ":url 0000000000001002:url 0000000000001003:url"
#define FEW    "2 " ID ":url 0000000000001005:url 0000000000001006:url"
#define FEW1   "1 " ID ":url 0000000000001005:url 0000000000001006:url"
#define ABROAD "1 0000000000001002:url 0000000000001003:url 0000000000001004:url"

/* The first member gives way to another server. */
#define R   "2 0000000000001002:url 0000000000001003:url 0000000000001009+url"
#define R3  "3 " ID ":url 0000000000001002:url 0000000000001009+url"
#define R9  "9 " ID ":url 0000000000001002:url 0000000000001008+url"
#define R9B "9 " ID ":url 0000000000001002:url 0000000000001009+url"
#define R10 "10 " ID ":url 0000000000001002:url 0000000000001008+url"
#define RN  "2 " ID "+url 0000000000001002:url 0000000000001003:url"

static struct stage stage;

/* Each test is run once on each kind of server. */
#undef ON_BOTH
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

/* A daemon that says so; its registration lives for some 30 ms. */
static struct vote
messages_of(int daemon, const char *set, const char *places, enum agreement agreement, uint32_t tag)
{
	struct call_settings brief = cast[daemon];
	struct call call = {.op = CALL_HELLO,
		.incarnation = CAST_INCARNATION,
		.wanted_lease_ms = 20,
		.set = tag,
		.id = STAGE_ID,
		.masterset = slice_of(set),
		.places = slice_of(places),
		.agreement = agreement};
	struct vote vote;

	brief.margin_ms = 5;
	stage_calls(&stage, &brief, &call, 1, &vote);
	ck_assert_int_eq(vote.outcome, OUTCOME_YES);
	return vote;
}

/* A daemon of an agreed set that gives the next one as well. */
static struct vote
gives(int daemon, const char *set, const char *next, enum next_step step)
{
	struct call_settings brief = cast[daemon];
	struct call call = {.op = CALL_HELLO,
		.incarnation = CAST_INCARNATION + 1,
		.wanted_lease_ms = 20,
		.set = 7,
		.id = STAGE_ID,
		.masterset = slice_of(set),
		.places = slice_of("a b c"),
		.agreement = AGREEMENT_AGREED,
		.next = {.set = slice_of(next),
			.places = slice_of("b c d | a"),
			.step = step,
			.tag = next[0] != '\0' ? (uint32_t)next[0] : 0}};
	struct vote vote;

	brief.margin_ms = 5;
	stage_calls(&stage, &brief, &call, 1, &vote);
	ck_assert_int_eq(vote.outcome, OUTCOME_YES);
	return vote;
}

/* Of members at places that no other set of these tests has. */
static struct vote
says(int daemon, const char *set, enum agreement agreement, uint32_t tag)
{
	bool few = strcmp(set, FEW) == 0 || strcmp(set, FEW1) == 0;

	return messages_of(daemon, set, few ? "a e f" : "a b c", agreement, tag);
}

static void
admitted(int daemon)
{
	(void)says(daemon, "", AGREEMENT_NONE, 0);
	ck_assert_int_eq(callers_say(&stage, daemon,
				 (struct call){.op = CALL_ADMIT, .incarnation = CAST_INCARNATION, .token = 1})
				 .outcome,
		OUTCOME_YES);
}

static void
ends(struct vote vote, enum hello_result hello, const char *set, enum agreement agreement)
{
	ck_assert_int_eq(vote.hello, hello);
	ck_assert_msg(
		slice_equal(vote.masterset, slice_of(set)), "%.*s", (int)vote.masterset.n, vote.masterset.p);
	ck_assert_int_eq(vote.agreement, agreement);
	ck_assert_uint_eq(vote.id, STAGE_ID);
}

static void
stands(struct vote vote, const char *next, enum next_step step, const char *unacknowledged)
{
	ck_assert_int_eq(vote.hello, HELLO_GOOD);
	ck_assert_msg(
		slice_equal(vote.next.set, slice_of(next)), "%.*s", (int)vote.next.set.n, vote.next.set.p);
	ck_assert_int_eq(vote.next.step, step);
	ck_assert_msg(slice_equal(vote.unacknowledged, slice_of(unacknowledged)), "%.*s",
		(int)vote.unacknowledged.n, vote.unacknowledged.p);
}

static bool
admits(uint32_t tag)
{
	return callers_say(&stage, DA,
		       (struct call){
			       .op = CALL_ADMIT, .incarnation = CAST_INCARNATION, .set = tag, .token = 1})
		       .outcome == OUTCOME_YES;
}

ON_BOTH(a_set_goes_its_steps_and_never_back)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_OFFERED, 7), HELLO_GOOD, S, AGREEMENT_OFFERED);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 7), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	ends(says(DB, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	ck_assert(admits(0) && !admits(7));
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	ends(says(DB, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_AGREED);
	/* From here on who does not say which set it is meant for is forgotten. */
	ck_assert(admits(7) && !admits(0) && !admits(8));
}

ON_BOTH(an_offer_is_not_taken_while_memory_may_be_lost)
{
	(void)says(DA, "", AGREEMENT_NONE, 0);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, "", AGREEMENT_NONE);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, "", AGREEMENT_NONE);
	/* Who knows that it is agreed brings it back at once. */
	ends(says(DB, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	ends(says(DA, T, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
}

/* As if the master's clock had gone back by a day since DA registered. */
ON_BOTH(a_set_does_not_give_way_because_the_clock_of_its_master_goes_back)
{
	admitted(DA);
	(void)says(DA, S, AGREEMENT_OFFERED, 0);
	(void)says(DA, S, AGREEMENT_ACCEPTED, 0);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	stage_do(&stage,
		"for _, k in ipairs(redis.call('HKEYS', KEYS[1])) do if string.sub(k, 1, 2) == 'd:' then "
		"local ms, rest = string.match(redis.call('HGET', KEYS[1], k), '^(%d+)(.*)$') "
		"redis.call('HSET', KEYS[1], k, string.format('%.0f', ms + 86400000000) .. rest) end end "
		"return 1",
		"hf:node");
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
	/* But it does not live until tomorrow. */
	stage_wait_ms(&stage, 120);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_GOOD, T2, AGREEMENT_OFFERED);
}

ON_BOTH(a_set_that_an_operator_deletes_leaves_no_step_behind)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	stage_do(&stage, "return redis.call('HDEL', KEYS[1], 'id', 'set')", "hf:node");
	ends(says(DA, "", AGREEMENT_NONE, 0), HELLO_GOOD, "", AGREEMENT_NONE);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
}

ON_BOTH(an_acceptance_needs_an_offer)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, "", AGREEMENT_NONE);
}

ON_BOTH(an_offer_gives_way_to_what_is_agreed_and_to_nothing_else_while_its_daemons_live)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
	ends(says(DB, T, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_OFFERED);
	ends(says(DB, T, AGREEMENT_ACCEPTED, 0), HELLO_OTHERSET, S, AGREEMENT_OFFERED);
	ends(says(DB, T, AGREEMENT_AGREED, 9), HELLO_GOOD, T, AGREEMENT_AGREED);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_OTHERSET, T, AGREEMENT_AGREED);
	ck_assert(admits(9) && !admits(7));
}

ON_BOTH(an_acceptance_gives_way_only_to_a_later_generation_while_its_daemons_live)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	ends(says(DB, T, AGREEMENT_AGREED, 9), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
	ends(says(DB, T2, AGREEMENT_AGREED, 9), HELLO_GOOD, T2, AGREEMENT_AGREED);
}

ON_BOTH(what_is_agreed_gives_way_to_an_offer_once_no_daemon_lives)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
	stage_wait_ms(&stage, 60);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_GOOD, T2, AGREEMENT_OFFERED);
	/* Nobody may go on under the old one unnoticed; its daemons may still bring it back. */
	ck_assert(!admits(7) && admits(0));
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
}

/* Daemons of the set that gave way to the offer may live, cut off, and those of an earlier one, too. */
ON_BOTH(behind_an_offer_no_earlier_set_is_agreed_on_again)
{
	admitted(DA);
	ends(says(DA, S2, AGREEMENT_AGREED, 7), HELLO_GOOD, S2, AGREEMENT_AGREED);
	stage_wait_ms(&stage, 60);
	ends(says(DB, T3, AGREEMENT_OFFERED, 0), HELLO_GOOD, T3, AGREEMENT_OFFERED);
	ends(says(DB, T, AGREEMENT_AGREED, 9), HELLO_OTHERSET, T3, AGREEMENT_OFFERED);
	ck_assert(!admits(9));
	ends(says(DA, S2, AGREEMENT_AGREED, 7), HELLO_GOOD, S2, AGREEMENT_AGREED);
}

/* A snapshot may have brought the master back to where it had accepted a set that others gave up. */
ON_BOTH(what_is_accepted_gives_way_to_an_agreed_set_of_its_generation)
{
	admitted(DA);
	(void)says(DA, S, AGREEMENT_OFFERED, 0);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	/* As long as its daemons may live it may be agreed on. */
	ends(says(DB, T, AGREEMENT_AGREED, 7), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
	stage_wait_ms(&stage, 60);
	ends(says(DB, FEW1, AGREEMENT_AGREED, 7), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
	ends(says(DB, T, AGREEMENT_ACCEPTED, 0), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
	/* So may its daemons have lived that the master has forgotten. */
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	ends(says(DB, T, AGREEMENT_AGREED, 7), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
	stage_wait_ms(&stage, 60);
	ends(says(DB, T, AGREEMENT_AGREED, 7), HELLO_GOOD, T, AGREEMENT_AGREED);
}

ON_BOTH(what_is_agreed_gives_way_only_with_a_majority_of_its_members)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	stage_wait_ms(&stage, 60);
	ends(says(DB, FEW, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_GOOD, T2, AGREEMENT_OFFERED);
	stage_wait_ms(&stage, 60);
	/* Of an offer none needs to be there. */
	ends(says(DC, FEW, AGREEMENT_OFFERED, 0), HELLO_GOOD, FEW, AGREEMENT_OFFERED);
}

ON_BOTH(members_that_have_other_ids_since_they_forgot_count_by_their_places)
{
	admitted(DA);
	(void)says(DA, S, AGREEMENT_OFFERED, 0);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	stage_wait_ms(&stage, 60);
	ends(messages_of(DA, FEW, "a b", AGREEMENT_OFFERED, 0), HELLO_GOOD, FEW, AGREEMENT_OFFERED);
}

ON_BOTH(a_place_counts_as_a_whole)
{
	admitted(DA);
	(void)says(DA, S, AGREEMENT_OFFERED, 0);
	ends(says(DA, S, AGREEMENT_ACCEPTED, 0), HELLO_GOOD, S, AGREEMENT_ACCEPTED);
	stage_wait_ms(&stage, 60);
	ends(messages_of(DA, FEW, "a bb cc", AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_ACCEPTED);
}

ON_BOTH(the_tokens_of_a_new_set_go_on_above_all_that_its_members_told)
{
	admitted(DA);
	struct call call = {.op = CALL_HELLO,
		.incarnation = CAST_INCARNATION,
		.set = 7,
		.token = INT64_C(1) << 51,
		.id = STAGE_ID,
		.masterset = slice_of(S),
		.agreement = AGREEMENT_AGREED};
	struct vote vote;
	stage_calls(&stage, &cast[DA], &call, 1, &vote);
	ck_assert_int_gt(vote.highest, call.token);
	ck_assert_str_eq(callers_ask(&stage, "return redis.call('HGET', KEYS[1], 'floor')", "hf:node"),
		"2251799813685248");
}

ON_BOTH(who_was_refused_is_not_registered)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	stage_wait_ms(&stage, 60);
	ends(says(DC, T, AGREEMENT_NONE, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_GOOD, T2, AGREEMENT_OFFERED);
}

ON_BOTH(who_is_refused_is_told_which_daemons_live_under_the_other_set)
{
	struct vote vote;
	char ids[64];
	admitted(DA);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	ends(says(DB, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	vote = says(DC, T2, AGREEMENT_OFFERED, 0);
	snprintf(ids, sizeof(ids), "%.8s, %.8s", cast[DA].daemon_id, cast[DB].daemon_id);
	ck_assert_msg(slice_equal(vote.text, slice_of(ids)), "%.*s", (int)vote.text.n, vote.text.p);
}

ON_BOTH(a_set_without_this_master_is_not_stored)
{
	admitted(DA);
	ends(says(DA, ABROAD, AGREEMENT_OFFERED, 0), HELLO_GOOD, "", AGREEMENT_NONE);
	ends(says(DA, ABROAD, AGREEMENT_AGREED, 7), HELLO_GOOD, "", AGREEMENT_NONE);
}

ON_BOTH(a_changed_identity_keeps_the_set_and_takes_no_offer)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	stage_wait_ms(&stage, 60);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_OTHERSET, S, AGREEMENT_AGREED);
	/* Its guard began with that. */
	ck_assert(!says(DA, "", AGREEMENT_NONE, 0).admitted);
	stage_wait_ms(&stage, 60);
	ends(says(DB, T2, AGREEMENT_OFFERED, 0), HELLO_GOOD, T2, AGREEMENT_OFFERED);
}

static void
agreed(int daemon)
{
	admitted(daemon);
	ends(says(daemon, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
}

static const char *
first_digits(int daemon)
{
	static char digits[9];

	snprintf(digits, sizeof(digits), "%.8s", cast[daemon].daemon_id);
	return digits;
}

ON_BOTH(a_next_set_stands_beside_the_one_that_is_agreed_on)
{
	struct vote vote;

	agreed(DA);
	/* Step by step. */
	stands(gives(DA, S, R, NEXT_ACCEPTED), R, NEXT_OFFERED, "");
	vote = gives(DA, S, R, NEXT_OFFERED);
	ends(vote, HELLO_GOOD, S, AGREEMENT_AGREED);
	stands(vote, R, NEXT_OFFERED, "");
	ck_assert(slice_equal(vote.next.places, slice_of("b c d | a")));
	/* The calls are those of the set that is agreed on. */
	ck_assert(admits(7) && !admits('2'));
	stands(gives(DA, S, R, NEXT_ACCEPTED), R, NEXT_ACCEPTED, "");
	stands(gives(DA, S, R, NEXT_OFFERED), R, NEXT_ACCEPTED, "");
	stands(gives(DA, S, "", NEXT_NONE), R, NEXT_ACCEPTED, "");
}

ON_BOTH(a_next_set_is_taken_from_daemons_of_the_set_that_is_stored_alone)
{
	admitted(DA);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
	agreed(DA);
	ck_assert_int_eq(gives(DB, T, R, NEXT_OFFERED).hello, HELLO_OTHERSET);
	stands(gives(DA, S, "1 " ID ":url", NEXT_OFFERED), "", NEXT_NONE, "");
	stands(gives(DA, S, "x", NEXT_OFFERED), "", NEXT_NONE, "");
}

ON_BOTH(an_offered_next_set_gives_way_to_a_later_one_and_an_accepted_one_to_none)
{
	char unacknowledged[9];

	agreed(DA);
	stands(gives(DA, S, R3, NEXT_OFFERED), R3, NEXT_OFFERED, "");
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DA));
	stands(gives(DB, S, R, NEXT_OFFERED), R3, NEXT_OFFERED, unacknowledged);
	stands(gives(DB, S, R9, NEXT_OFFERED), R9, NEXT_OFFERED, unacknowledged);
	stands(gives(DB, S, R9B, NEXT_OFFERED), R9B, NEXT_OFFERED, unacknowledged);
	stands(gives(DB, S, R9, NEXT_OFFERED), R9B, NEXT_OFFERED, unacknowledged);
	stands(gives(DB, S, R9, NEXT_INSISTED), R9, NEXT_OFFERED, unacknowledged);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DB));
	/* It was offered here, and is not any more. */
	stands(gives(DA, S, R3, NEXT_ACCEPTED), R9, NEXT_OFFERED, unacknowledged);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DA));
	stands(gives(DB, S, R9, NEXT_ACCEPTED), R9, NEXT_ACCEPTED, unacknowledged);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DA));
	stands(gives(DB, S, R10, NEXT_OFFERED), R9, NEXT_ACCEPTED, unacknowledged);
	stands(gives(DB, S, R10, NEXT_ACCEPTED), R9, NEXT_ACCEPTED, unacknowledged);
}

ON_BOTH(a_next_set_is_acknowledged_by_the_daemons_that_gave_it)
{
	char unacknowledged[9];

	agreed(DA);
	ends(says(DB, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DB));
	stands(gives(DA, S, R, NEXT_OFFERED), R, NEXT_OFFERED, unacknowledged);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DA));
	stands(gives(DB, S, R3, NEXT_OFFERED), R3, NEXT_OFFERED, unacknowledged);
	stands(gives(DA, S, R3, NEXT_OFFERED), R3, NEXT_OFFERED, "");
	/* Until it is registered without it, or its registration is over. */
	ends(says(DB, S, AGREEMENT_AGREED, 7), HELLO_GOOD, S, AGREEMENT_AGREED);
	snprintf(unacknowledged, sizeof(unacknowledged), "%s", first_digits(DB));
	stands(gives(DA, S, R3, NEXT_OFFERED), R3, NEXT_OFFERED, unacknowledged);
	stage_wait_ms(&stage, 60);
	stands(gives(DA, S, R3, NEXT_OFFERED), R3, NEXT_OFFERED, "");
}

/* It may have accepted another one before. */
ON_BOTH(a_master_that_may_have_forgotten_accepts_no_next_set)
{
	agreed(DA);
	stage_do(&stage, "return redis.call('HSET', KEYS[1], 'run', 'another')", "hf:node");
	stands(gives(DA, S, R, NEXT_ACCEPTED), R, NEXT_OFFERED, "");
	stands(gives(DA, S, R, NEXT_ACCEPTED), R, NEXT_OFFERED, "");
	stage_wait_ms(&stage, 60);
	stands(gives(DA, S, R, NEXT_ACCEPTED), R, NEXT_ACCEPTED, "");
}

ON_BOTH(a_next_set_ends_with_a_set_of_its_generation)
{
	agreed(DA);
	stands(gives(DA, S, R, NEXT_OFFERED), R, NEXT_OFFERED, "");
	ends(says(DA, T2, AGREEMENT_AGREED, 9), HELLO_GOOD, T2, AGREEMENT_AGREED);
	stands(gives(DA, T2, "", NEXT_NONE), "", NEXT_NONE, "");
	stands(gives(DA, T2, R, NEXT_OFFERED), "", NEXT_NONE, "");
	stands(gives(DA, T2, R3, NEXT_OFFERED), R3, NEXT_OFFERED, "");
}

ON_BOTH(a_newcomer_has_no_memory_of_the_set_that_it_comes_to)
{
	struct vote vote;

	agreed(DA);
	stage_do(&stage, "return redis.call('SET', KEYS[1], 'x')", "hf:reclaimed");
	vote = gives(DA, RN, "", NEXT_NONE);
	ends(vote, HELLO_GOOD, RN, AGREEMENT_AGREED);
	ck_assert(!vote.admitted);
	ck_assert_uint_eq(vote.incarnation, CAST_INCARNATION + 1);
	ck_assert_str_eq(
		callers_ask(&stage, "return tostring(redis.call('EXISTS', KEYS[1]))", "hf:reclaimed"), "0");
	/* Once: its guard goes on. */
	stage_wait_ms(&stage, 60);
	vote = gives(DA, RN, R3, NEXT_OFFERED);
	stands(vote, R3, NEXT_OFFERED, "");
	ck_assert(!vote.admitted);
}

ON_BOTH(a_server_that_has_left_stores_the_set_without_it)
{
	agreed(DA);
	ck_assert_int_eq(gives(DA, R, "", NEXT_NONE).hello, HELLO_OTHERSET);
	ends(gives(DA, R, "", NEXT_LEFT), HELLO_GOOD, R, AGREEMENT_AGREED);
	/* A daemon of the set before is told so, and that set is over. */
	ends(says(DB, S, AGREEMENT_AGREED, 7), HELLO_OTHERSET, R, AGREEMENT_AGREED);
}

ON_BOTH(a_server_that_was_no_member_has_not_left)
{
	admitted(DA);
	ends(gives(DA, R, "", NEXT_LEFT), HELLO_GOOD, "", AGREEMENT_NONE);
	ends(says(DA, S, AGREEMENT_OFFERED, 0), HELLO_GOOD, S, AGREEMENT_OFFERED);
	ck_assert_int_eq(gives(DA, R, "", NEXT_LEFT).hello, HELLO_OTHERSET);
}

int
main(void)
{
	return SUITE_RUN("script_set", NULL, NULL, a_set_goes_its_steps_and_never_back,
		a_set_does_not_give_way_because_the_clock_of_its_master_goes_back,
		a_set_that_an_operator_deletes_leaves_no_step_behind,
		an_offer_is_not_taken_while_memory_may_be_lost, an_acceptance_needs_an_offer,
		an_offer_gives_way_to_what_is_agreed_and_to_nothing_else_while_its_daemons_live,
		an_acceptance_gives_way_only_to_a_later_generation_while_its_daemons_live,
		what_is_agreed_gives_way_to_an_offer_once_no_daemon_lives,
		behind_an_offer_no_earlier_set_is_agreed_on_again,
		what_is_accepted_gives_way_to_an_agreed_set_of_its_generation,
		who_was_refused_is_not_registered,
		what_is_agreed_gives_way_only_with_a_majority_of_its_members,
		members_that_have_other_ids_since_they_forgot_count_by_their_places,
		a_place_counts_as_a_whole, the_tokens_of_a_new_set_go_on_above_all_that_its_members_told,
		who_is_refused_is_told_which_daemons_live_under_the_other_set,
		a_set_without_this_master_is_not_stored, a_changed_identity_keeps_the_set_and_takes_no_offer,
		a_next_set_stands_beside_the_one_that_is_agreed_on,
		a_next_set_is_taken_from_daemons_of_the_set_that_is_stored_alone,
		an_offered_next_set_gives_way_to_a_later_one_and_an_accepted_one_to_none,
		a_next_set_is_acknowledged_by_the_daemons_that_gave_it,
		a_master_that_may_have_forgotten_accepts_no_next_set,
		a_next_set_ends_with_a_set_of_its_generation,
		a_newcomer_has_no_memory_of_the_set_that_it_comes_to,
		a_server_that_has_left_stores_the_set_without_it, a_server_that_was_no_member_has_not_left);
}
