/*
 * drift: how far two clocks may part while one of them counts a duration.
 *
 * One percent of the duration, many times what real clocks differ by, and two milliseconds for the rounding
 * on both sides. It is subtracted wherever another clock relies on a duration counted here, or the other way
 * round: from a lease's validity against the master's clock, and from what a client is told against ours.
 */
#ifndef CORE_DRIFT_H
#define CORE_DRIFT_H

#include <stdint.h>

static inline int64_t
drift_ms(int64_t duration_ms)
{
	return duration_ms / 100 + 2;
}

#endif
