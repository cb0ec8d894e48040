/*
 * wakeup: a timer for poll(2) on CLOCK_BOOTTIME, so that a suspended host wakes up knowing what is over.
 */
#ifndef CLIENT_WAKEUP_H
#define CLIENT_WAKEUP_H

#include <stdint.h>

/* A descriptor, close-on-exec; -1 and errno. */
int wakeup_open(void) __attribute__((warn_unused_result));

/* Readable at at_ms (CLOCK_BOOTTIME; the past: at once), and then until it is set again. INT64_MAX: never. */
void wakeup_set(int fd, int64_t at_ms);

#endif
