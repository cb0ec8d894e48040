/*
 * loop: see loop.h. It decides nothing.
 */
#include "daemon/base/loop.h"

#include "daemon/base/clock.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- timeouts ---- */

struct timeout {
	struct event event;
	int fd;
	void (*ring)(void *arg);
	void *arg;
};

/* If the timeout was set again since the event came, there is nothing to read. */
static void
timeout_came(evutil_socket_t fd, short what, void *arg)
{
	struct timeout *timeout = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof times) == sizeof times)
		timeout->ring(timeout->arg);
}

struct timeout *
timeout_new(struct event_base *base, void (*ring)(void *arg), void *arg)
{
	struct timeout *timeout = calloc(1, sizeof *timeout);

	if (!timeout)
		return NULL;
	timeout->ring = ring;
	timeout->arg = arg;
	timeout->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timeout->fd < 0) {
		free(timeout);
		return NULL;
	}
	event_assign(&timeout->event, base, timeout->fd, EV_READ | EV_PERSIST, timeout_came, timeout);
	if (event_add(&timeout->event, NULL) != 0) {
		timeout_free(timeout);
		return NULL;
	}
	return timeout;
}

void
timeout_free(struct timeout *timeout)
{
	if (!timeout)
		return;
	event_del(&timeout->event);
	close(timeout->fd);
	free(timeout);
}

void
timeout_set(struct timeout *timeout, int64_t ms)
{
	struct itimerspec spec = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
	int failed;

	assert(ms >= 0);
	if (ms == 0)
		spec.it_value.tv_nsec = 1; /* zero would disarm it */
	failed = timerfd_settime(timeout->fd, 0, &spec, NULL);
	assert(!failed);
	(void)failed;
}

/* ---- the loop ---- */

static const int loop_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2};
#define LOOP_SIGNALS (sizeof loop_signals / sizeof *loop_signals)

struct loop {
	struct event_base *base;
	const struct loop_hooks *hooks;
	void *arg;
	int timer;
	int64_t armed_ms; /* the time the timer is set to; INT64_MAX: not set */
	int64_t wanted_at_ms;
	struct event alarm;
	struct timeout *timeout; /* NULL: no tick */
	int64_t tick_ms;
	struct event signals[LOOP_SIGNALS];
};

static void
timer_set(struct loop *loop, int64_t at_ms)
{
	struct itimerspec spec = {0};
	if (at_ms != INT64_MAX) {
		int64_t at = at_ms > 0 ? at_ms : 1; /* zero would disarm the timer */
		spec.it_value.tv_sec = (time_t)(at / 1000);
		spec.it_value.tv_nsec = (long)(at % 1000) * 1000000;
	}
	int failed = timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &spec, NULL);
	assert(!failed);
	(void)failed;
	loop->armed_ms = at_ms;
}

/* To move the timer costs a system call, and an early ring costs at most one: so the timer is only ever moved
 * to an earlier time. */
void
loop_alarm_at(struct loop *loop, int64_t at_ms)
{
	loop->wanted_at_ms = at_ms;
	if (at_ms < loop->armed_ms) {
		timer_set(loop, at_ms);
	}
}

/* The handler sets the next alarm in the same turn. */
static void
loop_rang(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct loop *loop = arg;
	loop->armed_ms = INT64_MAX;
	if (clock_ms() >= loop->wanted_at_ms) {
		loop->wanted_at_ms = INT64_MAX;
		loop->hooks->alarm(loop->arg);
	} else if (loop->wanted_at_ms < INT64_MAX) {
		timer_set(loop, loop->wanted_at_ms);
	}
}

static void
loop_signalled(int number, short what, void *arg)
{
	(void)what;
	struct loop *loop = arg;
	loop->hooks->signal(loop->arg, number);
}

static void
loop_ticked(void *arg)
{
	struct loop *loop = arg;
	timeout_set(loop->timeout, loop->tick_ms);
	loop->hooks->tick(loop->arg);
}

void
loop_block_signals(bool block)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < LOOP_SIGNALS; i++) {
		sigaddset(&set, loop_signals[i]);
	}
	sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

static int
loop_watch(struct loop *loop, int64_t tick_ms)
{
	/* Edge-triggered: that it has expired need not be read, as it is reported only when it expires again.
	 */
	event_assign(&loop->alarm, loop->base, loop->timer, EV_READ | EV_PERSIST | EV_ET, loop_rang, loop);
	int failed = event_add(&loop->alarm, NULL);
	for (size_t i = 0; i < LOOP_SIGNALS; i++) {
		evsignal_assign(&loop->signals[i], loop->base, loop_signals[i], loop_signalled, loop);
		failed |= event_add(&loop->signals[i], NULL);
	}
	loop_block_signals(false); /* a process that became this program by exec has blocked them */
	if (tick_ms > 0) {
		loop->tick_ms = tick_ms;
		loop->timeout = timeout_new(loop->base, loop_ticked, loop);
		if (!loop->timeout) {
			return -1;
		}
		timeout_set(loop->timeout, tick_ms);
	}
	return failed;
}

struct loop *
loop_new(const struct loop_hooks *hooks, void *arg, int64_t tick_ms)
{
	struct loop *loop = calloc(1, sizeof *loop);
	if (!loop) {
		return NULL;
	}
	loop->hooks = hooks;
	loop->arg = arg;
	loop->armed_ms = INT64_MAX;
	loop->wanted_at_ms = INT64_MAX;
	loop->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	loop->base = loop->timer < 0 ? NULL : event_base_new();
	if (!loop->base || loop_watch(loop, tick_ms) != 0) {
		int why = errno;
		loop_free(loop);
		errno = why;
		return NULL;
	}
	return loop;
}

static void
loop_forget(struct event *event)
{
	if (event_initialized(event)) {
		event_del(event);
	}
}

void
loop_free(struct loop *loop)
{
	if (!loop) {
		return;
	}
	loop_forget(&loop->alarm);
	timeout_free(loop->timeout);
	loop_block_signals(true);
	for (size_t i = 0; i < LOOP_SIGNALS; i++) {
		loop_forget(&loop->signals[i]);
	}
	if (loop->base) {
		event_base_free(loop->base);
	}
	if (loop->timer >= 0) {
		close(loop->timer);
	}
	free(loop);
}

struct event_base *
loop_base(struct loop *loop)
{
	return loop->base;
}

void
loop_turn(struct loop *loop, bool busy)
{
	event_base_loop(loop->base, EVLOOP_ONCE | (busy ? EVLOOP_NONBLOCK : 0));
}
