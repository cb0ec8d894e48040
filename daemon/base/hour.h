/*
 * hour: what the counters have counted in each of the latest 60 minutes: grants, waits and losses. For HOUR
 * (PROTOCOL.md 6.28).
 *
 * An event costs nothing here: at the end of a minute, and for each question, the growth of the counters
 * since the last sample is added to the minute that runs.
 *
 *     counters ──grown by──▶ ┌────┬────┬───┬─────────┐
 *                            │ -59│ -58│ … │ running │ ──▶ the next minute takes the place of the oldest
 *                            └────┴────┴───┴─────────┘
 *
 * Minutes end when those of the wall clock did at the start, so that the minutes of hosts go together.
 */
#ifndef BASE_HOUR_H
#define BASE_HOUR_H

#include "daemon/base/stats.h"

#include <stddef.h>
#include <stdint.h>

#define HOUR_MINUTES   60
#define HOUR_MINUTE_MS 60000
/* More than a minute can count. */
#define HOUR_COUNT_MAX INT32_MAX

struct hour_minute {
	int64_t granted, timed_out, lost;
	uint64_t waits[BUCKETS_BOUNDS + 1]; /* granted or timed out, by how long they were: see buckets */
};

struct hour {
	struct hour_minute minutes[HOUR_MINUTES]; /* a ring */
	size_t at;                                /* of the minute that runs */
	size_t known;                             /* minutes, the one that runs included */
	int64_t ends_ms;                          /* it ends: CLOCK_BOOTTIME */
	struct hour_minute counted;               /* the counters at the last sample */
};

/* From now on; what the counters have counted before is in no minute. */
void hour_begin(struct hour *hour, const struct stats *stats, int64_t now_ms, int64_t wall_ms);
/* The same for an hour that was saved, whose minutes are known. */
void hour_go_on(struct hour *hour, const struct stats *stats);
/* Samples the counters. To be called in the first turn after the end of a minute, before anything is
 * counted. */
void hour_sample(struct hour *hour, const struct stats *stats, int64_t now_ms);
/* ago: minutes before the one that runs; < known */
const struct hour_minute *hour_minute(const struct hour *hour, size_t ago);

void hour_minute_add(struct hour_minute *sum, const struct hour_minute *minute);
/* The percentile of its waits, in µs: a bound of the buckets. A wait beyond the last bound counts as that. 0:
 * there was no wait. */
int64_t hour_minute_wait_us(const struct hour_minute *minute, unsigned percent);

#endif
