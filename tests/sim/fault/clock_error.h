/*
 * clock_error: the errors of a master's clock other than its rate: steps, and periods in which it runs fast.
 * They are kept for longer than any daemon looks back.
 */
#ifndef SIM_CLOCK_ERROR_H
#define SIM_CLOCK_ERROR_H

#include <stdint.h>

#define DRIFT_PIECES 32

/* From from_us until the next piece: the clock is ahead by ahead_us, and gains so many percent. */
struct clock_error_piece {
	int64_t from_us;
	int64_t ahead_us;
	int64_t until_us;
	int64_t percent;
};

struct clock_error {
	struct clock_error_piece pieces[DRIFT_PIECES];
	unsigned newest;
};

/* By how much the clock is ahead at a true time, which is not before the oldest piece. */
int64_t clock_error_ahead_us(const struct clock_error *drift, int64_t at_us);

/* The clock steps now by step_us, or runs fast by so many percent for a time. */
void clock_error_step(struct clock_error *drift, int64_t now_us, int64_t step_us);
void clock_error_fast(struct clock_error *drift, int64_t now_us, int64_t for_us, int64_t percent);

/* The true time from which on all pieces are kept. */
int64_t clock_error_since_us(const struct clock_error *drift);

/* How far the clock was ahead at least since then. */
int64_t clock_error_least_us(const struct clock_error *drift, int64_t since_us, int64_t now_us);

/* The most that the clock gained between two instants since since_us; and the same for two instants in either
 * order.
 */
int64_t clock_error_gained_us(const struct clock_error *drift, int64_t since_us, int64_t now_us);
int64_t clock_error_apart_us(const struct clock_error *drift, int64_t since_us, int64_t now_us);

#endif
