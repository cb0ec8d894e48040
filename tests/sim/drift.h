/*
 * drift: what is wrong with a master's clock, beside its rate: steps, and whiles in which it runs fast. It is
 * remembered for longer than any daemon looks back.
 */
#ifndef SIM_DRIFT_H
#define SIM_DRIFT_H

#include <stdint.h>

#define DRIFT_PIECES 32

/* From an instant on it is ahead by ahead_us, and gains so many percent until another. */
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

/* By how much the clock is ahead at an instant of true time, which is not before the oldest piece. */
int64_t drift_ahead_us(const struct drift *drift, int64_t at_us);

/* Now it steps by so much, or runs fast from now on by so many percent for a while. */
void drift_step(struct drift *drift, int64_t now_us, int64_t step_us);
void drift_fast(struct drift *drift, int64_t now_us, int64_t for_us, int64_t percent);

/* Since when all of it is remembered. */
int64_t drift_since_us(const struct drift *drift);

/* The most that it went ahead between two instants since then; and the same, whichever of the two was first.
 */
int64_t drift_gained_us(const struct drift *drift, int64_t since_us, int64_t now_us);
int64_t drift_apart_us(const struct drift *drift, int64_t since_us, int64_t now_us);

#endif
