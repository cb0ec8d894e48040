/*
 * drift: the errors of a master's clock other than its rate: steps, and periods in which it runs fast. They
 * are kept for longer than any daemon looks back.
 */
#ifndef SIM_DRIFT_H
#define SIM_DRIFT_H

#include <stdint.h>

#define DRIFT_PIECES 32

/* From from_us until the next piece: the clock is ahead by ahead_us, and gains so many percent. */
struct drift_piece {
	int64_t from_us;
	int64_t ahead_us;
	int64_t until_us;
	int64_t percent;
};

struct drift {
	struct drift_piece pieces[DRIFT_PIECES];
	unsigned newest;
};

/* By how much the clock is ahead at a true time, which is not before the oldest piece. */
int64_t drift_ahead_us(const struct drift *drift, int64_t at_us);

/* The clock steps now by step_us, or runs fast by so many percent for a time. */
void drift_step(struct drift *drift, int64_t now_us, int64_t step_us);
void drift_fast(struct drift *drift, int64_t now_us, int64_t for_us, int64_t percent);

/* The true time from which on all pieces are kept. */
int64_t drift_since_us(const struct drift *drift);

/* How far the clock was ahead at least since then. */
int64_t drift_least_us(const struct drift *drift, int64_t since_us, int64_t now_us);

/* The most that the clock gained between two instants since since_us; and the same for two instants in either
 * order.
 */
int64_t drift_gained_us(const struct drift *drift, int64_t since_us, int64_t now_us);
int64_t drift_apart_us(const struct drift *drift, int64_t since_us, int64_t now_us);

#endif
