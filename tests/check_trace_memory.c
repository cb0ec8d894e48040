/*
 * Masters whose memory goes back while they run, as stories: the core with the scripts of lua/ (play.h).
 */
#include "tests/sim/play.h"
#include "tests/support/suite.h"

#include <string.h>

static struct play play;
static struct world *const w = &play.w;

/* A client at each of two daemons, and a copy of what the masters know before they lock anything. */
static void
begin(unsigned masters)
{
	play_begin(&play, 2, masters);
	play_connect(&play, 0, 0);
	play_connect(&play, 1, 1);
	for (unsigned i = 0; i < masters; i++)
		server_backup(&w->servers[i]);
	/* Each daemon looks at its masters within a third of a lease. */
	play_pass_ms(&play, 400);
}

static void
ask(unsigned c, enum verb verb, int64_t wait_ms)
{
	play_ask(&play, c, &(struct request){.verb = verb, .wait_ms = wait_ms});
}

static void
cut(unsigned d, unsigned m, int ms)
{
	struct way *way = &w->hosts[d].ways[m];
	way->cut_there_until_us = way->cut_back_until_us = w->now_us + ms * 1000;
}

#define SAYS(text, line) ck_assert_msg(strstr(text, line) != NULL, "%.3000s", text)

START_TEST(a_master_that_goes_back_to_a_snapshot_is_guarded_and_the_holder_reclaims)
{
	begin(1);
	ask(0, VERB_LOCK, -1);
	server_revert(&w->servers[0]);
	(void)play_story(&play);
	ask(1, VERB_LOCK, 0);
	play_pass_ms(&play, 5);
	const char *text = play_story(&play);
	SAYS(text, "m0 > d1 acquire a: forgotten\n");
	SAYS(text, "d1 > c1 -GUARD the master restarted or is new");
	play_pass_ms(&play, 400);
	SAYS(play_story(&play), "m0 > d0 reclaim a: yes\n");
	play_pass_ms(&play, 1200);
	ask(1, VERB_LOCK, 0);
	SAYS(play_story(&play), "d1 > c1 null\n");
	play_end(&play);
}
END_TEST

START_TEST(one_of_three_masters_goes_back_and_its_vote_does_not_count)
{
	begin(3);
	cut(0, 2, 200);
	ask(0, VERB_LOCK, -1);
	server_revert(&w->servers[0]);
	(void)play_story(&play);
	ask(1, VERB_LOCK, 0);
	play_pass_ms(&play, 20);
	SAYS(play_story(&play), "m0 > d1 acquire a: forgotten\n");
	play_pass_ms(&play, 400);
	SAYS(play_story(&play), "d1 > c1 null\n");
	play_end(&play);
}
END_TEST

START_TEST(who_is_refused_knows_what_was_granted_since_it_last_greeted)
{
	begin(1);
	/* Now the copy is younger than each daemon's last greeting. */
	server_backup(&w->servers[0]);
	ask(0, VERB_LOCK, -1);
	ask(1, VERB_LOCK, 0);
	server_revert(&w->servers[0]);
	SAYS(play_story(&play), "m0 > d1 acquire a: busy by D\n");
	ask(1, VERB_LOCK, 0);
	SAYS(play_story(&play), "m0 > d1 acquire a: forgotten\n");
	play_end(&play);
}
END_TEST

START_TEST(a_database_that_is_swapped_and_comes_back_is_guarded)
{
	begin(1);
	server_swap(&w->servers[0]);
	play_pass_ms(&play, 2000);
	ask(0, VERB_LOCK, 0);
	SAYS(play_story(&play), "d0 > c0 :T\n");
	server_swap(&w->servers[0]);
	ask(1, VERB_LOCK, 0);
	play_pass_ms(&play, 5);
	SAYS(play_story(&play), "d1 > c1 -GUARD the master restarted or is new");
	play_pass_ms(&play, 400);
	SAYS(play_story(&play), "m0 > d0 reclaim a: yes\n");
	play_end(&play);
}
END_TEST

START_TEST(tokens_grow_when_the_only_master_and_a_daemon_whose_clock_is_ahead_go_down_together)
{
	begin(1);
	w->hosts[0].wall_offset_us = 57000000;
	ask(0, VERB_LOCK, -1);
	SAYS(play_story(&play), "d0 > c0 :T\n");
	server_crash(&w->servers[0], NULL, 1000);
	host_crash(&w->hosts[0]);
	play_pass_ms(&play, 2000);
	ask(1, VERB_LOCK, -1);
	SAYS(play_story(&play), "d1 > c1 :T\n");
	play_end(&play);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("trace_memory", NULL, NULL,
		a_master_that_goes_back_to_a_snapshot_is_guarded_and_the_holder_reclaims,
		one_of_three_masters_goes_back_and_its_vote_does_not_count,
		who_is_refused_knows_what_was_granted_since_it_last_greeted,
		a_database_that_is_swapped_and_comes_back_is_guarded,
		tokens_grow_when_the_only_master_and_a_daemon_whose_clock_is_ahead_go_down_together);
}
