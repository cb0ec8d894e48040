/*
 * The main schedules as stories: daemons, clients and a master of the simulator, without chance, and what
 * they say to each other. Times, tokens and greetings are left out of the lines; T is a token, D the
 * daemon-id of a lease.
 */
#include "tests/sim/world.h"
#include "tests/support/suite.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world w;
static struct conn *conns[4];
static size_t told; /* how much of the trace has been looked at */

/* Daemons that are connected to an admitted master, and one client for each of the connections below. */
static void
begin(unsigned hosts)
{
	struct plan plan = {.seed = 1,
		.hosts = hosts,
		.names = 2,
		.masters = 1,
		.links = 1,
		.lease_ms = 1000,
		.margin_ms = 100,
		.streak = 1,
		.streak_ms = 10,
		.trusted = true};
	world_open(&w, &plan, true);
	w.phase = PHASE_CALM;
	world_run_until(&w, 300000);
	told = w.trace.n;
}

static void
end(void)
{
	ck_assert_msg(!w.failed, "%s", w.why);
	world_close(&w);
}

static void
pass_ms(int ms)
{
	world_run_until(&w, w.now_us + ms * 1000);
}

/* Client c connects to daemon d, by TCP, so that going away is not a clean end. */
static void
connect_to(unsigned c, unsigned d)
{
	w.clients[c] = (struct client){.world = &w, .index = c, .manual = true};
	conns[c] = w.clients[c].conn = conn_open(&w.clients[c], &w.hosts[d], false);
	pass_ms(1);
}

static void
ask(unsigned c, enum verb verb, int64_t wait_ms)
{
	struct request r = {.verb = verb, .wait_ms = wait_ms};
	conn_send(conns[c], &r);
	pass_ms(2);
}

static const char *
skip_noise(const char *line)
{
	static const char *const noise[] = {
		" hello ", " link ", "subscribed", "master.", "lease.", "lock.", "starts as"};
	size_t n = strcspn(line, "\n");
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++)
		if (memmem(line, n, noise[i], strlen(noise[i])) != NULL)
			return line + n + 1;
	return line;
}

/* One line without its time; long numbers become T, a lease's owner D, attempts and empty fields go. */
static const char *
put_line(const char *line, char *out)
{
	line = strchr(line, ']') + 2;
	while (*line != '\n') {
		size_t hex = strspn(line, "0123456789abcdef"), digits = strspn(line, "0123456789");
		if (hex == 32) {
			*out++ = 'D';
			line += hex;
			line += *line == ':' ? 1 + strspn(line + 1, "0123456789") : 0;
		} else if (digits > 12) {
			*out++ = 'T';
			line += digits;
		} else if (strncmp(line, " tokens ", 8) == 0) {
			line += strcspn(line, "\n");
		} else if (*line == '#') {
			line += 1 + strspn(line + 1, "0123456789");
			out -= out[-1] == ' ';
		} else {
			*out++ = *line++;
		}
	}
	*out++ = '\n';
	*out = '\0';
	return line + 1;
}

/* What has been said since it was last asked. */
static const char *
story(void)
{
	static char text[8192];
	char *out = text;
	const char *line = w.trace.text + told;
	*out = '\0';
	while (*line != '\0') {
		const char *next = skip_noise(line);
		if (next == line) {
			next = put_line(line, out);
			out += strlen(out);
		}
		line = next;
	}
	told = w.trace.n;
	return text;
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
	server_flush(&w.servers[0]);
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
	w.hosts[0].ways[0].slow_until_us = w.now_us + 2000;
	ask(0, VERB_LOCK, -1);
	wire_break(&w.hosts[0].ways[0].wires[0], "reset");
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
	conn_leave(conns[0], false);
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
	w.hosts[0].paused_until_us = w.now_us + 1500000;
	ask(0, VERB_CHECK, 0);
	pass_ms(1600);
	const char *text = story();
	ck_assert_msg(strstr(text, "d0 > c0 closes\n") != NULL, "%.3000s", text);
	ck_assert_msg(strstr(text, "d0 > c0 :") == NULL, "%.3000s", text);
	end();
}
END_TEST

START_TEST(the_same_seed_gives_the_same_run)
{
	uint64_t hash[2];
	for (int i = 0; i < 2; i++) {
		struct plan plan;
		plan_draw(&plan, 7, 0);
		world_open(&w, &plan, i == 1);
		world_live(&w);
		hash[i] = w.trace.hash;
		end();
	}
	ck_assert(hash[0] == hash[1]);
}
END_TEST

START_TEST(a_hundred_seeds_break_no_promise)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct plan plan;
		plan_draw(&plan, seed, 0);
		world_open(&w, &plan, false);
		world_live(&w);
		ck_assert_msg(!w.failed, "seed %d: %s", (int)seed, w.why);
		world_close(&w);
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
		the_same_seed_gives_the_same_run, a_hundred_seeds_break_no_promise);
}
