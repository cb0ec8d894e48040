/*
 * What a session with a grace keeps of each kind of lock; stories as in check_session.c.
 */
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define GRACE_MS 4000
#define SLACK_MS 501

static const struct command two_of_three = {
	.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 3, .permits = 2};
static const struct command one_of_three = {
	.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_PERMITS, .limit = 3, .permits = 1};

struct secret {
	char text[64];
};

static struct secret
ask_grace(struct story *w, conn_id conn)
{
	struct secret secret;

	run(w, conn, (struct command){.verb = VERB_SESSION_GRACE, .grace_ms = GRACE_MS});
	(void)snprintf(secret.text, sizeof(secret.text), "%.48s", story_text(w));
	return secret;
}

static const char *
resume(struct story *w, conn_id conn, const struct secret *secret)
{
	return run(w, conn, (struct command){.verb = VERB_SESSION_RESUME, .secret = slice_of(secret->text)});
}

static const char *
given(struct story *w, uint64_t attempt, const char *slots)
{
	return vote(w, (struct vote){.op = CALL_ACQUIRE,
			       .name = SLICE("a"),
			       .attempt = attempt,
			       .token_first = (int64_t)attempt * 100,
			       .token_last = (int64_t)attempt * 100 + 99,
			       .slots = slice_of(slots)});
}

/* Lets the grace end, while nobody renews anything. */
static const char *
let_it_end(struct story *w)
{
	after(w, GRACE_MS);
	return after(w, SLACK_MS);
}

START_TEST(a_reader_that_comes_back_reads_on)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	lock_shared(&w, 1, "a");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "c1 :500");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	close_as(&w, 1, END_ABANDONED);
	lock(&w, 3, "a");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(resume(&w, 4, &secret), "c4 :1");
	ck_assert_str_eq(lock(&w, 4, "a"), "c4 -UPGRADE");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | release a#1 shared | acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 900), "c3 :900");
	story_done(&w);
}
END_TEST

START_TEST(a_reader_that_waited_is_let_in_with_the_others)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 1, "a");
	lock_shared(&w, 3, "a");
	close_as(&w, 1, END_ABANDONED);
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :502");
	ck_assert_str_eq(resume(&w, 4, &secret), "c4 :1");
	/* It asked to read, and that is what it has. */
	ck_assert_str_eq(lock_shared(&w, 4, "a"), "c4 :501");
	ck_assert_str_eq(lock_shared(&w, 4, "a"), "c4 -HELD");
	story_done(&w);
}
END_TEST

START_TEST(another_kind_is_another_lock)
{
	struct story w;
	struct resource_view view;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	lock(&w, 2, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 1, "a");
	lock(&w, 3, "a");
	close_as(&w, 1, END_ABANDONED);
	resume(&w, 4, &secret);
	/* Now it wants to write: behind the other writer, as anybody who comes now. */
	ck_assert_str_eq(lock(&w, 4, "a"), "");
	/* The place to read is still there: the grant is told to nobody, but the wait to write is behind it
	 * now. */
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 -DEADLOCK");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert(view.held && view.hold.session == 1 && view.waiters == 1);
	story_done(&w);
}
END_TEST

START_TEST(permits_are_kept_and_come_back_with_the_end_of_the_grace)
{
	struct story w;
	struct secret secret;
	struct resource_view view;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	run(&w, 1, two_of_three);
	ck_assert_str_eq(given(&w, 1, "0,1"), "c1 :100");
	close_as(&w, 1, END_ABANDONED);
	resume(&w, 4, &secret);
	ck_assert_str_eq(run(&w, 4, two_of_three), "c4 -HELD");
	ck_assert_str_eq(check(&w, 4, "a"), "c4 :977");
	close_as(&w, 4, END_ABANDONED);
	let_it_end(&w);
	ck_assert(!core_view_resource(w.core, w.now.ms, SLICE("a"), &view) || view.taken == 0);
	story_done(&w);
}
END_TEST

START_TEST(a_place_for_permits_is_taken_over_by_who_wants_as_many)
{
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	run(&w, 2, two_of_three);
	given(&w, 1, "0,1");
	run(&w, 1, two_of_three);
	run(&w, 3, one_of_three);
	close_as(&w, 1, END_ABANDONED);
	resume(&w, 4, &secret);
	ck_assert_str_eq(run(&w, 4, two_of_three), "");
	/* Handed on here, to the first in line. */
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c4 :101");
	story_done(&w);
}
END_TEST

START_TEST(an_mlock_ends_with_its_connection)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	const struct command mlock = {.verb = VERB_MLOCK,
		.names = names,
		.name_count = 2,
		.wait_ms = COMMAND_WAIT_RULE,
		.retries = COMMAND_RETRIES_ANY};
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	ck_assert_str_eq(run(&w, 1, mlock), "acquire a#2 once");
	ck_assert_str_eq(granted(&w, "a", 2, 700), "");
	/* Of all or none it has none. */
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "release a#2");
	ck_assert_str_eq(resume(&w, 3, &secret), "c3 :0");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | release b#1");
	story_done(&w);
}
END_TEST

START_TEST(who_resumes_takes_nothing_over_of_an_mlock_or_a_latch)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	struct story w;
	struct secret secret;

	story_ready(&w);
	secret = ask_grace(&w, 1);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	run(&w, 1,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = 2,
			.wait_ms = COMMAND_WAIT_RULE,
			.retries = COMMAND_RETRIES_ANY});
	granted(&w, "a", 2, 700);
	ck_assert_str_eq(resume(&w, 3, &secret), "c1 close | c3 :0 | release a#2");
	run(&w, 3, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("l")});
	ck_assert_str_eq(resume(&w, 4, &secret), "c3 close | c4 :0");
	close_as(&w, 3, END_ABANDONED);
	story_done(&w);
}
END_TEST

START_TEST(time_in_mlock_and_await_is_no_silence)
{
	const struct slice names[] = {SLICE("a"), SLICE("b")};
	struct story w;

	story_ready(&w);
	lock(&w, 2, "b");
	granted(&w, "b", 1, 500);
	for (conn_id c = 1; c <= 3; c += 2)
		run(&w, c, (struct command){.verb = VERB_SESSION_HEARTBEAT, .heartbeat_ms = 100});
	run(&w, 1,
		(struct command){.verb = VERB_MLOCK,
			.names = names,
			.name_count = 2,
			.wait_ms = COMMAND_WAIT_RULE,
			.retries = COMMAND_RETRIES_ANY});
	run(&w, 3, (struct command){.verb = VERB_LATCH_AWAIT, .name = SLICE("l")});
	for (int i = 0; i < 20; i++)
		ck_assert_ptr_null(strstr(after(&w, 15), "close"));
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("grace_kinds", NULL, NULL, a_reader_that_comes_back_reads_on,
		a_reader_that_waited_is_let_in_with_the_others, another_kind_is_another_lock,
		permits_are_kept_and_come_back_with_the_end_of_the_grace,
		a_place_for_permits_is_taken_over_by_who_wants_as_many, an_mlock_ends_with_its_connection,
		who_resumes_takes_nothing_over_of_an_mlock_or_a_latch, time_in_mlock_and_await_is_no_silence);
}
