/*
 * LOCK ... CLAIM (PROTOCOL.md 3.46): a grant that no later request names in time is given back. Each test is
 * a short story (tests/support/story.h).
 */
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_MS 100
#define GRACE_MS 4000
#define ID       SLICE("6f1c0d8e5b7a4e9f")

static struct story w;

static void
begin(void)
{
	story_ready(&w);
}

static void
end(void)
{
	story_done(&w);
}

/* A LOCK of a with CLAIM. */
static struct command
claiming(void)
{
	return (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .claim_ms = CLAIM_MS};
}

/* c1 is granted a by this LOCK, and c2 waits for it. */
static void
offered_as(struct command c)
{
	ck_assert_str_eq(run(&w, 1, c), "acquire a#1");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
}

static void
offered(void)
{
	offered_as(claiming());
}

/* Whatever has happened, it has claimed nothing: the hold ends with its CLAIM, which has run for `passed` ms.
 */
static void
not_claimed(int64_t passed)
{
	ck_assert_str_eq(after(&w, CLAIM_MS - passed - 1), "");
	ck_assert_str_eq(after(&w, 1), "c2 :501");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
}

/* It is claimed: CLAIM does not end it, and c1 gives it back. */
static void
claimed(void)
{
	ck_assert_str_eq(after(&w, 2 * CLAIM_MS), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501");
}

static const char *
reason(void)
{
	static char word[16];

	(void)sscanf(w.actions.list[0].u.reply.text, "%15s", word);
	return word;
}

START_TEST(a_grant_that_no_request_names_is_given_back)
{
	offered();
	not_claimed(0);
	ck_assert_str_eq(reason(), "claim");
	/* The client chose this end, and knows of it: a LOCK begins anew. */
	ck_assert_str_eq(lock(&w, 1, "a"), "");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c1 :502");
	ck_assert_str_eq(after(&w, 2 * CLAIM_MS), "");
}
END_TEST

START_TEST(a_request_that_names_the_hold_claims_it)
{
	static const enum verb verbs[] = {VERB_CHECK, VERB_EXTEND, VERB_DOWNGRADE};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (i > 0)
			begin();
		offered();
		after(&w, CLAIM_MS - 1);
		run(&w, 1, (struct command){.verb = verbs[i], .name = SLICE("a"), .extend_ms = 9});
		claimed();
		if (i + 1 < sizeof(verbs) / sizeof(verbs[0]))
			end();
	}
}
END_TEST

START_TEST(its_token_claims_a_hold_and_another_token_does_not)
{
	struct command of = {.verb = VERB_CHECK, .name = SLICE("a"), .token = 499};

	offered();
	ck_assert_str_eq(run(&w, 1, of), "c1 null");
	of.verb = VERB_UNLOCK;
	ck_assert_str_eq(run(&w, 1, of), "c1 -NOTHELD");
	not_claimed(0);
	end();
	begin();
	offered();
	of = (struct command){.verb = VERB_CHECK, .name = SLICE("a"), .token = 500};
	ck_assert_str_eq(run(&w, 1, of), "c1 :977");
	claimed();
}
END_TEST

START_TEST(what_another_thread_may_have_sent_claims_nothing)
{
	const struct slice names[] = {SLICE("a")};

	offered();
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -HELD");
	ck_assert_ptr_nonnull(strstr(w.actions.list[0].u.reply.text, "CHECK claims it"));
	ck_assert_str_eq(run(&w, 1,
				 (struct command){.verb = VERB_MLOCK,
					 .wait_ms = COMMAND_WAIT_RULE,
					 .names = names,
					 .name_count = 1}),
		"c1 -HELD");
	ck_assert_str_eq(
		run(&w, 1, (struct command){.verb = VERB_CHECK, .name = SLICE("a"), .owner = SLICE("t")}),
		"c1 null");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 null");
	not_claimed(0);
}
END_TEST

START_TEST(a_lock_with_the_tag_of_the_hold_is_the_same_once_more)
{
	struct command tagged = claiming(), give = {.verb = VERB_UNLOCK, .name = SLICE("a")};

	tagged.owner = give.owner = SLICE("t");
	offered_as(tagged);
	after(&w, CLAIM_MS - 1);
	ck_assert_str_eq(run(&w, 1, tagged), "c1 :500");
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	/* It is claimed: the next one enters it again. */
	ck_assert_str_eq(run(&w, 1, tagged), "c1 :500");
	ck_assert_str_eq(run(&w, 1, give), "c1 :1");
	ck_assert_str_eq(run(&w, 1, give), "c1 :0 | c2 :501");
}
END_TEST

/* It may be a copy that comes late, as what granted it may have been. */
START_TEST(a_repeated_lock_as_id_puts_the_end_off_and_its_token_claims_the_hold)
{
	struct command c = claiming();
	struct command named = {.verb = VERB_CHECK, .name = SLICE("a"), .token = 500, .as = ID};

	c.as = ID;
	offered_as(c);
	after(&w, CLAIM_MS - 1);
	ck_assert_str_eq(run(&w, 3, c), "c3 :500");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(run(&w, 3, c), "c3 :500");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "c2 :501");
	end();
	begin();
	offered_as(c);
	ck_assert_str_eq(run(&w, 3, named), "c3 :977");
	ck_assert_str_eq(after(&w, 2 * CLAIM_MS), "");
	named.verb = VERB_UNLOCK;
	ck_assert_str_eq(run(&w, 3, named), "c3 :0 | c2 :501");
	end();
	/* Other requests with the id do not name it. */
	begin();
	offered_as(c);
	ck_assert_str_eq(
		run(&w, 3, (struct command){.verb = VERB_CHECK, .name = SLICE("b"), .as = ID}), "c3 null");
	ck_assert_str_eq(after(&w, CLAIM_MS), "c2 :501");
	named.verb = VERB_UNLOCK;
	ck_assert_str_eq(run(&w, 3, named), "c3 -LOST");
}
END_TEST

START_TEST(a_lock_that_came_before_the_grant_claims_nothing)
{
	struct command first = claiming(), second;

	first.kind = KIND_SHARED;
	first.owner = SLICE("t");
	first.id = SLICE("j1");
	second = first;
	second.id = SLICE("j2");
	ck_assert_str_eq(run(&w, 1, first), "c1 +QUEUED | acquire a#1 shared");
	ck_assert_str_eq(run(&w, 1, second), "c1 +QUEUED");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 push grant j1 | c1 push grant j2");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "release a#1 shared");
}
END_TEST

START_TEST(whichever_is_over_first_ends_the_hold)
{
	struct command c = claiming();

	c.lease_ms = CLAIM_MS / 2;
	offered_as(c);
	ck_assert_str_eq(after(&w, CLAIM_MS / 2), "c2 :501");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(reason(), "lease");
	end();
	begin();
	c.lease_ms = CLAIM_MS;
	offered_as(c);
	ck_assert_str_eq(after(&w, CLAIM_MS), "c2 :501");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(reason(), "lease");
	end();
	/* A claim leaves the LEASE as it was. */
	begin();
	c.lease_ms = 2 * CLAIM_MS;
	offered_as(c);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :196");
	ck_assert_str_eq(after(&w, 2 * CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "c2 :501");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(reason(), "lease");
}
END_TEST

START_TEST(no_deadline_is_told_beyond_the_claim)
{
	struct command c = claiming();

	c.validity = true;
	run(&w, 1, c);
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500 for 97");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	/* Its client is gone, and may rely on it for so long. */
	after(&w, 10);
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(after(&w, CLAIM_MS - 11), "");
	ck_assert_str_eq(after(&w, 1), "c2 :501");
}
END_TEST

START_TEST(each_name_of_an_mlock_has_to_be_claimed)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	const struct command c = {.verb = VERB_MLOCK,
		.wait_ms = COMMAND_WAIT_RULE,
		.names = names,
		.name_count = 2,
		.claim_ms = CLAIM_MS};

	ck_assert_str_eq(run(&w, 1, c), "acquire a#1 once | acquire b#2 once");
	granted(&w, "a", 1, 500);
	/* Before the answer no time runs. */
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	ck_assert_str_eq(granted(&w, "b", 2, 600), "c1 [:500 :600]");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	check(&w, 1, "b");
	ck_assert_str_eq(after(&w, 1), "release a#1");
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	ck_assert_str_eq(unlock(&w, 1, "b"), "c1 :0 | release b#2");
}
END_TEST

START_TEST(a_repeated_mlock_as_id_puts_the_end_of_all_its_names_off)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	struct command c = {.verb = VERB_MLOCK,
		.wait_ms = COMMAND_WAIT_RULE,
		.names = names,
		.name_count = 2,
		.claim_ms = CLAIM_MS,
		.as = ID};

	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	granted(&w, "b", 2, 600);
	after(&w, CLAIM_MS - 1);
	ck_assert_str_eq(run(&w, 2, c), "c2 [:500 :600]");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "release a#1 | release b#2");
}
END_TEST

START_TEST(permits_and_shared_holds_are_given_back_likewise)
{
	struct command c = claiming();

	c.kind = KIND_SHARED;
	run(&w, 1, c);
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(run(&w, 2, c), "c2 :501");
	check(&w, 2, "a");
	ck_assert_str_eq(lock(&w, 3, "a"), "enter a#1 shared");
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 shared | acquire a#2");
	end();
	begin();
	c.kind = KIND_PERMITS;
	c.limit = c.permits = 2;
	run(&w, 1, c);
	vote(&w, (struct vote){.op = CALL_ACQUIRE,
			 .name = SLICE("a"),
			 .attempt = 1,
			 .token_first = 500,
			 .token_last = 599,
			 .slots = SLICE("0,1")});
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "release a#1 2 of 2: 0,1");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
}
END_TEST

/* ---- without a connection ---- */

static struct slice
grace(conn_id conn)
{
	static char secret[64];

	run(&w, conn, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = GRACE_MS});
	(void)snprintf(secret, sizeof(secret), "%.48s", story_text(&w));
	return slice_of(secret);
}

static const char *
resume(conn_id conn, struct slice secret)
{
	return run(&w, conn, (struct command){.verb = VERB_SESSION_RESUME, .secret = secret});
}

START_TEST(the_time_runs_on_while_the_session_has_no_connection)
{
	struct slice secret = grace(1);

	offered();
	close_as(&w, 1, END_GONE);
	after(&w, CLAIM_MS - 1);
	ck_assert_str_eq(resume(3, secret), "c3 :1");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 :879");
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c2 :501");
	end();
	begin();
	secret = grace(1);
	offered();
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(after(&w, CLAIM_MS), "c2 :501");
	ck_assert_str_eq(resume(3, secret), "c3 :0");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 -LOST");
	ck_assert_str_eq(reason(), "claim");
}
END_TEST

START_TEST(a_grant_to_a_lost_connection_is_given_back_and_is_no_loss)
{
	struct slice secret;

	lock(&w, 3, "a");
	granted(&w, "a", 1, 500);
	secret = grace(1);
	ck_assert_str_eq(run(&w, 1, claiming()), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	close_as(&w, 1, END_GONE);
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
	ck_assert_str_eq(after(&w, CLAIM_MS - 1), "");
	ck_assert_str_eq(after(&w, 1), "c2 :502");
	ck_assert_str_eq(resume(3, secret), "c3 :0");
	ck_assert_str_eq(check(&w, 3, "a"), "c3 null");
}
END_TEST

START_TEST(the_lock_sent_again_takes_up_a_grant_to_a_lost_connection)
{
	struct slice secret;

	lock(&w, 3, "a");
	granted(&w, "a", 1, 500);
	secret = grace(1);
	run(&w, 1, claiming());
	lock(&w, 2, "a");
	close_as(&w, 1, END_GONE);
	unlock(&w, 3, "a");
	ck_assert_str_eq(resume(3, secret), "c3 :1");
	ck_assert_str_eq(run(&w, 3, claiming()), "c3 :501");
	ck_assert_str_eq(after(&w, CLAIM_MS), "");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c2 :502");
}
END_TEST

START_TEST(an_id_whose_connection_is_lost_has_the_shorter_of_both_times)
{
	struct command c = claiming();

	c.as = ID;
	for (unsigned i = 0; i < 2; i++) {
		if (i > 0)
			begin();
		lock(&w, 3, "a");
		granted(&w, "a", 1, 500);
		run(&w, 1, (struct command){.verb = VERB_SESSION_TTL, .ttl_ms = 150, .as = ID});
		c.claim_ms = i == 0 ? CLAIM_MS : 10 * CLAIM_MS;
		run(&w, 1, c);
		lock(&w, 2, "a");
		close_as(&w, 1, END_GONE);
		ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
		ck_assert_str_eq(after(&w, i == 0 ? CLAIM_MS - 1 : 149), "");
		ck_assert_str_eq(after(&w, 1), "c2 :502");
		if (i == 0)
			end();
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("claim", begin, end, a_grant_that_no_request_names_is_given_back,
		a_request_that_names_the_hold_claims_it, its_token_claims_a_hold_and_another_token_does_not,
		what_another_thread_may_have_sent_claims_nothing,
		a_lock_with_the_tag_of_the_hold_is_the_same_once_more,
		a_repeated_lock_as_id_puts_the_end_off_and_its_token_claims_the_hold,
		a_lock_that_came_before_the_grant_claims_nothing, whichever_is_over_first_ends_the_hold,
		no_deadline_is_told_beyond_the_claim, each_name_of_an_mlock_has_to_be_claimed,
		a_repeated_mlock_as_id_puts_the_end_of_all_its_names_off,
		permits_and_shared_holds_are_given_back_likewise,
		the_time_runs_on_while_the_session_has_no_connection,
		a_grant_to_a_lost_connection_is_given_back_and_is_no_loss,
		the_lock_sent_again_takes_up_a_grant_to_a_lost_connection,
		an_id_whose_connection_is_lost_has_the_shorter_of_both_times);
}
