/*
 * Masters whose memory goes back while they run, and clocks that go wrong on one side, as stories: the core
 * with the scripts of lua/ (play.h).
 */
#include "tests/sim/world/scenario.h"
#include "tests/support/suite.h"

#include <string.h>

static struct scenario play;
static struct world *const w = &play.w;

/* A client at each of so many daemons. */
static void
begin_daemons(unsigned daemons, unsigned masters)
{
	scenario_begin(&play, daemons, masters);
	for (unsigned d = 0; d < daemons; d++)
		scenario_connect(&play, d, d);
	/* Long enough to have measured the clocks over a lease. */
	scenario_pass_ms(&play, 1500);
	(void)scenario_story(&play);
}

/* A client at each of two daemons, and a copy of what the masters know before they lock anything. */
static void
begin(unsigned masters)
{
	scenario_begin(&play, 2, masters);
	scenario_connect(&play, 0, 0);
	scenario_connect(&play, 1, 1);
	for (unsigned i = 0; i < masters; i++)
		server_backup(&w->servers[i]);
	/* Each daemon looks at its masters within a third of a lease. */
	scenario_pass_ms(&play, 400);
}

static void
ask(unsigned c, enum verb verb, int64_t wait_ms)
{
	scenario_ask(&play, c, &(struct request){.verb = verb, .wait_ms = wait_ms});
}

static void
cut(unsigned d, unsigned m, int ms)
{
	struct route *way = &w->hosts[d].ways[m];
	way->cut_there_until_us = way->cut_back_until_us = w->now_us + ms * 1000;
}

/* The host does not run, and its clock does not notice. */
static void
stun(unsigned d, int ms)
{
	struct host *h = &w->hosts[d];
	h->paused_until_us = w->now_us + ms * 1000;
	scenario_pass_ms(&play, ms - 1);
	host_stand_still(h, ms - ms / 100); /* its rate may be off by as much */
	scenario_pass_ms(&play, 1);
}

static bool
is_guarded(unsigned d, unsigned m)
{
	struct master_view view;
	core_view_master(w->hosts[d].core, host_ms(&w->hosts[d]), m, &view);
	return view.state != MASTER_ADMITTED || view.guard_ms > 0;
}

#define MESSAGES(text, line) ck_assert_msg(strstr(text, line) != NULL, "%.3000s", text)

START_TEST(a_master_that_goes_back_to_a_snapshot_is_guarded_and_the_holder_reclaims)
{
	begin(1);
	ask(0, VERB_LOCK, -1);
	server_revert(&w->servers[0]);
	(void)scenario_story(&play);
	ask(1, VERB_LOCK, 0);
	scenario_pass_ms(&play, 5);
	const char *text = scenario_story(&play);
	MESSAGES(text, "m0 > d1 acquire a: forgotten\n");
	MESSAGES(text, "d1 > c1 -GUARD the master restarted or is new");
	scenario_pass_ms(&play, 400);
	MESSAGES(scenario_story(&play), "m0 > d0 reclaim a: yes\n");
	scenario_pass_ms(&play, 1200);
	ask(1, VERB_LOCK, 0);
	MESSAGES(scenario_story(&play), "d1 > c1 null\n");
	scenario_end(&play);
}
END_TEST

START_TEST(one_of_three_masters_goes_back_and_its_vote_does_not_count)
{
	const char *story;

	begin(3);
	cut(0, 2, 200);
	ask(0, VERB_LOCK, -1);
	server_revert(&w->servers[0]);
	(void)scenario_story(&play);
	ask(1, VERB_LOCK, 0);
	scenario_pass_ms(&play, 420);
	story = scenario_story(&play);
	MESSAGES(story, "m0 > d1 acquire a: forgotten\n");
	MESSAGES(story, "d1 > c1 null\n");
	scenario_end(&play);
}
END_TEST

START_TEST(who_is_refused_knows_what_was_granted_since_its_last_hello)
{
	begin(1);
	/* Now the copy is younger than each daemon's last HELLO. */
	server_backup(&w->servers[0]);
	ask(0, VERB_LOCK, -1);
	ask(1, VERB_LOCK, 0);
	server_revert(&w->servers[0]);
	MESSAGES(scenario_story(&play), "m0 > d1 acquire a: busy by D\n");
	ask(1, VERB_LOCK, 0);
	MESSAGES(scenario_story(&play), "m0 > d1 acquire a: forgotten\n");
	scenario_end(&play);
}
END_TEST

START_TEST(a_database_that_is_swapped_and_comes_back_is_guarded)
{
	begin(1);
	server_swap(&w->servers[0]);
	scenario_pass_ms(&play, 2000);
	ask(0, VERB_LOCK, 0);
	MESSAGES(scenario_story(&play), "d0 > c0 :T\n");
	server_swap(&w->servers[0]);
	ask(1, VERB_LOCK, 0);
	scenario_pass_ms(&play, 5);
	MESSAGES(scenario_story(&play), "d1 > c1 -GUARD the master restarted or is new");
	scenario_pass_ms(&play, 400);
	MESSAGES(scenario_story(&play), "m0 > d0 reclaim a: yes\n");
	scenario_end(&play);
}
END_TEST

START_TEST(tokens_grow_when_the_only_master_and_a_daemon_whose_clock_is_ahead_go_down_together)
{
	begin(1);
	w->hosts[0].wall_offset_us = 57000000;
	ask(0, VERB_LOCK, -1);
	MESSAGES(scenario_story(&play), "d0 > c0 :T\n");
	server_crash(&w->servers[0], NULL, 1000);
	host_crash(&w->hosts[0]);
	scenario_pass_ms(&play, 2000);
	ask(1, VERB_LOCK, -1);
	MESSAGES(scenario_story(&play), "d1 > c1 :T\n");
	scenario_end(&play);
}
END_TEST

START_TEST(a_master_that_runs_fast_for_a_whole_lease_is_found_out)
{
	begin_daemons(2, 1);
	ask(0, VERB_LOCK, -1);
	ask(1, VERB_LOCK, -1);
	/* The holder's daemon cannot renew, and its client relies on what it is told. */
	cut(0, 0, 1500);
	ask(0, VERB_CHECK, 0);
	/* By 93 ms in a third of a lease, which is less than J. */
	server_run_fast(&w->servers[0], 1500000, 28);
	scenario_pass_ms(&play, 1400);
	ck_assert_msg(is_guarded(1, 0), "%s", "the jump is not seen");
	scenario_pass_ms(&play, 1500);
	MESSAGES(scenario_story(&play), "d1 > c1 :T\n");
	scenario_end(&play);
}
END_TEST

static void
one_host_is_stunned(unsigned masters)
{
	begin_daemons(3, masters);
	ask(0, VERB_LOCK, -1);
	(void)scenario_story(&play);
	stun(0, 500);
	scenario_pass_ms(&play, 400);
	/* It was told 988 ms at first, and some have passed. */
	ask(0, VERB_CHECK, 0);
	const char *text = scenario_story(&play);
	ck_assert_msg(strstr(text, "d0 > c0 closes\n") == NULL, "%.3000s", text);
	for (unsigned m = 0; m < masters; m++) {
		ck_assert(is_guarded(0, m));
		ck_assert(!is_guarded(1, m));
		ck_assert(!is_guarded(2, m));
	}
	scenario_ask(&play, 0, &(struct request){.verb = VERB_LOCK, .name = 1});
	scenario_ask(&play, 1, &(struct request){.verb = VERB_LOCK, .name = 1});
	scenario_pass_ms(&play, 20);
	text = scenario_story(&play);
	MESSAGES(text, "d0 > c0 -GUARD ");
	MESSAGES(text, "or this host's stood still");
	MESSAGES(text, "d1 > c1 :T\n");
	scenario_pass_ms(&play, 1500);
	ck_assert(!is_guarded(0, 0));
	scenario_end(&play);
}

START_TEST(the_clock_of_one_host_stands_still_and_the_others_go_on)
{
	one_host_is_stunned(1);
}
END_TEST

START_TEST(the_clock_of_one_host_stands_still_and_the_others_go_on_with_three_masters)
{
	one_host_is_stunned(3);
}
END_TEST

START_TEST(a_host_that_stood_still_tells_what_it_lost_with_the_first_answer)
{
	begin_daemons(2, 1);
	ask(0, VERB_LOCK, -1);
	(void)scenario_story(&play);
	stun(0, 1200);
	scenario_pass_ms(&play, 400);
	const char *text = scenario_story(&play);
	MESSAGES(text, "d0 > c0 closes\n");
	ck_assert(!is_guarded(1, 0));
	scenario_end(&play);
}
END_TEST

START_TEST(a_master_whose_clock_most_daemons_saw_jump_is_guarded_and_takes_reclaims)
{
	begin_daemons(2, 1);
	ask(0, VERB_LOCK, -1);
	(void)scenario_story(&play);
	server_step_clock(&w->servers[0], 300000);
	scenario_pass_ms(&play, 500);
	MESSAGES(scenario_story(&play), "m0 > d0 reclaim a: yes\n");
	scenario_pass_ms(&play, 1500);
	ask(1, VERB_LOCK, 0);
	MESSAGES(scenario_story(&play), "d1 > c1 null\n");
	scenario_end(&play);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("trace_memory", NULL, NULL,
		a_master_that_goes_back_to_a_snapshot_is_guarded_and_the_holder_reclaims,
		one_of_three_masters_goes_back_and_its_vote_does_not_count,
		who_is_refused_knows_what_was_granted_since_its_last_hello,
		a_database_that_is_swapped_and_comes_back_is_guarded,
		a_master_that_runs_fast_for_a_whole_lease_is_found_out,
		the_clock_of_one_host_stands_still_and_the_others_go_on,
		the_clock_of_one_host_stands_still_and_the_others_go_on_with_three_masters,
		a_host_that_stood_still_tells_what_it_lost_with_the_first_answer,
		a_master_whose_clock_most_daemons_saw_jump_is_guarded_and_takes_reclaims,
		tokens_grow_when_the_only_master_and_a_daemon_whose_clock_is_ahead_go_down_together);
}
