/*
 * Readers, writers and permits of several daemons as stories: the core with the scripts of lua/ (play.h).
 */
#include "tests/sim/world/scenario.h"
#include "tests/support/suite.h"

#include <string.h>

static struct scenario play;
static struct world *const w = &play.w;

static void
ask(unsigned c, enum verb verb)
{
	scenario_ask(&play, c, &(struct request){.verb = verb, .wait_ms = COMMAND_WAIT_RULE});
}

static void
read_lock(unsigned c, int64_t wait_ms)
{
	scenario_ask(&play, c, &(struct request){.verb = VERB_LOCK, .kind = KIND_SHARED, .wait_ms = wait_ms});
}

/* Of the name b. */
static void
permits(unsigned c, int64_t permits, int64_t wait_ms)
{
	scenario_ask(&play, c,
		&(struct request){.verb = VERB_LOCK,
			.name = 1,
			.kind = KIND_PERMITS,
			.permits = permits,
			.wait_ms = wait_ms});
}

static void
give_permits_back(unsigned c)
{
	scenario_ask(&play, c, &(struct request){.verb = VERB_UNLOCK, .name = 1});
}

/* A client at each daemon, and a fourth one at the first. */
static void
begin(unsigned hosts, unsigned masters, int64_t limit)
{
	scenario_begin_permits(&play, hosts, masters, limit);
	for (unsigned c = 0; c < PLAY_CLIENTS; c++)
		scenario_connect(&play, c, c % hosts);
	(void)scenario_story(&play);
}

START_TEST(readers_of_two_daemons_and_a_writer_of_a_third)
{
	begin(3, 1, 0);
	read_lock(0, -1);
	read_lock(1, -1);
	ask(2, VERB_LOCK);
	read_lock(3, 0);
	ask(0, VERB_UNLOCK);
	ask(1, VERB_UNLOCK);
	ck_assert_str_eq(scenario_story(&play), "c0 > d0 LOCK a SHARED WAIT -1 LEASE 0 MAXHOLD 0\n"
						"d0 > m0 group_acquire a\n"
						"m0 > d0 acquire a: yes\n"
						"d0 > c0 :T\n"
						"c1 > d1 LOCK a SHARED WAIT -1 LEASE 0 MAXHOLD 0\n"
						"d1 > m0 group_acquire a\n"
						"m0 > d1 acquire a: yes\n"
						"d1 > c1 :T\n"
						"c2 > d2 LOCK a WAIT -1 LEASE 0 MAXHOLD 0\n"
						"d2 > m0 acquire a\n"
						"m0 > d0 want a\n"
						"m0 > d1 want a\n"
						"m0 > d2 acquire a: busy by D\n"
						"c3 > d0 LOCK a SHARED WAIT 0 LEASE 0 MAXHOLD 0\n"
						"d0 > c3 null\n"
						"c0 > d0 UNLOCK a\n"
						"d0 > c0 :0\n"
						"d0 > m0 group_release a\n"
						"m0 > d0 release a: yes\n"
						"c1 > d1 UNLOCK a\n"
						"d1 > c1 :0\n"
						"d1 > m0 group_release a\n"
						"m0 > d2 wake a\n"
						"d2 > m0 acquire a\n"
						"m0 > d1 release a: yes\n"
						"m0 > d2 acquire a: yes\n"
						"d2 > c2 :T\n");
	scenario_end(&play);
}
END_TEST

START_TEST(a_writer_that_waits_for_readers_here_holds_back_those_elsewhere)
{
	begin(2, 1, 0);
	read_lock(0, -1);
	read_lock(1, -1);
	(void)scenario_story(&play);
	ask(2, VERB_LOCK);
	read_lock(3, 0);
	ask(0, VERB_UNLOCK);
	ask(1, VERB_UNLOCK);
	ck_assert_str_eq(scenario_story(&play), "c2 > d0 LOCK a WAIT -1 LEASE 0 MAXHOLD 0\n"
						"d0 > m0 enter a\n"
						"m0 > d1 want a\n"
						"m0 > d0 enter a: yes\n"
						"c3 > d1 LOCK a SHARED WAIT 0 LEASE 0 MAXHOLD 0\n"
						"d1 > c3 null\n"
						"c0 > d0 UNLOCK a\n"
						"d0 > c0 :0\n"
						"d0 > m0 group_release a\n"
						"d0 > m0 acquire a\n"
						"m0 > d0 release a: yes\n"
						"m0 > d1 want a\n"
						"m0 > d0 acquire a: busy by D\n"
						"c1 > d1 UNLOCK a\n"
						"d1 > c1 :0\n"
						"d1 > m0 group_release a\n"
						"m0 > d0 wake a\n"
						"d0 > m0 acquire a\n"
						"m0 > d1 release a: yes\n"
						"m0 > d0 acquire a: yes\n"
						"d0 > c2 :T\n");
	scenario_end(&play);
}
END_TEST

START_TEST(a_writer_that_goes_on_as_a_reader_lets_readers_in)
{
	begin(2, 1, 0);
	ask(0, VERB_LOCK);
	read_lock(1, -1);
	(void)scenario_story(&play);
	ask(0, VERB_DOWNGRADE);
	ck_assert_str_eq(scenario_story(&play), "c0 > d0 DOWNGRADE a\n"
						"d0 > c0 :T\n"
						"d0 > m0 group_renew a\n"
						"m0 > d1 wake a\n"
						"d1 > m0 group_acquire a\n"
						"m0 > d0 renew a: yes\n"
						"m0 > d1 acquire a: yes\n"
						"d1 > c1 :T\n");
	scenario_end(&play);
}
END_TEST

START_TEST(permits_of_two_daemons)
{
	begin(2, 1, 3);
	permits(0, 2, -1);
	permits(1, 2, -1);
	permits(2, 1, 0);
	give_permits_back(0);
	ck_assert_str_eq(scenario_story(&play),
		"c0 > d0 LOCK ab LIMIT 3 PERMITS 2 WAIT -1 LEASE 0 MAXHOLD 0\n"
		"d0 > m0 group_acquire ab\n"
		"m0 > d0 acquire ab: yes\n"
		"d0 > c0 :T\n"
		"c1 > d1 LOCK ab LIMIT 3 PERMITS 2 WAIT -1 LEASE 0 MAXHOLD 0\n"
		"d1 > m0 group_acquire ab\n"
		"m0 > d0 want ab\n"
		"m0 > d1 acquire ab: busy by D\n"
		"c2 > d0 LOCK ab LIMIT 3 PERMITS 1 WAIT 0 LEASE 0 MAXHOLD 0\n"
		"d0 > m0 group_acquire ab\n"
		"m0 > d0 acquire ab: busy\n"
		"d0 > c2 null\n"
		"c0 > d0 UNLOCK ab\n"
		"d0 > c0 :0\n"
		"d0 > m0 group_release ab\n"
		"m0 > d1 wake ab\n"
		"d1 > m0 group_acquire ab\n"
		"m0 > d0 release ab: yes\n"
		"m0 > d1 acquire ab: yes\n"
		"d1 > c1 :T\n");
	scenario_end(&play);
}
END_TEST

START_TEST(permits_at_three_masters)
{
	begin(2, 3, 2);
	permits(0, 1, -1);
	permits(1, 1, -1);
	ck_assert_uint_eq(w->checker.grants, 2);
	(void)scenario_story(&play);
	permits(2, 1, 0);
	ck_assert_uint_eq(w->checker.grants, 2);
	ck_assert_str_eq(scenario_story(&play), "c2 > d0 LOCK ab LIMIT 2 PERMITS 1 WAIT 0 LEASE 0 MAXHOLD 0\n"
						"d0 > m0 group_acquire ab\n"
						"d0 > m1 group_acquire ab\n"
						"d0 > m2 group_acquire ab\n"
						"m0 > d1 want ab\n"
						"m0 > d0 acquire ab: busy by D\n"
						"m1 > d1 want ab\n"
						"m1 > d0 acquire ab: busy by D\n"
						"m2 > d1 want ab\n"
						"m2 > d0 acquire ab: busy by D\n"
						"d0 > c2 null\n");
	scenario_end(&play);
}
END_TEST

START_TEST(a_master_that_forgot_takes_shares_and_permits_back)
{
	begin(2, 1, 2);
	read_lock(0, -1);
	read_lock(1, -1);
	permits(2, 1, -1);
	(void)scenario_story(&play);
	server_flush(&w->servers[0]);
	scenario_pass_ms(&play, 400);
	ck_assert_str_eq(scenario_story(&play), "m0 > d0 flushed \n"
						"d0 > m0 group_reclaim a\n"
						"d0 > m0 group_reclaim ab\n"
						"m0 > d0 reclaim a: yes\n"
						"m0 > d0 reclaim ab: yes\n"
						"d1 > m0 group_reclaim a\n"
						"m0 > d1 reclaim a: yes\n"
						"d0 > m0 group_reclaim a\n"
						"d0 > m0 group_reclaim ab\n"
						"m0 > d0 reclaim a: yes\n"
						"m0 > d0 reclaim ab: yes\n");
	scenario_end(&play);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("trace_kinds", NULL, NULL, readers_of_two_daemons_and_a_writer_of_a_third,
		a_writer_that_waits_for_readers_here_holds_back_those_elsewhere,
		a_writer_that_goes_on_as_a_reader_lets_readers_in, permits_of_two_daemons,
		permits_at_three_masters, a_master_that_forgot_takes_shares_and_permits_back);
}
