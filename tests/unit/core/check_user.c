/*
 * What the sessions of one user may have together; stories as in check_core.c.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/core.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

enum { ANN = 7, BOB = 8 };

static struct peer
peer_of(uint64_t user)
{
	return (struct peer){.pid = 4711, .uid = 0, .user = user};
}

static void
open_as(struct story *w, conn_id conn, uint64_t user)
{
	struct peer peer = peer_of(user);

	ck_assert_str_eq(step(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &peer}), "");
}

static void
login(struct story *w, conn_id conn, uint64_t user)
{
	struct peer peer = peer_of(user);

	ck_assert_str_eq(step(w, &(struct event){.type = EVENT_PEER, .conn = conn, .peer = &peer}), "");
}

/* Three locks for each user; 11, 12 and 13 are Ann's, 14 is Bob's. */
static void
story_of_users(struct story *w)
{
	story_init(w);
	w->settings.per_user.locks = 3;
	story_anew(w);
	open_as(w, 11, ANN);
	open_as(w, 12, ANN);
	open_as(w, 13, ANN);
	open_as(w, 14, BOB);
}

static void
take(struct story *w, conn_id conn, const char *name, uint64_t attempt)
{
	char text[32];

	lock(w, conn, name);
	(void)snprintf(text, sizeof(text), "c%llu :%llu", (unsigned long long)conn,
		(unsigned long long)attempt * 1000);
	ck_assert_str_eq(granted(w, name, attempt, (int64_t)attempt * 1000), text);
}

static const char *
permits(struct story *w, conn_id conn, const char *name, int64_t n)
{
	return run(w, conn,
		(struct command){.verb = VERB_LOCK,
			.name = slice_of(name),
			.kind = KIND_PERMITS,
			.limit = 10,
			.permits = n});
}

static const char *
mlock(struct story *w, conn_id conn, const char *first, const char *second)
{
	struct slice names[2] = {slice_of(first), slice_of(second)};

	return run(w, conn,
		(struct command){
			.verb = VERB_MLOCK, .names = names, .name_count = 2, .wait_ms = COMMAND_WAIT_RULE});
}

START_TEST(all_sessions_of_a_user_count_together_and_apart_from_others)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "a", 1);
	take(&w, 11, "b", 2);
	take(&w, 12, "c", 3);
	ck_assert_str_eq(lock(&w, 13, "d"), "c13 -LIMIT");
	ck_assert_str_eq(lock(&w, 11, "d"), "c11 -LIMIT");
	/* What is held already is no more by being asked about. */
	ck_assert_str_eq(lock(&w, 11, "a"), "c11 -HELD");
	take(&w, 14, "d", 4);
	ck_assert_str_eq(unlock(&w, 12, "c"), "c12 :0 | release c#3");
	take(&w, 13, "e", 5);
	story_done(&w);
}
END_TEST

START_TEST(waits_count_and_end_with_their_connection)
{
	struct story w;

	story_of_users(&w);
	take(&w, 14, "a", 1);
	lock(&w, 11, "a");
	lock(&w, 12, "a");
	take(&w, 13, "b", 2);
	ck_assert_str_eq(lock(&w, 13, "a"), "c13 -LIMIT");
	/* To hold what was waited for is no more. */
	ck_assert_str_eq(unlock(&w, 14, "a"), "c14 :0 | c11 :1001");
	ck_assert_str_eq(lock(&w, 13, "a"), "c13 -LIMIT");
	close_as(&w, 12, END_GONE);
	ck_assert_str_eq(lock(&w, 13, "a"), "");
	story_done(&w);
}
END_TEST

START_TEST(what_is_withheld_counts_until_it_passes_on)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "fragile a", 1);
	take(&w, 11, "fragile b", 2);
	take(&w, 12, "c", 3);
	close_as(&w, 11, END_ABANDONED);
	ck_assert_str_eq(lock(&w, 13, "d"), "c13 -LIMIT");
	close_as(&w, 12, END_CLEAN);
	ck_assert_str_eq(lock(&w, 13, "d"), "acquire d#4");
	close_as(&w, 13, END_CLEAN);
	/* And so does a user of whom there is no session any more. */
	open_as(&w, 15, ANN);
	take(&w, 15, "f", 5);
	ck_assert_str_eq(lock(&w, 15, "g"), "c15 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(when_it_has_passed_on_there_is_room_again)
{
	struct story w;

	story_of_users(&w);
	w.settings.per_user.locks = 1;
	core_set_limits(w.core, &w.settings.grace, &w.settings.per_user);
	take(&w, 11, "a", 1);
	close_as(&w, 11, END_ABANDONED);
	close_as(&w, 12, END_CLEAN);
	ck_assert_str_eq(lock(&w, 13, "b"), "c13 -LIMIT");
	ck_assert_ptr_nonnull(strstr(after(&w, LEASE_MS), "release a#1"));
	ck_assert_str_eq(lock(&w, 13, "b"), "acquire b#2");
	story_done(&w);
}
END_TEST

START_TEST(of_a_semaphore_each_permit_counts)
{
	struct story w;

	story_of_users(&w);
	ck_assert_str_eq(permits(&w, 11, "s", 4), "c11 -LIMIT");
	ck_assert_str_eq(permits(&w, 11, "s", 2), "acquire s#1 2 of 10");
	ck_assert_str_eq(permits(&w, 12, "t", 2), "c12 -LIMIT");
	ck_assert_str_eq(permits(&w, 12, "t", 1), "acquire t#2 1 of 10");
	ck_assert_str_eq(permits(&w, 13, "t", 1), "c13 -LIMIT");
	story_done(&w);
}
END_TEST

/* Each once, however it goes with them: by a hold, a wait, or its place in the MLOCK. */
START_TEST(names_of_an_mlock_count_once_while_it_waits_and_after)
{
	struct story w;

	story_of_users(&w);
	take(&w, 14, "b", 1);
	mlock(&w, 11, "a", "b");
	ck_assert_str_eq(granted(&w, "a", 2, 2000), "");
	take(&w, 12, "c", 3);
	ck_assert_str_eq(lock(&w, 13, "d"), "c13 -LIMIT");
	ck_assert_str_eq(unlock(&w, 14, "b"), "c14 :0 | c11 [:2000 :1001]");
	ck_assert_str_eq(lock(&w, 13, "d"), "c13 -LIMIT");
	unlock(&w, 11, "a");
	ck_assert_str_eq(lock(&w, 13, "d"), "acquire d#4");
	close_as(&w, 13, END_CLEAN);
	/* And none is left when it goes unanswered. */
	mlock(&w, 12, "b", "e");
	close_as(&w, 12, END_CLEAN);
	close_as(&w, 11, END_CLEAN);
	for (conn_id c = 15; c < 18; c++) {
		open_as(&w, c, ANN);
		ck_assert_ptr_null(strstr(lock(&w, c, "x"), "-LIMIT"));
	}
	story_done(&w);
}
END_TEST

START_TEST(an_mlock_has_room_for_all_its_names_or_is_refused)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "a", 1);
	take(&w, 12, "b", 2);
	ck_assert_str_eq(mlock(&w, 13, "c", "d"), "c13 -LIMIT");
	unlock(&w, 12, "b");
	take(&w, 14, "c", 3);
	/* It waits for the first of its names, and has room for the other one. */
	ck_assert_str_eq(mlock(&w, 13, "c", "d"), "");
	ck_assert_str_eq(lock(&w, 12, "e"), "c12 -LIMIT");
	close_as(&w, 13, END_GONE);
	ck_assert_str_eq(lock(&w, 12, "e"), "acquire e#4");
	story_done(&w);
}
END_TEST

START_TEST(who_logs_in_as_another_takes_along_what_he_has)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "a", 1);
	take(&w, 12, "b", 2);
	take(&w, 14, "c", 3);
	login(&w, 11, BOB);
	take(&w, 14, "d", 4);
	ck_assert_str_eq(lock(&w, 14, "e"), "c14 -LIMIT");
	ck_assert_str_eq(lock(&w, 11, "e"), "c11 -LIMIT");
	take(&w, 12, "e", 5);
	take(&w, 13, "f", 6);
	ck_assert_str_eq(lock(&w, 13, "g"), "c13 -LIMIT");
	close_as(&w, 11, END_ABANDONED);
	ck_assert_str_eq(lock(&w, 14, "g"), "c14 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(who_logs_in_as_another_who_has_no_room_for_his_locks_stays_counted_as_he_was)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "a", 1);
	take(&w, 11, "b", 2);
	take(&w, 14, "c", 3);
	take(&w, 14, "d", 4);
	login(&w, 11, BOB);
	take(&w, 14, "e", 5);
	ck_assert_str_eq(lock(&w, 14, "f"), "c14 -LIMIT");
	take(&w, 12, "f", 6);
	ck_assert_str_eq(lock(&w, 13, "g"), "c13 -LIMIT");
	/* As soon as there is room, and something is said of him again. */
	unlock(&w, 14, "c");
	unlock(&w, 14, "d");
	login(&w, 11, BOB);
	take(&w, 12, "g", 7);
	ck_assert_str_eq(lock(&w, 14, "h"), "c14 -LIMIT");
	story_done(&w);
}
END_TEST

START_TEST(who_logs_in_as_another_who_has_no_room_for_his_grace_stays_counted_as_he_was)
{
	const struct command grace = {.verb = VERB_SESSION_GRACE, .grace_ms = 100};
	struct story w;

	story_of_users(&w);
	w.settings.grace.per_user = 1;
	core_set_limits(w.core, &w.settings.grace, &w.settings.per_user);
	ck_assert_ptr_nonnull(strstr(run(&w, 11, grace), "c11 0"));
	ck_assert_ptr_nonnull(strstr(run(&w, 14, grace), "c14 0"));
	login(&w, 11, BOB);
	ck_assert_str_eq(run(&w, 12, grace), "c12 -LIMIT");
	story_done(&w);
}
END_TEST

static void
take_for(struct story *w, conn_id conn, const char *name, uint64_t attempt, int64_t lease_ms)
{
	run(w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name), .lease_ms = lease_ms});
	granted(w, name, attempt, (int64_t)attempt * 1000);
}

START_TEST(of_all_sessions_of_a_user_as_many_losses_are_remembered_as_he_may_have_locks)
{
	struct story w;

	story_of_users(&w);
	take_for(&w, 11, "a", 1, 10);
	take_for(&w, 12, "b", 2, 10);
	take_for(&w, 13, "c", 3, 20);
	after(&w, 10);
	take_for(&w, 13, "d", 4, 20);
	take_for(&w, 14, "e", 5, 20);
	after(&w, 20);
	/* Whose session it is that has lost one too many is reminded of its latest. */
	ck_assert_str_eq(unlock(&w, 13, "c"), "c13 -NOTHELD");
	ck_assert_str_eq(unlock(&w, 13, "d"), "c13 -LOST");
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 -LOST");
	ck_assert_str_eq(unlock(&w, 12, "b"), "c12 -LOST");
	ck_assert_str_eq(unlock(&w, 14, "e"), "c14 -LOST");
	story_done(&w);
}
END_TEST

/* Of the sessions of Ann that end, the first has only losses left, the second has holds. */
START_TEST(what_a_session_still_holds_at_its_end_makes_room_for_its_user)
{
	struct story w;

	story_of_users(&w);
	w.core->settings.end_holds = 1;
	take_for(&w, 11, "a", 1, 10);
	take_for(&w, 11, "b", 2, 10);
	take_for(&w, 11, "c", 3, 10);
	after(&w, 10);
	take(&w, 12, "d", 4);
	take(&w, 12, "e", 5);
	take(&w, 12, "f", 6);
	close_as(&w, 11, END_CLEAN);
	close_as(&w, 12, END_CLEAN);
	ck_assert_uint_eq(w.core->counts.grants, 2);
	ck_assert_str_eq(lock(&w, 13, "g"), "release e#5 | acquire g#7");
	ck_assert_str_eq(granted(&w, "g", 7, 7000), "c13 :7000");
	ck_assert_str_eq(lock(&w, 13, "h"), "release d#4 | acquire h#8");
	story_done(&w);
}
END_TEST

static const char *
unlock_as(struct story *w, conn_id conn, const char *name, const char *owner)
{
	return run(w, conn,
		(struct command){.verb = VERB_UNLOCK, .name = slice_of(name), .owner = slice_of(owner)});
}

START_TEST(a_loss_is_of_one_name_and_one_tag)
{
	struct story w;

	story_of_users(&w);
	run(&w, 11,
		(struct command){
			.verb = VERB_LOCK, .name = SLICE("ab"), .owner = SLICE("c"), .lease_ms = 10});
	granted(&w, "ab", 1, 1000);
	run(&w, 11,
		(struct command){
			.verb = VERB_LOCK, .name = SLICE("a"), .owner = SLICE("bc"), .lease_ms = 10});
	granted(&w, "a", 2, 2000);
	after(&w, 10);
	ck_assert_str_eq(unlock_as(&w, 11, "abc", ""), "c11 -NOTHELD");
	ck_assert_str_eq(unlock_as(&w, 11, "a", "bc"), "c11 -LOST");
	ck_assert_str_eq(unlock_as(&w, 11, "a", "bc"), "c11 -NOTHELD");
	ck_assert_str_eq(unlock_as(&w, 11, "ab", "c"), "c11 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(what_is_lost_twice_is_told_once)
{
	struct command twice = {
		.verb = VERB_LOCK, .name = SLICE("a"), .id = SLICE("i"), .wait_ms = 1000, .lease_ms = 10};
	struct story w;

	story_of_users(&w);
	run(&w, 11, twice);
	twice.id = SLICE("j");
	run(&w, 11, twice);
	ck_assert_str_eq(granted(&w, "a", 1, 1000), "c11 push grant i");
	ck_assert_str_eq(after(&w, 10), "c11 push grant j");
	after(&w, 10);
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 -LOST");
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(what_a_session_has_lost_goes_along_with_it_to_another_user)
{
	struct story w;

	story_of_users(&w);
	take_for(&w, 11, "a", 1, 10);
	take_for(&w, 11, "b", 2, 10);
	take_for(&w, 14, "c", 3, 10);
	after(&w, 10);
	login(&w, 11, BOB);
	take_for(&w, 14, "d", 4, 10);
	after(&w, 10);
	ck_assert_str_eq(unlock(&w, 14, "c"), "c14 -NOTHELD");
	ck_assert_str_eq(unlock(&w, 14, "d"), "c14 -LOST");
	ck_assert_str_eq(unlock(&w, 11, "a"), "c11 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(a_hold_that_is_broken_counts_while_it_is_withheld)
{
	struct story w;

	story_of_users(&w);
	take(&w, 11, "a", 1);
	take(&w, 12, "b", 2);
	take(&w, 13, "c", 3);
	run(&w, 14, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 1000});
	ck_assert_str_eq(lock(&w, 12, "d"), "c12 -LIMIT");
	ck_assert_ptr_nonnull(strstr(unlock(&w, 13, "c"), "c13 :0"));
	ck_assert_str_eq(lock(&w, 12, "d"), "acquire d#4");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("user", NULL, NULL, all_sessions_of_a_user_count_together_and_apart_from_others,
		waits_count_and_end_with_their_connection, what_is_withheld_counts_until_it_passes_on,
		when_it_has_passed_on_there_is_room_again, of_a_semaphore_each_permit_counts,
		names_of_an_mlock_count_once_while_it_waits_and_after,
		an_mlock_has_room_for_all_its_names_or_is_refused,
		who_logs_in_as_another_takes_along_what_he_has,
		who_logs_in_as_another_who_has_no_room_for_his_locks_stays_counted_as_he_was,
		who_logs_in_as_another_who_has_no_room_for_his_grace_stays_counted_as_he_was,
		of_all_sessions_of_a_user_as_many_losses_are_remembered_as_he_may_have_locks,
		what_a_session_still_holds_at_its_end_makes_room_for_its_user,
		a_loss_is_of_one_name_and_one_tag, what_is_lost_twice_is_told_once,
		what_a_session_has_lost_goes_along_with_it_to_another_user,
		a_hold_that_is_broken_counts_while_it_is_withheld);
}
