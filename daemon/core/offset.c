#include "daemon/core/offset.h"

#include "daemon/core/drift.h"

void
offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us)
{
	struct offset_sample *newest = &offset->samples[offset->newest];
	int64_t ahead_us = time_us - sent_ms * 1000;

	if (newest->from_ms == 0 || sent_ms - newest->from_ms > over_ms / (OFFSET_SAMPLES - 2)) {
		offset->newest = (offset->newest + 1) % OFFSET_SAMPLES;
		offset->samples[offset->newest] = (struct offset_sample){sent_ms, sent_ms, ahead_us};
	} else if (ahead_us < newest->ahead_us) {
		newest->at_ms = sent_ms;
		newest->ahead_us = ahead_us;
	}
}

int64_t
offset_leap_ms(const struct offset *offset, int64_t allowed_ms, int64_t now_ms, int64_t time_us)
{
	int64_t ahead_us = time_us - now_ms * 1000, most_us = 0;

	for (unsigned i = 0; i < OFFSET_SAMPLES; i++) {
		const struct offset_sample *s = &offset->samples[i];
		int64_t gone_us = ahead_us - s->ahead_us;

		if (s->from_ms != 0 && gone_us > (allowed_ms + drift_ms(now_ms - s->at_ms)) * 1000 &&
			gone_us > most_us)
			most_us = gone_us;
	}
	return (most_us + 999) / 1000;
}
