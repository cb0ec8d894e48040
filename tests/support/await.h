/*
 * await: runs an event loop until something is so. Used by suites in the place of any sleep.
 */
#ifndef SUPPORT_AWAIT_H
#define SUPPORT_AWAIT_H

#include <event2/event.h>
#include <stdbool.h>

#define AWAIT_LIMIT_MS 20000 /* then the test has failed; far beyond what a busy machine needs */

/* Turns the loop until done(arg). False: AWAIT_LIMIT_MS went by. */
bool await(struct event_base *base, bool (*done)(void *arg), void *arg);
/* Turns the loop for that long, for tests that show that something does not happen. */
void await_ms(struct event_base *base, int ms);

#endif
