/*
 * offset: how far a master's clock is ahead of ours, as its greetings show, and whether it has leapt since.
 *
 * The time in an answer was read after the question left and before the answer came. Compared with the moment
 * the question left, it shows the most that the clock can be ahead; compared with the moment the answer came,
 * the least. If the least is now above the most of an earlier greeting, the clock has leapt, in one step or
 * little by little. Greetings of more than a lease are kept: a clock that runs fast may stay within the
 * margin in each third of a lease, and not in all of it.
 */
#ifndef CORE_OFFSET_H
#define CORE_OFFSET_H

#include <stdint.h>

#define OFFSET_SAMPLES 8

struct offset_sample {
	int64_t from_ms;  /* when its first greeting left; 0: no sample */
	int64_t at_ms;    /* when the greeting left that showed the least */
	int64_t ahead_us; /* by which the clock is ahead of ours at most */
};

struct offset {
	struct offset_sample samples[OFFSET_SAMPLES];
	unsigned newest;
};

/* What one guard's time has shown of leaps. */
struct leap {
	int64_t seen_ms;  /* when something was last seen or taken off; 0: never */
	int64_t shown_ms; /* how far the clock leapt, or ours stood still */
	int64_t off_ms;   /* how much of that was taken off the leases there */
};

/* A greeting that left at sent_ms was answered with time_us. The times of one offset come in the order in
 * which the master read them. Samples of over_ms, the same in all calls, are kept at least. */
void offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us);

/* When the last kept greeting left; 0: there is none. */
int64_t offset_latest_ms(const struct offset *offset);

/* An answer with time_us comes at now_ms: how far the clock went ahead since a greeting of the last over_ms,
 * or since the last greeting, in ms, rounded up. 0: not more than allowed_ms and the difference of the rates.
 * Some greetings that are up to a fifth older are compared, too. */
int64_t offset_leap_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us);

/* A leap by ms is known: from now on only what goes beyond it is reported. */
void offset_leapt(struct offset *offset, int64_t ms);

/* The clock leapt by ms, beside what was seen less than guard_ms ago. */
void leap_seen(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t ms);

/* How far it leapt within guard_ms. */
int64_t leap_shown_ms(const struct leap *leap, int64_t guard_ms, int64_t now_ms);

/* Our clock stood still for stood_ms: how much more has to be taken off the leases there. */
int64_t leap_take_off(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t stood_ms);

#endif
