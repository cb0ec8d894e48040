/*
 * The main schedules as stories: daemons, clients and a master of the simulator, without chance, and what
 * they say to each other. Times, tokens and HELLOs are left out of the lines; T is a token, D the
 * daemon-id of a lease.
 */
#include "tests/sim/world/scenario.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct scenario play;
static struct world *const w = &play.w;

static void
begin_with(unsigned hosts, unsigned masters)
{
	scenario_begin(&play, hosts, masters);
}

static void
begin(unsigned hosts)
{
	begin_with(hosts, 1);
}

static void
end(void)
{
	scenario_end(&play);
}

static void
pass_ms(int ms)
{
	scenario_pass_ms(&play, ms);
}

static void
connect_to(unsigned c, unsigned d)
{
	scenario_connect(&play, c, d);
}

static void
ask(unsigned c, enum verb verb, int64_t wait_ms)
{
	scenario_ask(&play, c, &(struct request){.verb = verb, .wait_ms = wait_ms});
}

/* MLOCK or MUNLOCK of a and b, in this order or in the other. */
static void
ask_both(unsigned c, enum verb verb, bool turned)
{
	struct request r = {.verb = verb, .wait_ms = -1, .names = {turned, !turned}, .count = 2};
	scenario_ask(&play, c, &r);
}

static const char *
story(void)
{
	return scenario_story(&play);
}

START_TEST(one_client_takes_a_lock_and_gives_it_back)
{
	begin(1);
	connect_to(0, 0);
	ask(0, VERB_LOCK, -1);
	ask(0, VERB_CHECK, 0);
	ask(0, VERB_UNLOCK, 0);
	ck_assert_str_eq(story(), "c0 > d0 LOCK a WAIT -1 LEASE 0 MAXHOLD 0\n"
				  "d0 > m0 acquire a\n"
				  "m0 > d0 acquire a: yes\n"
				  "d0 > c0 :T\n"
				  "c0 > d0 CHECK a\n"
				  "d0 > c0 :975\n"
				  "c0 > d0 UNLOCK a\n"
				  "d0 > c0 :0\n"
				  "d0 > m0 release a\n"
				  "m0 > d0 release a: yes\n");
	end();
}
END_TEST

START_TEST(a_lock_changes_hands_in_one_daemon_without_the_master)
{
	begin(1);
	connect_to(0, 0);
	connect_to(1, 0);
	ask(0, VERB_LOCK, -1);
	ask(1, VERB_LOCK, -1);
	(void)story();
	ask(0, VERB_UNLOCK, 0);
	ck_assert_str_eq(story(), "c0 > d0 UNLOCK a\n"
				  "d0 > c0 :0\n"
				  "d0 > c1 :T\n");
	end();
}
END_TEST

START_TEST(a_daemon_that_waits_is_queued_and_called)
{
	begin(2);
	connect_to(0, 0);
	connect_to(1, 1);
	ask(0, VERB_LOCK, -1);
	(void)story();
	ask(1, VERB_LOCK, -1);
	ask(0, VERB_UNLOCK, 0);
	ck_assert_str_eq(story(), "c1 > d1 LOCK a WAIT -1 LEASE 0 MAXHOLD 0\n"
				  "d1 > m0 acquire a\n"
				  "m0 > d0 want a\n"
				  "m0 > d1 acquire a: busy by D\n"
				  "c0 > d0 UNLOCK a\n"
				  "d0 > c0 :0\n"
				  "d0 > m0 release a\n"
				  "m0 > d1 wake a\n"
				  "d1 > m0 acquire a\n"
				  "m0 > d0 release a: yes\n"
				  "m0 > d1 acquire a: yes\n"
				  "d1 > c1 :T\n");
	end();
}
END_TEST

START_TEST(trying_once_is_answered_at_once)
{
	begin(2);
	connect_to(0, 0);
	connect_to(1, 1);
	ask(0, VERB_LOCK, -1);
	(void)story();
	ask(1, VERB_LOCK, 0);
	ck_assert_str_eq(story(), "c1 > d1 LOCK a WAIT 0 LEASE 0 MAXHOLD 0\n"
				  "d1 > m0 acquire a\n"
				  "m0 > d0 want a\n"
				  "m0 > d1 acquire a: busy by D\n"
				  "d1 > c1 null\n");
	end();
}
END_TEST

START_TEST(a_flushed_master_gets_its_lease_back_and_grants_nothing_new_before_the_guard_is_over)
{
	begin(2);
	connect_to(0, 0);
	connect_to(1, 1);
	ask(0, VERB_LOCK, -1);
	server_flush(&w->servers[0]);
	(void)story();
	ask(1, VERB_LOCK, 0);
	pass_ms(5);
	const char *text = story();
	ck_assert_msg(strstr(text, "m0 > d1 acquire a: forgotten\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "d1 > c1 -GUARD the master restarted or is new") != NULL, "%.3000s", text);
	pass_ms(400);
	text = story();
	ck_assert_msg(strstr(text, "m0 > d0 reclaim a: yes\n") != NULL, "%.3000s", text);
	pass_ms(1200);
	text = story();
	ck_assert_msg(strstr(text, "m0 > d1 admit : yes\n") != NULL ||
			      strstr(text, "m0 > d0 admit : yes\n") != NULL,
		"%.3000s", text);
	ask(1, VERB_LOCK, 0);
	ask(0, VERB_UNLOCK, 0);
	ask(1, VERB_LOCK, 0);
	text = story();
	ck_assert_msg(strstr(text, "d1 > c1 null\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "d0 > c0 :0\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "d1 > c1 :T\n") != NULL, "%.3000s", text);
	end();
}
END_TEST

START_TEST(an_acquire_whose_answer_is_lost_is_released_again)
{
	begin(1);
	connect_to(0, 0);
	w->hosts[0].ways[0].slow_until_us = w->now_us + 2000;
	ask(0, VERB_LOCK, -1);
	wire_break(&w->hosts[0].ways[0].wires[0], "reset");
	pass_ms(300);
	const char *text = story();
	const char *unknown = strstr(text, "m0 > d0 acquire a: unknown\n");
	const char *release = strstr(text, "d0 > m0 release a\n");
	const char *granted = strstr(text, "d0 > c0 :T\n");
	ck_assert_msg(unknown != NULL && release != NULL && granted != NULL, "%.3000s", text);
	ck_assert_msg(unknown < release && release < granted, "%.3000s", text);
	end();
}
END_TEST

START_TEST(an_abandoned_hold_is_withheld_for_as_long_as_it_was_told)
{
	begin(1);
	connect_to(0, 0);
	connect_to(1, 0);
	ask(0, VERB_LOCK, -1);
	ask(1, VERB_LOCK, -1);
	(void)story();
	conn_leave(play.conns[0], false);
	pass_ms(900);
	const char *text = story();
	ck_assert_msg(strstr(text, "c0 > d0 closed, abandoned\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "> c1 :T") == NULL, "%.3000s", text);
	pass_ms(200);
	text = story();
	ck_assert_msg(strstr(text, "d0 > c1 :T\n") != NULL, "%.3000s", text);
	end();
}
END_TEST

START_TEST(a_daemon_that_stood_still_tells_the_loss_before_it_reads_what_came)
{
	begin(1);
	connect_to(0, 0);
	ask(0, VERB_LOCK, -1);
	(void)story();
	w->hosts[0].paused_until_us = w->now_us + 1500000;
	ask(0, VERB_CHECK, 0);
	pass_ms(1600);
	const char *text = story();
	ck_assert_msg(strstr(text, "d0 > c0 closes\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "d0 > c0 :") == NULL, "%.3000s", text);
	end();
}
END_TEST

/* ---- three masters ---- */

static bool
said(const char *text, const char *line)
{
	return strstr(text, line) != NULL;
}

static void
cut(unsigned d, unsigned m, int ms)
{
	struct route *way = &w->hosts[d].ways[m];
	way->cut_there_until_us = way->cut_back_until_us = w->now_us + ms * 1000;
}

START_TEST(three_masters_are_asked_at_once_and_released_at_once)
{
	begin_with(1, 3);
	connect_to(0, 0);
	ask(0, VERB_LOCK, -1);
	static const char asked[] = "c0 > d0 LOCK a WAIT -1 LEASE 0 MAXHOLD 0\n"
				    "d0 > m0 acquire a\n"
				    "d0 > m1 acquire a\n"
				    "d0 > m2 acquire a\n";
	const char *text = story();
	ck_assert_msg(strncmp(text, asked, strlen(asked)) == 0, "%.3000s", text);
	ck_assert_msg(said(text, "d0 > c0 :T\n"), "%.3000s", text);
	ask(0, VERB_UNLOCK, 0);
	text = story();
	for (int m = 0; m < 3; m++) {
		char line[] = "d0 > m0 release a\n";
		line[6] = (char)('0' + m);
		ck_assert_msg(said(text, line), "%.3000s", text);
	}
	end();
}
END_TEST

START_TEST(two_masters_of_three_are_enough_and_the_third_gets_the_lease_when_it_is_back)
{
	begin_with(2, 3);
	connect_to(0, 0);
	connect_to(1, 1);
	cut(0, 2, 400);
	ask(0, VERB_LOCK, -1);
	pass_ms(400);
	const char *text = story();
	ck_assert_msg(said(text, "d0 > c0 :T\n"), "%.3000s", text);
	pass_ms(600);
	ck_assert(server_owner(&w->servers[2], 0, &(struct slice){NULL, 0}));
	/* Whichever of the others is lost now. */
	server_crash(&w->servers[0], NULL, 1000);
	(void)story();
	ask(1, VERB_LOCK, 0);
	pass_ms(20);
	text = story();
	ck_assert_msg(said(text, "d1 > c1 null\n"), "%.3000s", text);
	end();
}
END_TEST

START_TEST(a_daemon_that_reaches_one_master_of_three_says_so)
{
	begin_with(1, 3);
	connect_to(0, 0);
	for (unsigned m = 0; m < 2; m++) {
		server_crash(&w->servers[m], master_store(w->servers[m].master), 10000000);
		pass_ms(5);
	}
	ask(0, VERB_LOCK, 0);
	const char *text = story();
	ck_assert_msg(said(text, "d0 > c0 -NOMASTER only 1 of 3 masters can be used"), "%.3000s", text);
	end();
}
END_TEST

START_TEST(votes_that_are_split_are_given_back_and_asked_for_again)
{
	begin_with(3, 3);
	for (unsigned d = 0; d < 3; d++) {
		connect_to(d, d);
		for (unsigned m = 0; m < 3; m++)
			w->hosts[d].ways[m].far_us = m == d ? 0 : 5000;
	}
	struct request r = {.verb = VERB_LOCK, .wait_ms = -1};
	for (unsigned d = 0; d < 3; d++)
		conn_send(play.conns[d], &r);
	pass_ms(100);
	const char *text = story();
	for (int d = 0; d < 3; d++) {
		char own[] = "m0 > d0 acquire a: yes\n", back[] = "d0 > m0 release a\n";
		own[1] = own[6] = back[1] = back[6] = (char)('0' + d);
		ck_assert_msg(said(text, own), "%.6000s", text);
		/* Who has won has nothing to give back. */
		char won[] = "d0 > c0 :T\n";
		won[1] = won[6] = own[1];
		ck_assert_msg(said(text, back) || said(text, won), "%.6000s", text);
	}
	ck_assert_uint_eq(w->checker.grants, 1);
	end();
}
END_TEST

START_TEST(a_master_that_goes_on_too_late_refuses_what_it_was_asked)
{
	begin_with(1, 3);
	connect_to(0, 0);
	w->servers[1].stopped_until_us = w->now_us + 600000;
	ask(0, VERB_LOCK, -1);
	ask(0, VERB_UNLOCK, 0);
	pass_ms(700);
	const char *text = story();
	ck_assert_msg(said(text, "m1 > d0 acquire a: late\n"), "%.3000s", text);
	ck_assert(!server_owner(&w->servers[1], 0, &(struct slice){NULL, 0}));
	end();
}
END_TEST

START_TEST(nobody_is_granted_anything_before_the_guard_is_over_when_all_masters_forgot)
{
	begin_with(2, 3);
	connect_to(0, 0);
	connect_to(1, 1);
	ask(0, VERB_LOCK, -1);
	int64_t token = held_token(w, 0);
	for (unsigned m = 0; m < 3; m++)
		server_crash(&w->servers[m], NULL, 1000);
	ask(1, VERB_LOCK, -1);
	pass_ms(1050);
	const char *text = story();
	ck_assert_msg(!said(text, "d1 > c1 :T\n"), "%.6000s", text);
	ck_assert_msg(said(text, "d0 > c0 closes\n"), "%.6000s", text);
	pass_ms(1000);
	text = story();
	ck_assert_msg(said(text, "d1 > c1 :T\n"), "%.6000s", text);
	ck_assert(held_token(w, 0) > token);
	end();
}
END_TEST

START_TEST(a_lease_on_two_masters_survives_that_the_clock_of_one_jumps)
{
	begin_with(2, 3);
	connect_to(0, 0);
	connect_to(1, 1);
	cut(0, 2, 300);
	ask(0, VERB_LOCK, -1);
	(void)story();
	server_step_clock(&w->servers[1], INT64_C(3600000000));
	ask(1, VERB_LOCK, -1);
	pass_ms(1500);
	const char *text = story();
	ck_assert_msg(!said(text, "d1 > c1 :T\n"), "%.6000s", text);
	ask(0, VERB_CHECK, 0);
	ask(0, VERB_UNLOCK, 0);
	pass_ms(200);
	text = story();
	ck_assert_msg(said(text, "d0 > c0 :0\n"), "%.6000s", text);
	ck_assert_msg(said(text, "d1 > c1 :T\n"), "%.6000s", text);
	end();
}
END_TEST

/* ---- chance ---- */

START_TEST(two_daemons_that_take_the_same_names_in_opposite_orders_both_get_them)
{
	begin(2);
	connect_to(0, 0);
	connect_to(1, 1);
	ask_both(0, VERB_MLOCK, false);
	ask_both(1, VERB_MLOCK, true);
	ask_both(0, VERB_MUNLOCK, false);
	pass_ms(5);
	ask_both(1, VERB_MUNLOCK, true);
	ck_assert_str_eq(story(), "c0 > d0 MLOCK a ab WAIT -1 LEASE 0 MAXHOLD 0\n"
				  "d0 > m0 acquire a\n"
				  "d0 > m0 acquire ab\n"
				  "m0 > d0 acquire a: yes\n"
				  "m0 > d0 acquire ab: yes\n"
				  "d0 > c0 :T :T \n"
				  "c1 > d1 MLOCK ab a WAIT -1 LEASE 0 MAXHOLD 0\n"
				  "d1 > m0 acquire a\n"
				  "d1 > m0 acquire ab\n"
				  "m0 > d0 want a\n"
				  "m0 > d0 want ab\n"
				  "m0 > d1 acquire a: busy by D\n"
				  "d1 > m0 acquire a\n"
				  "m0 > d1 acquire ab: busy by D\n"
				  "m0 > d0 want a\n"
				  "m0 > d1 acquire a: busy by D\n"
				  "c0 > d0 MUNLOCK a ab\n"
				  "d0 > c0 :2\n"
				  "d0 > m0 release a\n"
				  "d0 > m0 release ab\n"
				  "m0 > d1 wake a\n"
				  "d1 > m0 acquire a\n"
				  "m0 > d0 release a: yes\n"
				  "m0 > d0 release ab: yes\n"
				  "m0 > d1 acquire a: yes\n"
				  "d1 > m0 acquire ab\n"
				  "m0 > d1 acquire ab: yes\n"
				  "d1 > c1 :T :T \n"
				  "c1 > d1 MUNLOCK ab a\n"
				  "d1 > c1 :2\n"
				  "d1 > m0 release ab\n"
				  "d1 > m0 release a\n"
				  "m0 > d1 release ab: yes\n"
				  "m0 > d1 release a: yes\n");
	end();
}
END_TEST

START_TEST(the_same_seed_gives_the_same_run)
{
	for (unsigned masters = 1; masters <= PLAN_MASTERS_MAX; masters += 2) {
		uint64_t hash[2];
		for (int i = 0; i < 2; i++) {
			struct plan plan;
			plan_draw(&plan, 7, masters);
			world_open(w, &plan, i == 1);
			world_live(w);
			hash[i] = w->trace.hash;
			end();
		}
		ck_assert(hash[0] == hash[1]);
	}
}
END_TEST

START_TEST(a_hundred_seeds_break_no_promise)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct plan plan;
		plan_draw(&plan, seed, 0);
		world_open(w, &plan, false);
		world_live(w);
		ck_assert_msg(!w->failed, "seed %d: %s", (int)seed, w->failure.why);
		world_close(w);
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("trace", NULL, NULL, one_client_takes_a_lock_and_gives_it_back,
		a_lock_changes_hands_in_one_daemon_without_the_master,
		a_daemon_that_waits_is_queued_and_called, trying_once_is_answered_at_once,
		a_flushed_master_gets_its_lease_back_and_grants_nothing_new_before_the_guard_is_over,
		an_acquire_whose_answer_is_lost_is_released_again,
		an_abandoned_hold_is_withheld_for_as_long_as_it_was_told,
		a_daemon_that_stood_still_tells_the_loss_before_it_reads_what_came,
		three_masters_are_asked_at_once_and_released_at_once,
		two_masters_of_three_are_enough_and_the_third_gets_the_lease_when_it_is_back,
		a_daemon_that_reaches_one_master_of_three_says_so,
		votes_that_are_split_are_given_back_and_asked_for_again,
		a_master_that_goes_on_too_late_refuses_what_it_was_asked,
		nobody_is_granted_anything_before_the_guard_is_over_when_all_masters_forgot,
		a_lease_on_two_masters_survives_that_the_clock_of_one_jumps, the_same_seed_gives_the_same_run,
		two_daemons_that_take_the_same_names_in_opposite_orders_both_get_them,
		a_hundred_seeds_break_no_promise);
}
