/*
 * Waits that wait for themselves; stories as in check_core.c.
 */
#include "daemon/core/base/base.h"
#include "daemon/core/core.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/families.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* What the last event's first error says. */
static const char *
words(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type == ACTION_REPLY && a->u.reply.type == REPLY_ERROR)
			return a->u.reply.text;
	}
	return "";
}

/* How many sessions of other users its first error names. */
static int64_t
strangers(const struct story *w)
{
	for (size_t i = 0; i < w->actions.n; i++) {
		const struct action *a = &w->actions.list[i];

		if (a->type == ACTION_REPLY && a->u.reply.type == REPLY_ERROR)
			return a->u.reply.n;
	}
	return -1;
}

/* What its first note about a cycle says. */
static const char *
noted_cycle(const struct story *w)
{
	const struct note *note = noted(w, NOTE_DEADLOCK);

	return note == NULL ? "" : note->text;
}

static void
name_conn(struct story *w, conn_id conn, const char *name)
{
	struct peer peer = {.pid = 100 + (int64_t)conn, .uid = 0};

	(void)snprintf(peer.name, sizeof(peer.name), "%s", name);
	step(w, &(struct event){.type = EVENT_PEER, .conn = conn, .peer = &peer});
}

/* The connection takes a free name, the so-many-th that is taken. */
static void
take(struct story *w, conn_id conn, const char *name, uint64_t attempt)
{
	lock(w, conn, name);
	granted(w, name, attempt, 1000 * (int64_t)attempt);
}

static const char *
lock_async(struct story *w, conn_id conn, const char *name)
{
	return run(
		w, conn, (struct command){.verb = VERB_LOCK, .name = slice_of(name), .id = slice_of(name)});
}

/* A second connection for the session of the first. */
static void
join(struct story *w, conn_id conn, conn_id first)
{
	char secret[64];

	(void)snprintf(secret, sizeof(secret), "%s",
		run(w, first, (struct command){.verb = VERB_SESSION_SECRET}) + strlen("c1 "));
	run(w, conn, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)});
}

START_TEST(who_closes_a_circle_of_two_is_refused_and_the_other_goes_on)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 2 waits for a, held by session 1, which waits for b, held by session 2");
	ck_assert_str_eq(noted_cycle(&w), words(&w));
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 :2001");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	story_done(&w);
}
END_TEST

START_TEST(a_circle_of_three_names_everybody_in_it)
{
	struct story w;

	story_ready(&w);
	name_conn(&w, 1, "billing");
	name_conn(&w, 3, "re\033port");
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	take(&w, 3, "c", 3);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "c"), "");
	ck_assert_str_eq(lock(&w, 3, "a"), "c3 -DEADLOCK");
	ck_assert_str_eq(words(&w),
		"session 3 (re\\x1bport) waits for a, held by session 1 (billing), which waits for b, "
		"held by session 2, which waits for c, held by session 3 (re\\x1bport)");
	story_done(&w);
}
END_TEST

/* The adapter hides it from who may not see them. */
START_TEST(a_refusal_says_how_many_sessions_of_other_users_it_names)
{
	struct peer other = {.pid = 102, .user = 9};
	struct story w;

	story_ready(&w);
	step(&w, &(struct event){.type = EVENT_PEER, .conn = 2, .peer = &other});
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	take(&w, 3, "c", 3);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "c"), "");
	ck_assert_str_eq(lock(&w, 3, "a"), "c3 -DEADLOCK");
	ck_assert_int_eq(strangers(&w), 1);
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "c1 :2001");
	ck_assert_str_eq(lock(&w, 1, "c"), "");
	ck_assert_str_eq(lock(&w, 3, "b"), "c3 -DEADLOCK");
	ck_assert_int_eq(strangers(&w), 0);
	story_done(&w);
}
END_TEST

START_TEST(of_a_circle_that_is_too_long_to_tell_the_middle_is_left_out)
{
	static const char *const names[] = {"0123456789012345678901234567890123456789a",
		"0123456789012345678901234567890123456789b", "0123456789012345678901234567890123456789c",
		"0123456789012345678901234567890123456789d"};
	struct story w;

	story_ready(&w);
	for (conn_id c = 1; c <= 4; c++)
		take(&w, c, names[c - 1], c);
	for (conn_id c = 1; c <= 3; c++)
		ck_assert_str_eq(lock(&w, c, names[c]), "");
	ck_assert_str_eq(lock(&w, 4, names[0]), "c4 -DEADLOCK");
	ck_assert_str_eq(words(&w),
		"session 4 waits for 012345678901234567890123456789.., held by session 1, "
		"... 2 more ..., which waits for 012345678901234567890123456789.., held by session 4");
	story_done(&w);
}
END_TEST

START_TEST(a_chain_that_ends_at_somebody_who_works_is_no_circle)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	take(&w, 3, "c", 3);
	ck_assert_str_eq(lock(&w, 3, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	/* In the same queues, holding what is wanted: but 1 works, and everybody's turn comes. */
	ck_assert_str_eq(lock(&w, 4, "c"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :1001");
	story_done(&w);
}
END_TEST

START_TEST(who_tries_once_waits_for_nobody)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock_once(&w, 2, "a"), "c2 null");
	story_done(&w);
}
END_TEST

START_TEST(a_session_with_another_connection_can_still_unlock)
{
	struct story w;

	story_ready(&w);
	join(&w, 3, 1);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c2 :1001");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 :2001");
	story_done(&w);
}
END_TEST

START_TEST(the_last_free_connection_that_goes_closes_the_circle)
{
	struct story w;

	story_ready(&w);
	join(&w, 3, 1);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(close_as(&w, 3, END_CLEAN), "c1 -DEADLOCK");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :1001");
	story_done(&w);
}
END_TEST

START_TEST(a_session_waits_for_all_its_connections_only_when_none_is_served)
{
	struct story w;

	story_ready(&w);
	join(&w, 3, 1);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	take(&w, 4, "c", 3);
	/* One connection waits in a cycle, the other for somebody who works. */
	ck_assert_str_eq(lock(&w, 3, "c"), "");
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	ck_assert_str_eq(unlock(&w, 4, "c"), "c4 :0 | c3 :3001");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c2 :1001");
	story_done(&w);
}
END_TEST

START_TEST(a_session_that_waits_for_itself_is_refused)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	ck_assert_str_eq(lock_as(&w, 1, "a", "t2"), "c1 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 1 waits for a, held by session 1: no connection is left to unlock it");
	story_done(&w);
}
END_TEST

START_TEST(what_is_withheld_passes_on_by_itself)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	story_done(&w);
}
END_TEST

START_TEST(an_asynchronous_wait_blocks_nobody)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock_async(&w, 1, "b"), "c1 +QUEUED");
	ck_assert_str_eq(lock_async(&w, 2, "a"), "c2 +QUEUED");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 push grant a");
	story_done(&w);
}
END_TEST

START_TEST(an_asynchronous_wait_ahead_of_who_it_waits_for_closes_a_circle)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock_async(&w, 3, "a"), "c3 +QUEUED");
	ck_assert_str_eq(lock(&w, 2, "a"), "");
	/* 3 would be given a before 2, and could not give it back while it waits for b. */
	ck_assert_str_eq(lock(&w, 3, "b"), "c3 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 3 waits for b, held by session 2, which waits for a, behind session 3");
	story_done(&w);
}
END_TEST

static const char *
lock_some(struct story *w, conn_id conn, const char *name, int64_t permits, int64_t limit)
{
	return run(w, conn,
		(struct command){.verb = VERB_LOCK,
			.name = slice_of(name),
			.kind = KIND_PERMITS,
			.permits = permits,
			.limit = limit});
}

/* The connection takes so many permits of three, which are these slots. */
static void
take_some(struct story *w, conn_id conn, int64_t permits, uint64_t attempt, const char *slots)
{
	lock_some(w, conn, "s", permits, 3);
	vote(w, (struct vote){.op = CALL_ACQUIRE,
			.name = SLICE("s"),
			.attempt = attempt,
			.token_first = (int64_t)attempt * 1000,
			.token_last = (int64_t)attempt * 1000 + 99,
			.slots = slice_of(slots)});
}

START_TEST(readers_wait_for_a_writer_ahead_of_them_and_he_for_readers)
{
	struct story w;

	story_ready(&w);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 1000);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 3, "a"), "enter a#1 shared");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "");
	/* 2 would read beside 1, but the writer comes first, and he waits for 1. */
	ck_assert_str_eq(lock(&w, 1, "b"), "c1 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 1 waits for b, held by session 2, which waits for a, held by session 1");
	story_done(&w);
}
END_TEST

START_TEST(readers_do_not_wait_for_readers)
{
	struct story w;

	story_ready(&w);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 1000);
	take(&w, 2, "b", 2);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :1001");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 :2001");
	story_done(&w);
}
END_TEST

START_TEST(a_reader_that_comes_in_with_another_waits_for_nobody_though_the_lease_is_wanted)
{
	struct story w;

	story_ready(&w);
	w.settings.streak = 1;
	story_anew(&w);
	take(&w, 2, "a", 1);
	ck_assert_str_eq(lock(&w, 3, "b"), "acquire b#2");
	ck_assert_str_eq(run(&w, 1,
				 (struct command){.verb = VERB_LOCK,
					 .name = SLICE("b"),
					 .id = SLICE("x"),
					 .kind = KIND_SHARED,
					 .wait_ms = COMMAND_WAIT_RULE}),
		"c1 +QUEUED");
	lock(&w, 1, "a");
	lock_shared(&w, 2, "b");
	close_as(&w, 3, END_ABANDONED);
	wanted(&w, "b");
	/* Whoever comes next has to wait for the other daemon; who reads along with the first does not. */
	ck_assert_str_eq(granted(&w, "b", 2, 2000), "c1 push grant x | renew b#2 shared | c2 :2001");
	story_done(&w);
}
END_TEST

START_TEST(two_readers_that_wait_to_write_what_both_read_are_a_circle)
{
	struct story w;

	story_ready(&w);
	lock_shared(&w, 1, "a");
	granted(&w, "a", 1, 1000);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :1001");
	ck_assert_str_eq(lock_as(&w, 1, "a", "w"), "c1 -DEADLOCK");
	story_done(&w);
}
END_TEST

START_TEST(a_semaphore_is_a_circle_only_where_the_others_have_too_few_permits)
{
	struct story w;

	story_ready(&w);
	take_some(&w, 1, 1, 1, "0");
	take_some(&w, 2, 1, 2, "1");
	take_some(&w, 3, 1, 3, "2");
	take(&w, 4, "b", 4);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	/* 2 and 3 work, and will give back one each: as many as 4 wants. */
	ck_assert_str_eq(lock_some(&w, 4, "s", 2, 3), "acquire s#5 2 of 3");
	ck_assert_str_eq(lock_some(&w, 2, "b", 1, 1), "c2 -WRONGKIND");
	/* But when 2 waits for 4, too, there are too few. */
	ck_assert_str_eq(lock(&w, 2, "b"), "c2 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 2 waits for b, held by session 4, which waits for s, held by session 2");
	story_done(&w);
}
END_TEST

START_TEST(a_semaphore_is_a_circle_where_too_many_permits_stay_away)
{
	struct story w;

	story_ready(&w);
	take_some(&w, 1, 2, 1, "0,1");
	take_some(&w, 3, 1, 2, "2");
	take(&w, 4, "b", 3);
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock_some(&w, 4, "s", 2, 3), "c4 -DEADLOCK");
	ck_assert_str_eq(
		words(&w), "session 4 waits for s, held by session 1, which waits for b, held by session 4");
	story_done(&w);
}
END_TEST

START_TEST(behind_a_large_request_that_waits_for_ever_a_small_one_does_too)
{
	struct story w;

	story_ready(&w);
	take_some(&w, 1, 2, 1, "0,1");
	take(&w, 4, "b", 2);
	ck_assert_str_eq(lock_some(&w, 2, "s", 3, 3), "acquire s#3 3 of 3");
	ck_assert_str_eq(lock_some(&w, 4, "s", 1, 3), "");
	/* 2 waits for 1, and 4 behind 2, though a permit is free. */
	ck_assert_str_eq(lock(&w, 1, "b"), "c1 -DEADLOCK");
	story_done(&w);
}
END_TEST

START_TEST(who_waits_behind_a_circle_is_not_in_it)
{
	struct story w;

	story_ready(&w);
	take(&w, 1, "a", 1);
	take(&w, 2, "b", 2);
	take(&w, 3, "c", 3);
	ck_assert_str_eq(lock(&w, 3, "a"), "");
	ck_assert_str_eq(lock(&w, 1, "b"), "");
	ck_assert_str_eq(lock(&w, 4, "c"), "");
	ck_assert_str_eq(lock(&w, 2, "a"), "c2 -DEADLOCK");
	ck_assert_str_eq(unlock(&w, 2, "b"), "c2 :0 | c1 :2001");
	story_done(&w);
}
END_TEST

static void
open_conn(struct story *w, conn_id conn)
{
	step(w, &(struct event){.type = EVENT_OPEN, .conn = conn, .peer = &(struct peer){.uid = 0}});
}

/* A lock of "a" that differs from others of its session by its tag. */
static void
lock_tagged(struct story *w, conn_id conn, enum kind kind, int tag)
{
	char owner[16];

	(void)snprintf(owner, sizeof(owner), "t%d", tag);
	run(w, conn,
		(struct command){
			.verb = VERB_LOCK, .name = SLICE("a"), .kind = kind, .owner = slice_of(owner)});
}

/* To search anew for each wait, whenever a connection goes, takes many minutes. */
START_TEST(for_a_session_of_many_connections_one_search_is_enough)
{
	enum { HOLDS = 500, CONNS = 3000, FIRST = 100 };
	struct story w;

	story_init(&w);
	core_free(w.core);
	w.settings.grants_per_session = HOLDS + 1;
	w.settings.waiters_per_session = CONNS;
	w.core = core_new(&w.settings, w.now);
	ck_assert_ptr_nonnull(w.core);
	open_conn(&w, 1);
	open_conn(&w, 2);
	step(&w, &(struct event){.type = EVENT_LINK_UP});
	hello(&w, true, MEMORY);
	take(&w, 2, "own", 1);
	lock_tagged(&w, 1, KIND_SHARED, 0);
	granted(&w, "a", 2, 2000);
	for (int i = 1; i < HOLDS; i++)
		lock_tagged(&w, 1, KIND_SHARED, i);
	for (int i = 0; i < CONNS; i++) {
		open_conn(&w, FIRST + (conn_id)i);
		join(&w, FIRST + (conn_id)i, 2);
		lock_tagged(&w, FIRST + (conn_id)i, KIND_EXCLUSIVE, i);
	}
	close_as(&w, 2, END_CLEAN);
	for (int i = 1; i < CONNS; i++)
		close_as(&w, FIRST + (conn_id)i, END_CLEAN);
	after(&w, 10); /* such searches have made many visits */
	ck_assert_str_eq(lock(&w, 1, "own"), "c1 -DEADLOCK");
	story_done(&w);
}
END_TEST

enum { READERS = 600, CLIENTS = 40, CLIENT = 100, READER = 1000 };

/* Many read "a", the first of them waits for "gate", which clients read, who are next to wait for "a". */
static void
story_crowd(struct story *w)
{
	story_ready(w);
	for (conn_id c = CLIENT; c < CLIENT + CLIENTS; c++)
		open_conn(w, c);
	for (conn_id c = READER; c < READER + READERS; c++)
		open_conn(w, c);
	lock_shared(w, READER, "a");
	granted(w, "a", 1, 1000);
	for (conn_id c = READER + 1; c < READER + READERS; c++)
		lock_shared(w, c, "a");
	lock_shared(w, CLIENT, "gate");
	granted(w, "gate", 2, 2000);
	for (conn_id c = CLIENT + 1; c < CLIENT + CLIENTS; c++)
		lock_shared(w, c, "gate");
}

START_TEST(who_holds_what_only_others_wait_for_looks_at_no_crowd)
{
	struct story w;

	story_crowd(&w);
	ck_assert_str_eq(lock(&w, 1, "gate"), "enter gate#2 shared");
	for (conn_id c = CLIENT; c < CLIENT + CLIENTS; c++)
		ck_assert_ptr_null(strstr(lock(&w, c, "a"), "-DEADLOCK"));
	ck_assert_uint_le(w.core->families->deferred.spent, CLIENTS * (CLIENTS + 10));
	story_done(&w);
}
END_TEST

START_TEST(a_crowd_is_looked_at_once_however_many_wait_for_what_it_holds)
{
	struct story w;

	story_crowd(&w);
	for (conn_id c = CLIENT; c < CLIENT + CLIENTS; c++)
		ck_assert_ptr_null(strstr(lock(&w, c, "a"), "-DEADLOCK"));
	w.core->families->deferred.spent = 0;
	ck_assert_str_eq(lock(&w, READER, "gate"), "c1000 -DEADLOCK");
	ck_assert_uint_le(w.core->families->deferred.spent, 3 * (READERS + CLIENTS));
	story_done(&w);
}
END_TEST

/* Of the last event's answers. */
static unsigned
refusals(const struct story *w)
{
	unsigned n = 0;

	for (const char *at = w->trace; (at = strstr(at, "-DEADLOCK")) != NULL; at++)
		n++;
	return n;
}

START_TEST(searches_of_a_crowd_take_turns_and_find_each_circle)
{
	struct story w;
	unsigned refused = 0, turns = 0;
	uint64_t before;

	story_crowd(&w);
	ck_assert_str_eq(lock(&w, READER, "gate"), "enter gate#2 shared");
	for (conn_id c = CLIENT; c < CLIENT + CLIENTS; c++) {
		lock(&w, c, "a");
		refused += refusals(&w);
	}
	ck_assert_uint_ge(refused, 1);
	ck_assert_uint_lt(refused, CLIENTS);
	ck_assert_uint_le(w.core->families->deferred.spent, DEADLOCK_BUDGET + CLIENTS * 64);
	for (; refused < CLIENTS && turns < CLIENTS; turns++) {
		before = w.core->families->deferred.spent;
		w.now.ms = core_wake_at(w.core);
		after(&w, 0);
		refused += refusals(&w);
		ck_assert_uint_le(w.core->families->deferred.spent, before + DEADLOCK_BUDGET + CLIENTS * 64);
	}
	ck_assert_uint_eq(refused, CLIENTS);
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("deadlock", NULL, NULL, who_closes_a_circle_of_two_is_refused_and_the_other_goes_on,
		a_circle_of_three_names_everybody_in_it,
		a_refusal_says_how_many_sessions_of_other_users_it_names,
		of_a_circle_that_is_too_long_to_tell_the_middle_is_left_out,
		a_chain_that_ends_at_somebody_who_works_is_no_circle, who_tries_once_waits_for_nobody,
		a_session_with_another_connection_can_still_unlock,
		the_last_free_connection_that_goes_closes_the_circle,
		a_session_waits_for_all_its_connections_only_when_none_is_served,
		a_session_that_waits_for_itself_is_refused, what_is_withheld_passes_on_by_itself,
		an_asynchronous_wait_blocks_nobody,
		an_asynchronous_wait_ahead_of_who_it_waits_for_closes_a_circle,
		readers_wait_for_a_writer_ahead_of_them_and_he_for_readers, readers_do_not_wait_for_readers,
		a_reader_that_comes_in_with_another_waits_for_nobody_though_the_lease_is_wanted,
		two_readers_that_wait_to_write_what_both_read_are_a_circle,
		a_semaphore_is_a_circle_only_where_the_others_have_too_few_permits,
		a_semaphore_is_a_circle_where_too_many_permits_stay_away,
		behind_a_large_request_that_waits_for_ever_a_small_one_does_too,
		who_waits_behind_a_circle_is_not_in_it,
		for_a_session_of_many_connections_one_search_is_enough,
		who_holds_what_only_others_wait_for_looks_at_no_crowd,
		a_crowd_is_looked_at_once_however_many_wait_for_what_it_holds,
		searches_of_a_crowd_take_turns_and_find_each_circle);
}
