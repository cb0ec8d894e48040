/*
 * limits: how long a command may run (--max-run), and how long its lock is kept at least (--min-hold).
 *
 * Pure arithmetic on CLOCK_BOOTTIME, as deadline.h; run.c calls it in its loop.
 */
#ifndef CLIENT_LIMITS_H
#define CLIENT_LIMITS_H

#include <stdint.h>

struct limits {
	int64_t stop_ms; /* ask the command to end; INT64_MAX: never, or done */
	int64_t kill_ms; /* then KILL it; INT64_MAX: not yet, or done */
	int64_t kill_after_ms;
	int64_t keep_ms; /* do not release the lock before */
};

enum limits_step {
	LIMITS_WAIT, /* nothing to do before limits_next() */
	LIMITS_STOP, /* --max-run is over: ask the command to end */
	LIMITS_KILL  /* the command was asked to end, and still runs */
};

/* now_ms: when the lock was granted. max_run_ms, min_hold_ms: 0: no limit. */
void limits_start(
	struct limits *l, int64_t now_ms, int64_t max_run_ms, int64_t kill_after_ms, int64_t min_hold_ms);

/* Returns each step once. */
enum limits_step limits_step(struct limits *l, int64_t now_ms);

/* When limits_step() has to be called again. */
int64_t limits_next(const struct limits *l);

#endif
