/*
 * Tests of the loop of daemon/base/loop.h: the alarm rings once its time has come, and signals arrive.
 */
#include "daemon/base/clock.h"
#include "daemon/base/loop.h"
#include "tests/support/suite.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

struct probe {
	struct loop *loop;
	unsigned alarms;
	unsigned ticks;
	int signal;
	int64_t rang_ms;
	int64_t again_ms; /* set the alarm again when it rings; 0: no */
	bool silent;      /* says nothing of the next one */
};

static struct probe probe;

static void
on_alarm(void *arg)
{
	struct probe *p = arg;
	p->alarms++;
	p->rang_ms = clock_ms();
	if (p->silent) {
		return;
	}
	loop_alarm_at(p->loop, p->again_ms ? p->again_ms : INT64_MAX);
	p->again_ms = 0;
}

static void
on_signal(void *arg, int number)
{
	((struct probe *)arg)->signal = number;
}

static void
on_tick(void *arg)
{
	((struct probe *)arg)->ticks++;
}

static const struct loop_hooks hooks = {.alarm = on_alarm, .signal = on_signal, .tick = on_tick};

static void
setup(void)
{
	probe = (struct probe){0};
	probe.loop = loop_new(&hooks, &probe, 10);
	ck_assert_ptr_nonnull(probe.loop);
}

static void
teardown(void)
{
	loop_free(probe.loop);
}

START_TEST(the_alarm_rings_when_its_time_has_come_and_not_before)
{
	int64_t at_ms = clock_ms() + 50;
	loop_alarm_at(probe.loop, at_ms);
	while (probe.alarms == 0) {
		loop_turn(probe.loop, false);
	}
	ck_assert_int_ge(probe.rang_ms, at_ms);
	ck_assert_int_lt(probe.rang_ms, at_ms + 5000);
}
END_TEST

START_TEST(an_alarm_in_the_past_rings_at_once)
{
	loop_alarm_at(probe.loop, 0);
	while (probe.alarms == 0) {
		loop_turn(probe.loop, false);
	}
	loop_alarm_at(probe.loop, clock_ms() - 10000);
	while (probe.alarms == 1) {
		loop_turn(probe.loop, false);
	}
}
END_TEST

START_TEST(the_latest_alarm_counts)
{
	int64_t now_ms = clock_ms();
	loop_alarm_at(probe.loop, now_ms + 20);
	loop_alarm_at(probe.loop, now_ms + 120);
	while (probe.alarms == 0) {
		loop_turn(probe.loop, false);
	}
	ck_assert_int_ge(probe.rang_ms, now_ms + 120);
	loop_alarm_at(probe.loop, clock_ms() + 3600000);
	loop_alarm_at(probe.loop, clock_ms() + 10);
	while (probe.alarms == 1) {
		loop_turn(probe.loop, false);
	}
	ck_assert_int_lt(clock_ms(), now_ms + 60000);
}
END_TEST

START_TEST(an_alarm_that_was_called_off_does_not_ring)
{
	loop_alarm_at(probe.loop, clock_ms() + 10);
	loop_alarm_at(probe.loop, INT64_MAX);
	while (probe.ticks < 5) {
		loop_turn(probe.loop, false);
	}
	ck_assert_uint_eq(probe.alarms, 0);
}
END_TEST

START_TEST(an_alarm_may_set_the_next_one)
{
	probe.again_ms = clock_ms() + 30;
	loop_alarm_at(probe.loop, clock_ms() + 10);
	while (probe.alarms < 2) {
		loop_turn(probe.loop, false);
	}
}
END_TEST

/* Each turn ends with an alarm or a tick: of an alarm that rang, no turn is left over. */
START_TEST(an_alarm_rings_once_and_costs_one_turn)
{
	unsigned turns = 0;
	probe.silent = true;
	loop_alarm_at(probe.loop, clock_ms() + 5);
	while (probe.ticks < 5) {
		loop_turn(probe.loop, false);
		turns++;
	}
	ck_assert_uint_eq(probe.alarms, 1);
	ck_assert_uint_le(turns, 1 + probe.ticks);
}
END_TEST

START_TEST(signals_arrive)
{
	static const int numbers[] = {SIGHUP, SIGTERM, SIGINT};
	for (size_t i = 0; i < 3; i++) {
		kill(getpid(), numbers[i]);
		while (probe.signal != numbers[i]) {
			loop_turn(probe.loop, false);
		}
	}
}
END_TEST

START_TEST(a_signal_after_the_end_of_the_loop_does_not_kill)
{
	sigset_t waiting;
	const struct timespec none = {0};
	loop_free(probe.loop);
	kill(getpid(), SIGTERM);
	ck_assert_int_eq(sigpending(&waiting), 0);
	ck_assert(sigismember(&waiting, SIGTERM));
	sigemptyset(&waiting);
	sigaddset(&waiting, SIGTERM);
	ck_assert_int_eq(sigtimedwait(&waiting, NULL, &none), SIGTERM);
	setup();
}
END_TEST

START_TEST(a_busy_turn_does_not_wait)
{
	int64_t before_ms = clock_ms();
	for (int i = 0; i < 100; i++) {
		loop_turn(probe.loop, true);
	}
	/* With waiting, each would take until the next tick: a second in all. */
	ck_assert_int_lt(clock_ms() - before_ms, 900);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("loop", setup, teardown, the_alarm_rings_when_its_time_has_come_and_not_before,
		an_alarm_in_the_past_rings_at_once, the_latest_alarm_counts,
		an_alarm_that_was_called_off_does_not_ring, an_alarm_may_set_the_next_one,
		an_alarm_rings_once_and_costs_one_turn, signals_arrive,
		a_signal_after_the_end_of_the_loop_does_not_kill, a_busy_turn_does_not_wait);
}
