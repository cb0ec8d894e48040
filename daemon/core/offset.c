/*
 * offset: see offset.h. Arithmetic only: it knows no master.
 */
#include "daemon/core/offset.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/drift.h"

#include <stdbool.h>

static int64_t
stretch_ms(int64_t over_ms)
{
	return over_ms / (OFFSET_SAMPLES - 2);
}

void
offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us)
{
	struct offset_sample *newest = &offset->samples[offset->newest];
	int64_t ahead_us = time_us - sent_ms * 1000;

	if (newest->from_ms == 0 || sent_ms - newest->from_ms > stretch_ms(over_ms)) {
		offset->newest = (offset->newest + 1) % OFFSET_SAMPLES;
		offset->samples[offset->newest] = (struct offset_sample){sent_ms, sent_ms, ahead_us};
	} else if (ahead_us < newest->ahead_us) {
		newest->at_ms = sent_ms;
		newest->ahead_us = ahead_us;
	}
}

int64_t
offset_latest_ms(const struct offset *offset)
{
	return offset->samples[offset->newest].at_ms;
}

int64_t
offset_leap_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us)
{
	/* The sample that showed the least may be the first of its stretch, and another one of over_ms ago
	 * the last. */
	int64_t since_ms = now_ms - over_ms - stretch_ms(over_ms);
	int64_t ahead_us = time_us - now_ms * 1000, most_us = 0;

	for (unsigned i = 0; i < OFFSET_SAMPLES; i++) {
		const struct offset_sample *s = &offset->samples[i];
		int64_t gone_us = ahead_us - s->ahead_us;

		/* The last sample counts, however long ago it was. */
		if (s->from_ms != 0 && (s->at_ms >= since_ms || i == offset->newest) &&
			gone_us > (allowed_ms + drift_ms(now_ms - s->at_ms)) * 1000 && gone_us > most_us)
			most_us = gone_us;
	}
	return (most_us + 999) / 1000;
}

void
offset_leapt(struct offset *offset, int64_t ms)
{
	for (unsigned i = 0; i < OFFSET_SAMPLES; i++)
		offset->samples[i].ahead_us += ms * 1000;
}

static bool
leap_counts(const struct leap *leap, int64_t guard_ms, int64_t now_ms)
{
	return leap->seen_ms != 0 && now_ms - leap->seen_ms < guard_ms;
}

void
leap_seen(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t ms)
{
	if (!leap_counts(leap, guard_ms, now_ms))
		*leap = (struct leap){0};
	leap->seen_ms = now_ms;
	leap->shown_ms += ms;
}

int64_t
leap_shown_ms(const struct leap *leap, int64_t guard_ms, int64_t now_ms)
{
	return leap_counts(leap, guard_ms, now_ms) ? leap->shown_ms : 0;
}

int64_t
leap_take_off(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t stood_ms)
{
	int64_t shown_ms = leap_shown_ms(leap, guard_ms, now_ms);
	int64_t all_ms = shown_ms > stood_ms ? shown_ms : stood_ms, before_ms;

	leap_seen(leap, guard_ms, now_ms, 0);
	before_ms = leap->off_ms;
	if (all_ms > before_ms)
		leap->off_ms = all_ms;
	return leap->off_ms - before_ms;
}
