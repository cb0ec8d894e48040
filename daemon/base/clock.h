/*
 * clock: the only place that asks the kernel for the time.
 *
 * Adapters and programs call it. The core never does: each event carries the time.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME: never steps, and counts while the host is suspended, as leases at a master do. */
int64_t clock_ms(void);
int64_t clock_us(void);
int64_t clock_ns(void);

/* CLOCK_REALTIME, µs since 1970. It may step: for log lines and token proposals, never for durations. */
int64_t clock_wall_us(void);

#endif
