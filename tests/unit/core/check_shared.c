/*
 * Exclusive and shared holds of one name; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const char *
shared_once(struct story *w, conn_id conn, const char *name)
{
	struct command command = {.verb = VERB_LOCK, .name = slice_of(name), .kind = KIND_SHARED};

	return step(w, &(struct event){.type = EVENT_COMMAND, .conn = conn, .command = &command});
}

static const char *
shared_as(struct story *w, conn_id conn, const char *name, const char *owner)
{
	return run(w, conn,
		(struct command){.verb = VERB_LOCK,
			.name = slice_of(name),
			.owner = slice_of(owner),
			.kind = KIND_SHARED});
}

static const char *
downgrade(struct story *w, conn_id conn, const char *name)
{
	return run(w, conn, (struct command){.verb = VERB_DOWNGRADE, .name = slice_of(name)});
}

/* A renewal of which the master says how many writers wait. */
static const char *
renewed(struct story *w, const char *name, uint64_t attempt, int64_t writers)
{
	return vote(w,
		(struct vote){
			.op = CALL_RENEW, .name = slice_of(name), .attempt = attempt, .position = writers});
}

static void
story_of_a_reader(struct story *w)
{
	story_ready(w);
	ck_assert_str_eq(lock_shared(w, 1, "a"), "acquire a#1 shared");
	ck_assert_str_eq(granted(w, "a", 1, 500), "c1 :500");
}

static void
story_of_a_writer(struct story *w)
{
	story_ready(w);
	ck_assert_str_eq(lock(w, 1, "a"), "acquire a#1");
	ck_assert_str_eq(granted(w, "a", 1, 500), "c1 :500");
}

START_TEST(many_readers_here_are_one_shared_lease)
{
	struct resource_view view;
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "c3 :502");
	ck_assert(core_view_resource(w.core, w.now.ms, SLICE("a"), &view));
	ck_assert_int_eq(view.kind, KIND_SHARED);
	ck_assert_uint_eq(view.holds, 3);
	ck_assert_int_eq(view.hold.token, 500);
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 shared");
	story_done(&w);
}
END_TEST

START_TEST(a_writer_waits_for_every_reader_and_asks_for_a_lease_of_its_own)
{
	struct story w;

	story_of_a_reader(&w);
	lock_shared(&w, 2, "a");
	ck_assert_str_eq(lock(&w, 3, "a"), "enter a#1 shared");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 shared | acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 1500), "c3 :1500");
	story_done(&w);
}
END_TEST

START_TEST(a_reader_does_not_pass_a_writer_that_waits)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock(&w, 2, "a"), "enter a#1 shared");
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "");
	ck_assert_str_eq(shared_once(&w, 4, "a"), "c4 null");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 shared | acquire a#2");
	ck_assert_str_eq(granted(&w, "a", 2, 1500), "c2 :1500");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :1501");
	story_done(&w);
}
END_TEST

START_TEST(a_writer_that_waits_for_readers_here_keeps_its_place_among_the_daemons)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock(&w, 2, "a"), "enter a#1 shared");
	for (int i = 1; i <= 2; i++) {
		ck_assert_str_eq(after(&w, 333), "renew a#1 shared");
		/* It is the one who waits, and nobody else. */
		ck_assert_str_eq(renewed(&w, "a", 1, 1), "");
	}
	ck_assert_str_eq(after(&w, 333), "renew a#1 shared");
	ck_assert_str_eq(renewed(&w, "a", 1, 1), "");
	ck_assert_str_eq(after(&w, 1), "enter a#1 shared");
	ck_assert_str_eq(close_as(&w, 2, END_CLEAN), "leave a#1");
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "c3 :501");
	story_done(&w);
}
END_TEST

START_TEST(who_tries_once_takes_no_place)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock_once(&w, 2, "a"), "c2 null");
	story_done(&w);
}
END_TEST

START_TEST(when_the_writer_gives_up_those_behind_it_come_in)
{
	const struct command patient = {.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 50};
	struct story w;

	story_of_a_reader(&w);
	run(&w, 2, patient);
	lock_shared(&w, 3, "a");
	lock_shared(&w, 4, "a");
	ck_assert_str_eq(after(&w, 50), "c2 null | c3 :501 | c4 :502 | leave a#1");
	story_done(&w);
}
END_TEST

START_TEST(all_readers_in_front_of_the_next_writer_come_in_together)
{
	struct story w;

	story_of_a_writer(&w);
	lock_shared(&w, 2, "a");
	lock_shared(&w, 3, "a");
	lock(&w, 4, "a");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501 | c3 :502");
	ck_assert_str_eq(lock_shared(&w, 1, "a"), "");
	unlock(&w, 2, "a");
	/* The lease is exclusive still: nobody elsewhere asked. */
	ck_assert_str_eq(unlock(&w, 3, "a"), "c3 :0 | c4 :503");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c1 :504");
	story_done(&w);
}
END_TEST

START_TEST(readers_on_an_exclusive_lease_share_it_when_another_daemon_asks)
{
	struct story w;

	story_of_a_writer(&w);
	lock_shared(&w, 2, "a");
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | c2 :501 | renew a#1 shared");
	/* Until the master knows, readers elsewhere go on asking. */
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "c3 :502");
	ck_assert_str_eq(renewed(&w, "a", 1, 0), "");
	ck_assert_str_eq(lock_shared(&w, 4, "a"), "c4 :503");
	unlock(&w, 2, "a");
	unlock(&w, 3, "a");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | release a#1 shared");
	story_done(&w);
}
END_TEST

START_TEST(a_renewal_under_way_is_followed_by_one_that_shares)
{
	struct story w;

	story_of_a_writer(&w);
	ck_assert_str_eq(after(&w, 333), "renew a#1");
	ck_assert_str_eq(downgrade(&w, 1, "a"), "c1 :500");
	ck_assert_str_eq(wanted(&w, "a"), "");
	ck_assert_str_eq(renewed(&w, "a", 1, 1), "");
	ck_assert_str_eq(after(&w, 1), "renew a#1 shared");
	ck_assert_str_eq(renewed(&w, "a", 1, 0), "");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0 | release a#1 shared");
	story_done(&w);
}
END_TEST

START_TEST(downgrading_keeps_the_token_and_lets_readers_in)
{
	struct story w;

	story_of_a_writer(&w);
	lock_shared(&w, 2, "a");
	lock(&w, 3, "a");
	lock_shared(&w, 4, "a");
	ck_assert_str_eq(downgrade(&w, 1, "a"), "c1 :500 | c2 :501");
	ck_assert_str_eq(downgrade(&w, 1, "a"), "c1 :500");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | c3 :502");
	story_done(&w);
}
END_TEST

START_TEST(a_lock_that_other_programs_know_is_not_downgraded)
{
	struct story w;

	story_ready(&w);
	lock(&w, 1, "string");
	granted(&w, "string", 1, 500);
	ck_assert_str_eq(downgrade(&w, 1, "string"), "c1 -WRONGKIND");
	ck_assert_str_eq(unlock(&w, 1, "string"), "c1 :0 | release string#1");
	story_done(&w);
}
END_TEST

START_TEST(only_a_holder_downgrades)
{
	struct story w;

	story_of_a_writer(&w);
	ck_assert_str_eq(downgrade(&w, 2, "a"), "c2 -NOTHELD");
	ck_assert_str_eq(downgrade(&w, 2, "b"), "c2 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(downgrading_what_is_lost_is_told_so_once)
{
	struct story w;

	story_ready(&w);
	run(&w, 1, (struct command){.verb = VERB_SESSION_ONLOSS, .onloss = ONLOSS_NEXT});
	run(&w, 1, (struct command){.verb = VERB_LOCK, .name = SLICE("a"), .max_hold_ms = 50});
	granted(&w, "a", 1, 500);
	after(&w, 50);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(downgrade(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(downgrade(&w, 1, "a"), "c1 -NOTHELD");
	story_done(&w);
}
END_TEST

START_TEST(a_shared_hold_does_not_become_exclusive)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock(&w, 1, "a"), "c1 -UPGRADE");
	ck_assert_str_eq(shared_as(&w, 2, "a", "t"), "c2 :501");
	ck_assert_str_eq(lock_as(&w, 2, "a", "t"), "c2 -UPGRADE");
	ck_assert_str_eq(lock_as(&w, 2, "a", "other"), "c2 -DEADLOCK");
	story_done(&w);
}
END_TEST

START_TEST(locking_again_to_read_never_weakens_a_hold)
{
	struct story w;

	story_ready(&w);
	lock_as(&w, 1, "a", "t");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(shared_as(&w, 1, "a", "t"), "c1 :500");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "");
	ck_assert_str_eq(lock_as(&w, 1, "a", "t"), "c1 :500");
	story_done(&w);
}
END_TEST

START_TEST(a_session_may_read_twice_unless_a_writer_waits_for_it)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(lock_shared(&w, 1, "a"), "c1 -HELD");
	ck_assert_str_eq(shared_as(&w, 1, "a", "t"), "c1 :501");
	ck_assert_str_eq(shared_as(&w, 1, "a", "t"), "c1 :501");
	lock(&w, 2, "a");
	ck_assert_str_eq(shared_as(&w, 1, "a", "u"), "c1 -DEADLOCK");
	story_done(&w);
}
END_TEST

/* Two connections of one session, of which the second sends the first one's secret. */
static void
join(struct story *w, conn_id conn, conn_id other)
{
	const char *said = run(w, conn, (struct command){.verb = VERB_SESSION_SECRET});
	char secret[64];

	ck_assert_uint_eq(strlen(said), strlen("c1 ") + 48);
	memcpy(secret, said + strlen("c1 "), 49);
	run(w, other, (struct command){.verb = VERB_SESSION_JOIN, .secret = slice_of(secret)});
}

START_TEST(a_session_that_waits_twice_holds_once)
{
	struct story w;

	story_ready(&w);
	join(&w, 1, 2);
	join(&w, 1, 3);
	lock(&w, 4, "a");
	granted(&w, "a", 1, 500);
	lock_shared(&w, 1, "a");
	lock_shared(&w, 2, "a");
	ck_assert_str_eq(unlock(&w, 4, "a"), "c4 :0 | c1 :501 | c2 -HELD");
	unlock(&w, 1, "a");
	lock(&w, 4, "b");
	granted(&w, "b", 2, 600);
	shared_as(&w, 1, "b", "t");
	shared_as(&w, 2, "b", "t");
	shared_as(&w, 3, "b", "u");
	ck_assert_str_eq(unlock(&w, 4, "b"), "c4 :0 | c1 :601 | c2 :601 | c3 :602");
	story_done(&w);
}
END_TEST

START_TEST(while_a_writer_waits_elsewhere_no_reader_comes_in_here)
{
	struct story w;

	story_of_a_reader(&w);
	lock_shared(&w, 2, "a");
	after(&w, 1);
	ck_assert_str_eq(wanted(&w, "a"), "");
	after(&w, 1);
	ck_assert_str_eq(lock_shared(&w, 3, "a"), "");
	ck_assert_str_eq(shared_once(&w, 4, "a"), "c4 null");
	ck_assert_str_eq(unlock(&w, 1, "a"), "c1 :0");
	/* Its turn: this daemon asks again, and stands behind the writer. */
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0 | release a#1 shared | acquire a#2 shared");
	ck_assert_str_eq(busy(&w, "a", 2), "");
	story_done(&w);
}
END_TEST

START_TEST(a_writer_elsewhere_that_gave_up_is_not_waited_for)
{
	struct story w;

	story_of_a_reader(&w);
	after(&w, 1);
	wanted(&w, "a");
	after(&w, 1);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "");
	/* It asked, and asks no more: after a while a renewal that counts no writers tells. */
	for (int turn = 0; strstr(w.trace, "c2 :501") == NULL; turn++) {
		ck_assert_int_lt(turn, 20);
		after(&w, 333);
		renewed(&w, "a", 1, 0);
	}
	ck_assert_int_ge(w.now.ms, 1000000 + 3000);
	ck_assert_int_le(w.now.ms, 1000000 + 3500);
	story_done(&w);
}
END_TEST

START_TEST(a_lost_message_is_made_good_by_the_next_renewal)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(after(&w, 333), "renew a#1 shared");
	ck_assert_str_eq(renewed(&w, "a", 1, 1), "");
	after(&w, 1);
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "");
	story_done(&w);
}
END_TEST

START_TEST(a_reader_that_tries_once_is_not_refused_for_a_writer_that_did)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_once(&w, 1, "a"), "acquire a#1 once");
	ck_assert_str_eq(shared_once(&w, 2, "a"), "");
	/* Readers elsewhere are in the way of the one, and not of the other. */
	ck_assert_str_eq(answer(&w, CALL_ACQUIRE, OUTCOME_BUSY, "a", 1), "c1 null | acquire a#2 shared once");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c2 :500");
	story_done(&w);
}
END_TEST

START_TEST(who_waits_for_another_kind_than_was_refused_asks_at_once)
{
	const struct command patient = {.verb = VERB_LOCK, .name = SLICE("a"), .wait_ms = 50};
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(run(&w, 1, patient), "acquire a#1");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "");
	ck_assert_str_eq(busy(&w, "a", 1), "");
	ck_assert_str_eq(after(&w, 50), "c1 null | acquire a#2 shared");
	ck_assert_str_eq(granted(&w, "a", 2, 500), "c2 :500");
	story_done(&w);
}
END_TEST

START_TEST(a_shared_lease_that_no_reader_waits_for_any_more_is_given_back)
{
	const struct command reader = {
		.verb = VERB_LOCK, .name = SLICE("a"), .kind = KIND_SHARED, .wait_ms = 10};
	struct story w;

	story_ready(&w);
	run(&w, 1, reader);
	lock(&w, 2, "a");
	ck_assert_str_eq(after(&w, 10), "c1 -NOMASTER");
	ck_assert_str_eq(granted(&w, "a", 1, 500), "release a#1 shared | acquire a#2");
	story_done(&w);
}
END_TEST

START_TEST(all_readers_lose_a_lease_that_is_lost)
{
	struct story w;

	story_of_a_reader(&w);
	lock_shared(&w, 2, "a");
	after(&w, 333);
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1), "c1 close | c2 close");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 -LOST");
	ck_assert_str_eq(check(&w, 2, "a"), "c2 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(an_abandoned_reader_keeps_writers_away_and_not_readers)
{
	struct story w;

	story_of_a_reader(&w);
	ck_assert_str_eq(close_as(&w, 1, END_ABANDONED), "");
	ck_assert_str_eq(lock_shared(&w, 2, "a"), "c2 :501");
	ck_assert_str_eq(lock_once(&w, 3, "a"), "c3 null");
	ck_assert_str_eq(unlock(&w, 2, "a"), "c2 :0");
	ck_assert_str_eq(lock(&w, 3, "a"), "enter a#1 shared");
	ck_assert_str_eq(after(&w, 333), "renew a#1 shared");
	renewed(&w, "a", 1, 0);
	ck_assert_str_eq(after(&w, 333), "renew a#1 shared");
	renewed(&w, "a", 1, 0);
	ck_assert_str_eq(after(&w, 322), "release a#1 shared | acquire a#2");
	story_done(&w);
}
END_TEST

START_TEST(a_reader_is_broken_alone)
{
	struct story w;

	story_of_a_reader(&w);
	lock_shared(&w, 2, "a");
	ck_assert_str_eq(run(&w, 4, (struct command){.verb = VERB_BREAK, .name = SLICE("a"), .token = 501}),
		"c2 close | c4 :988");
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(check(&w, 2, "a"), "c2 -LOST");
	story_done(&w);
}
END_TEST

START_TEST(among_masters_each_one_is_told_that_the_lease_is_shared)
{
	struct story w;

	story_among(&w, 3);
	lock(&w, 1, "a");
	for (w.at = 0; w.at < 3; w.at++)
		granted(&w, "a", 1, 500);
	downgrade(&w, 1, "a");
	ck_assert_str_eq(wanted(&w, "a"), "renew a#1@1 shared | renew a#1@2 shared | renew a#1@3 shared");
	w.at = 0;
	renewed(&w, "a", 1, 0);
	w.at = 1;
	/* One of them has lost it: acquired again, beside those who read there now. */
	answer(&w, CALL_RENEW, OUTCOME_NO, "a", 1);
	w.at = 2;
	renewed(&w, "a", 1, 0);
	ck_assert_str_eq(after(&w, 333), "renew a#1@1 shared | acquire a#1@2 shared | renew a#1@3 shared");
	ck_assert_str_eq(unlock(&w, 1, "a"),
		"c1 :0 | release a#1@1 shared | release a#1@2 shared | release a#1@3 shared");
	story_done(&w);
}
END_TEST

START_TEST(a_name_that_other_programs_lock_is_not_shared)
{
	struct story w;

	story_ready(&w);
	ck_assert_str_eq(lock_shared(&w, 1, "string"), "c1 -WRONGKIND");
	ck_assert_str_eq(lock(&w, 1, "string"), "acquire string#1");
	story_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("shared", NULL, NULL, many_readers_here_are_one_shared_lease,
		a_writer_waits_for_every_reader_and_asks_for_a_lease_of_its_own,
		a_reader_does_not_pass_a_writer_that_waits,
		a_writer_that_waits_for_readers_here_keeps_its_place_among_the_daemons,
		who_tries_once_takes_no_place, when_the_writer_gives_up_those_behind_it_come_in,
		all_readers_in_front_of_the_next_writer_come_in_together,
		readers_on_an_exclusive_lease_share_it_when_another_daemon_asks,
		a_renewal_under_way_is_followed_by_one_that_shares,
		downgrading_keeps_the_token_and_lets_readers_in,
		a_lock_that_other_programs_know_is_not_downgraded, only_a_holder_downgrades,
		downgrading_what_is_lost_is_told_so_once, a_shared_hold_does_not_become_exclusive,
		locking_again_to_read_never_weakens_a_hold,
		a_session_may_read_twice_unless_a_writer_waits_for_it, a_session_that_waits_twice_holds_once,
		while_a_writer_waits_elsewhere_no_reader_comes_in_here,
		a_writer_elsewhere_that_gave_up_is_not_waited_for,
		a_lost_message_is_made_good_by_the_next_renewal,
		a_reader_that_tries_once_is_not_refused_for_a_writer_that_did,
		who_waits_for_another_kind_than_was_refused_asks_at_once,
		a_shared_lease_that_no_reader_waits_for_any_more_is_given_back,
		all_readers_lose_a_lease_that_is_lost, an_abandoned_reader_keeps_writers_away_and_not_readers,
		a_reader_is_broken_alone, among_masters_each_one_is_told_that_the_lease_is_shared,
		a_name_that_other_programs_lock_is_not_shared);
}
