/*
 * hour: see hour.h.
 */
#include "daemon/base/hour.h"

#include <assert.h>
#include <string.h>

static void
counters_read(struct hour_minute *out, const struct stats *stats)
{
	*out = (struct hour_minute){
		.granted = stats->locks_granted,
		.timed_out = stats->locks_timed_out,
		.lost = stats->locks_lost,
	};
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		out->waits[i] = stats->wait_granted.counts[i] + stats->wait_timeout.counts[i];
	}
}

void
hour_go_on(struct hour *hour, const struct stats *stats)
{
	counters_read(&hour->counted, stats);
}

void
hour_begin(struct hour *hour, const struct stats *stats, int64_t now_ms, int64_t wall_ms)
{
	*hour = (struct hour){.known = 1, .ends_ms = now_ms + HOUR_MINUTE_MS - wall_ms % HOUR_MINUTE_MS};
	hour_go_on(hour, stats);
}

void
hour_sample(struct hour *hour, const struct stats *stats, int64_t now_ms)
{
	struct hour_minute now, *running = &hour->minutes[hour->at];
	counters_read(&now, stats);
	running->granted += now.granted - hour->counted.granted;
	running->timed_out += now.timed_out - hour->counted.timed_out;
	running->lost += now.lost - hour->counted.lost;
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		running->waits[i] += now.waits[i] - hour->counted.waits[i];
	}
	hour->counted = now;
	for (size_t i = 0; i < HOUR_MINUTES && now_ms >= hour->ends_ms; i++) {
		hour->at = (hour->at + 1) % HOUR_MINUTES;
		hour->minutes[hour->at] = (struct hour_minute){0};
		hour->known += hour->known < HOUR_MINUTES;
		hour->ends_ms += HOUR_MINUTE_MS;
	}
	/* The host slept for longer than an hour. */
	if (now_ms >= hour->ends_ms) {
		hour->ends_ms += (now_ms - hour->ends_ms) / HOUR_MINUTE_MS * HOUR_MINUTE_MS + HOUR_MINUTE_MS;
	}
}

const struct hour_minute *
hour_minute(const struct hour *hour, size_t ago)
{
	assert(ago < hour->known);
	return &hour->minutes[(hour->at + HOUR_MINUTES - ago) % HOUR_MINUTES];
}

void
hour_minute_add(struct hour_minute *sum, const struct hour_minute *minute)
{
	sum->granted += minute->granted;
	sum->timed_out += minute->timed_out;
	sum->lost += minute->lost;
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		sum->waits[i] += minute->waits[i];
	}
}

int64_t
hour_minute_wait_us(const struct hour_minute *minute, unsigned percent)
{
	uint64_t total = 0, seen = 0;
	for (size_t i = 0; i <= BUCKETS_BOUNDS; i++) {
		total += minute->waits[i];
	}
	for (size_t i = 0; i < BUCKETS_BOUNDS; i++) {
		seen += minute->waits[i];
		if (total > 0 && seen * 100 >= total * percent) {
			return buckets_bound_us(i);
		}
	}
	return total > 0 ? buckets_bound_us(BUCKETS_BOUNDS - 1) : 0;
}
