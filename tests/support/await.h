/*
 * await: runs an event loop until a condition is true. Suites use it in place of sleeps.
 */
#ifndef SUPPORT_AWAIT_H
#define SUPPORT_AWAIT_H

#include <event2/event.h>
#include <stdbool.h>

#define AWAIT_LIMIT_MS 20000 /* then the test fails; far more than a busy machine needs */

/* Runs the loop until done(arg) is true. False: AWAIT_LIMIT_MS is over. */
bool await(struct event_base *base, bool (*done)(void *arg), void *arg);
/* Runs the loop for ms, for tests that show that something does not happen. */
void await_ms(struct event_base *base, int ms);

#endif
