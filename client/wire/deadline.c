/*
 * deadline: the arithmetic of a hold's validity from the holder's point of view, that of --max-run and
 * --min-hold, and timerfd(2) with absolute milliseconds.
 */
#include "client/wire/deadline.h"

#include "client/wire/descriptor.h"

#include <assert.h>
#include <sys/timerfd.h>
#include <time.h>

/* Never ask more often, even if the validity is short. */
#define ASK_MS_MIN 5

/* What is set aside of a validity for stopping a command. */
#define RESERVE_PART     20
#define RESERVE_LEAST_MS 500

int64_t
deadline_reserve_ms(int64_t valid_ms, int64_t wanted_ms)
{
	int64_t part_ms = valid_ms / RESERVE_PART;
	int64_t most_ms = part_ms > RESERVE_LEAST_MS ? part_ms : RESERVE_LEAST_MS;

	return wanted_ms < most_ms ? wanted_ms : most_ms;
}

static int64_t
ms_clamp(int64_t ms)
{
	return ms < 0 ? 0 : ms > DEADLINE_MS_MAX ? DEADLINE_MS_MAX : ms;
}

static void
deadline_set(struct deadline *d, int64_t sent_ms, int64_t valid_ms)
{
	int64_t third;

	valid_ms = ms_clamp(valid_ms);
	third = valid_ms / 3;
	d->expire_ms = sent_ms + valid_ms;
	d->stop_ms = d->expire_ms - d->grace_ms;
	d->ask_ms = sent_ms + (third > ASK_MS_MIN ? third : ASK_MS_MIN);
	d->sent_ms = 0;
	d->doubt_ms = 0;
}

void
deadline_start(struct deadline *d, int64_t sent_ms, int64_t valid_ms, int64_t grace_ms)
{
	assert(sent_ms > 0 && grace_ms >= 0);
	valid_ms = ms_clamp(valid_ms);
	*d = (struct deadline){.grace_ms = grace_ms < valid_ms / 3 ? grace_ms : valid_ms / 3};
	deadline_set(d, sent_ms, valid_ms);
}

void
deadline_asked(struct deadline *d, int64_t now_ms)
{
	assert(d->sent_ms == 0 && now_ms > 0);
	d->sent_ms = now_ms;
	d->ask_ms = INT64_MAX;
	/* CHECK was sent late: the stop may wait for the answer. */
	if (now_ms >= d->expire_ms) {
		d->doubt_ms = d->doubt_ms > 0 ? d->doubt_ms : now_ms + DEADLINE_DOUBT_MS;
	} else if (now_ms >= d->stop_ms) {
		d->stop_ms = now_ms + DEADLINE_LATE_MS;
	}
}

void
deadline_announced(struct deadline *d, int64_t valid_ms)
{
	assert(d->sent_ms > 0);
	deadline_set(d, d->sent_ms, valid_ms);
}

void
deadline_silence(struct deadline *d)
{
	d->silent = true;
	d->ask_ms = INT64_MAX;
	d->doubt_ms = 0;
	/* No answer can come any more, so there is nothing to wait for. */
	d->stop_ms = d->expire_ms - d->grace_ms;
}

void
deadline_cut(struct deadline *d, int64_t now_ms)
{
	int64_t doubt_ms = d->doubt_ms;

	deadline_silence(d);
	d->sent_ms = 0;
	if (now_ms >= d->expire_ms) {
		d->doubt_ms = doubt_ms > 0 ? doubt_ms : now_ms + DEADLINE_DOUBT_MS;
	}
}

void
deadline_back(struct deadline *d, int64_t now_ms)
{
	d->silent = false;
	d->sent_ms = 0;
	d->ask_ms = now_ms;
}

enum deadline_step
deadline_step(struct deadline *d, int64_t now_ms)
{
	bool can_ask = !d->silent && d->sent_ms == 0;

	if (can_ask && now_ms >= d->ask_ms) {
		return DEADLINE_ASK;
	}
	if (now_ms >= d->expire_ms) {
		return now_ms < d->doubt_ms ? DEADLINE_WAIT : DEADLINE_EXPIRE;
	}
	return now_ms >= d->stop_ms ? DEADLINE_STOP : DEADLINE_WAIT;
}

void
deadline_stood(struct deadline *d, int64_t now_ms)
{
	if ((d->sent_ms > 0 || d->silent) && d->doubt_ms == 0 && now_ms >= d->expire_ms + DEADLINE_STOOD_MS) {
		d->doubt_ms = now_ms + DEADLINE_DOUBT_MS;
	}
}

bool
deadline_doubts(const struct deadline *d, int64_t now_ms)
{
	return now_ms < d->doubt_ms;
}

int64_t
deadline_next(const struct deadline *d, int64_t now_ms)
{
	int64_t next = d->doubt_ms > 0 ? d->doubt_ms : d->expire_ms;

	if (d->stop_ms > now_ms && d->stop_ms < next) {
		next = d->stop_ms;
	}
	return d->ask_ms < next ? d->ask_ms : next;
}

void
limits_start(struct limits *l, int64_t now_ms, int64_t max_run_ms, int64_t kill_after_ms, int64_t min_hold_ms)
{
	assert(max_run_ms >= 0 && kill_after_ms >= 0 && min_hold_ms >= 0);
	*l = (struct limits){.stop_ms = max_run_ms > 0 ? now_ms + max_run_ms : INT64_MAX,
		.kill_ms = INT64_MAX,
		.kill_after_ms = kill_after_ms,
		.keep_ms = now_ms + min_hold_ms};
}

enum limits_step
limits_step(struct limits *l, int64_t now_ms)
{
	if (now_ms >= l->stop_ms) {
		l->stop_ms = INT64_MAX;
		l->kill_ms = now_ms + l->kill_after_ms;
		return LIMITS_STOP;
	}
	if (now_ms >= l->kill_ms) {
		l->kill_ms = INT64_MAX;
		return LIMITS_KILL;
	}
	return LIMITS_WAIT;
}

int64_t
limits_next(const struct limits *l)
{
	return l->stop_ms < l->kill_ms ? l->stop_ms : l->kill_ms;
}

int
wakeup_open(void)
{
	return descriptor_high(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

bool
wakeup_set(int fd, int64_t at_ms)
{
	struct itimerspec when = {{0, 0}, {0, 0}};

	if (at_ms != INT64_MAX) {
		/* Zero would disarm it. */
		at_ms = at_ms > 0 ? at_ms : 1;
		when.it_value.tv_sec = (time_t)(at_ms / 1000);
		when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000;
	}
	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL) == 0;
}
