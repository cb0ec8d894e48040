/*
 * deadline: the arithmetic of a hold's validity, from the holder's point of view.
 */
#include "client/deadline.h"

#include <assert.h>

/* Never ask more often, even if the validity is short. */
#define ASK_MS_MIN 5

static void
deadline_set(struct deadline *d, int64_t sent_ms, int64_t valid_ms)
{
	int64_t third = valid_ms / 3;

	d->expire_ms = sent_ms + valid_ms;
	d->stop_ms = d->expire_ms - d->grace_ms;
	d->ask_ms = sent_ms + (third > ASK_MS_MIN ? third : ASK_MS_MIN);
	d->sent_ms = 0;
	d->doubt_ms = 0;
}

void
deadline_start(struct deadline *d, int64_t sent_ms, int64_t valid_ms, int64_t grace_ms)
{
	assert(sent_ms > 0 && valid_ms >= 0 && grace_ms >= 0);
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
		d->doubt_ms = now_ms + DEADLINE_DOUBT_MS;
	} else if (now_ms >= d->stop_ms) {
		d->stop_ms = now_ms + DEADLINE_LATE_MS;
	}
}

void
deadline_told(struct deadline *d, int64_t valid_ms)
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
