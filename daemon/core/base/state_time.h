/*
 * state_time: a time in a saved state or in a ledger, in both directions.
 */
#ifndef CORE_STATE_TIME_H
#define CORE_STATE_TIME_H

#include "daemon/core/base/timers.h"

#include <stdint.h>

struct record;

#define STATE_TIME_MAX (TIMER_FAR_MS / 2) /* of all times and spans, in ms */

/* A time; TIMER_NEVER: none. Far from overflow. */
int64_t state_time(struct record *r, int64_t at_ms);

#endif
