/*
 * wakeup: a timer for poll(2) on CLOCK_BOOTTIME, which also counts the time that the host was suspended.
 */
#ifndef CLIENT_WAKEUP_H
#define CLIENT_WAKEUP_H

#include <stdint.h>

/* A descriptor, close-on-exec; -1 and errno. */
int wakeup_open(void) __attribute__((warn_unused_result));

/* The descriptor becomes readable at at_ms (CLOCK_BOOTTIME; the past: at once), and remains so until the next
 * call. INT64_MAX: never. */
void wakeup_set(int fd, int64_t at_ms);

#endif
