/*
 * Tests of daemon/redis/replicas: how large a group is, how many of it have to acknowledge, and what is said
 * when they do not.
 */
#include "daemon/redis/replicas.h"
#include "tests/support/suite.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

static void
info(struct replicas *r, const char *text)
{
	char copy[300];
	struct redisReply reply = {.type = REDIS_REPLY_STRING, .str = copy};

	snprintf(copy, sizeof copy, "%s", text);
	reply.len = strlen(copy);
	replicas_read_info(r, &reply);
}

START_TEST(a_majority_of_the_group_is_the_master_and_so_many_more)
{
	static const unsigned needed[] = {0, 1, 1, 2, 2, 3, 3};
	unsigned n;

	for (n = 0; n < sizeof needed / sizeof *needed; n++) {
		struct replicas r = {.watched = true, .named = n};

		ck_assert_uint_eq(replicas_known(&r), n);
		ck_assert_uint_eq(replicas_needed(&r), needed[n]);
		/* Two of such majorities have a server in common. */
		ck_assert_uint_gt(2 * (1 + replicas_needed(&r)), 1 + n);
	}
}
END_TEST

START_TEST(the_greater_number_counts)
{
	struct replicas r = {.watched = true, .named = 1};

	info(&r, "# Replication\r\nrole:master\r\nconnected_slaves:3\r\nslave0:ip=::1\r\n");
	ck_assert_uint_eq(replicas_known(&r), 3);
	ck_assert(!r.missing);
	r.named = 5;
	ck_assert_uint_eq(replicas_known(&r), 5);
	info(&r, "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n");
	ck_assert_uint_eq(replicas_known(&r), 5);
}
END_TEST

START_TEST(too_few_connections_are_too_few)
{
	struct replicas r = {.watched = true, .named = 3};

	info(&r, "\nconnected_slaves:2\r\n");
	ck_assert(!r.missing);
	info(&r, "\nconnected_slaves:1\r\n");
	ck_assert(r.missing);
	ck_assert_str_eq(r.why, "NOREPLICAS 1 of 3 replicas acknowledge, at least 2 must");
	/* Connections alone do not mend it. */
	info(&r, "\nconnected_slaves:3\r\n");
	ck_assert(r.missing);
	ck_assert(replicas_judge(&r, 2));
	ck_assert(!r.missing);
}
END_TEST

START_TEST(an_answer_without_a_number_is_none)
{
	struct replicas r = {.watched = true, .named = 2};

	info(&r, "# Replication\r\nrole:slave\r\n");
	ck_assert_uint_eq(r.connected, 0);
	info(&r, "\nconnected_slaves:99999999999999999999\r\n");
	ck_assert_uint_eq(r.connected, 1000);
	r = (struct replicas){.watched = true, .named = 2};
	replicas_read_info(&r, &(struct redisReply){.type = REDIS_REPLY_ERROR, .str = (char[]){"NOPERM"}});
	ck_assert_uint_eq(r.connected, 0);
	ck_assert(!replicas_judge(&r, -1));
	ck_assert_str_eq(r.why, "NOREPLICAS 0 of 2 replicas acknowledge, at least 1 must");
}
END_TEST

START_TEST(what_a_master_says_has_to_be_acknowledged)
{
	struct replicas r = {.watched = true, .named = 2};

	ck_assert(replicas_matter(&r, CALL_ACQUIRE));
	ck_assert(replicas_matter(&r, CALL_RENEW));
	ck_assert(replicas_matter(&r, CALL_RECLAIM));
	ck_assert(replicas_matter(&r, CALL_ADMIT));
	ck_assert(replicas_matter(&r, CALL_HELLO));
	ck_assert(replicas_matter(&r, CALL_LATCH));
	ck_assert(!replicas_matter(&r, CALL_RELEASE));
	ck_assert(!replicas_matter(&r, CALL_LEAVE));
	ck_assert(!replicas_matter(&r, CALL_ENTER));
	r.watched = false;
	ck_assert(!replicas_matter(&r, CALL_ACQUIRE));
	ck_assert(replicas_judge(&r, 0));
	r = (struct replicas){.watched = true};
	ck_assert(!replicas_matter(&r, CALL_ACQUIRE)); /* a master alone */
}
END_TEST

/* What is left of this vote when too few have acknowledged it. */
static struct vote
disbelieved(const struct replicas *r, enum call_op op, enum outcome outcome, enum greeting greeting)
{
	const struct call call = {.op = op, .attempt = 7};
	struct vote vote = {.op = op, .outcome = outcome, .attempt = 7, .time_us = 5, .greeting = greeting};
	bool less = replicas_disbelieve(r, &call, &vote);

	ck_assert(less == (vote.outcome != outcome));
	ck_assert_int_eq(vote.time_us, 5);
	ck_assert_uint_eq(vote.attempt, 7);
	return vote;
}

START_TEST(a_greeting_that_nobody_acknowledged_is_an_error_that_says_so)
{
	struct replicas r = {.watched = true, .named = 2};
	struct vote vote;

	replicas_judge(&r, 0);
	vote = disbelieved(&r, CALL_HELLO, OUTCOME_YES, GREETING_GOOD);
	ck_assert_int_eq(vote.outcome, OUTCOME_ERROR);
	ck_assert_ptr_eq(vote.text.p, r.why);
	/* The link was lost before anybody said how many there are. */
	replicas_judge(&r, 1);
	ck_assert_int_eq(disbelieved(&r, CALL_HELLO, OUTCOME_YES, GREETING_GOOD).outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(what_is_no_grant_needs_no_replica)
{
	struct replicas r = {.watched = true, .named = 2};

	replicas_judge(&r, 0);
	ck_assert_int_eq(disbelieved(&r, CALL_HELLO, OUTCOME_YES, GREETING_REPLICA).outcome, OUTCOME_YES);
	ck_assert_int_eq(disbelieved(&r, CALL_HELLO, OUTCOME_ERROR, GREETING_GOOD).outcome, OUTCOME_ERROR);
	ck_assert_int_eq(disbelieved(&r, CALL_ACQUIRE, OUTCOME_BUSY, GREETING_GOOD).outcome, OUTCOME_BUSY);
	ck_assert_int_eq(disbelieved(&r, CALL_RENEW, OUTCOME_NO, GREETING_GOOD).outcome, OUTCOME_NO);
	ck_assert_int_eq(disbelieved(&r, CALL_ACQUIRE, OUTCOME_YES, GREETING_GOOD).outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(disbelieved(&r, CALL_ADMIT, OUTCOME_YES, GREETING_GOOD).outcome, OUTCOME_UNKNOWN);
	/* Of a latch it is as new to others that there is none. */
	ck_assert_int_eq(disbelieved(&r, CALL_LATCH, OUTCOME_YES, GREETING_GOOD).outcome, OUTCOME_UNKNOWN);
	ck_assert_int_eq(disbelieved(&r, CALL_LATCH, OUTCOME_NO, GREETING_GOOD).outcome, OUTCOME_UNKNOWN);
}
END_TEST

START_TEST(nothing_new_is_begun_while_too_few_acknowledge)
{
	struct replicas r = {.watched = true, .named = 2};

	ck_assert_ptr_null(replicas_refuse(&r, CALL_ACQUIRE));
	replicas_judge(&r, 0);
	ck_assert_ptr_eq(replicas_refuse(&r, CALL_ACQUIRE), r.why);
	ck_assert_ptr_eq(replicas_refuse(&r, CALL_LATCH), r.why);
	ck_assert_ptr_null(replicas_refuse(&r, CALL_RENEW));
	ck_assert_ptr_null(replicas_refuse(&r, CALL_RECLAIM));
	ck_assert_ptr_null(replicas_refuse(&r, CALL_RELEASE));
	ck_assert_ptr_null(replicas_refuse(&r, CALL_HELLO)); /* by which it is seen that they are back */
}
END_TEST

int
main(void)
{
	return SUITE_RUN("replicas", NULL, NULL, a_majority_of_the_group_is_the_master_and_so_many_more,
		the_greater_number_counts, too_few_connections_are_too_few,
		an_answer_without_a_number_is_none, what_a_master_says_has_to_be_acknowledged,
		a_greeting_that_nobody_acknowledged_is_an_error_that_says_so,
		what_is_no_grant_needs_no_replica, nothing_new_is_begun_while_too_few_acknowledge);
}
