/*
 * offset: how far a master's clock is ahead of ours, as its greetings show, and whether it has leapt since.
 *
 * The time in an answer was read after the question left and before the answer came. Against the moment the
 * question left it shows the most that the clock can be ahead, against the moment the answer came the least.
 * If the least of now is above the most of an earlier greeting, the clock has leapt, in one step or little by
 * little. Greetings of more than a lease are kept: a clock that runs fast may stay within the margin in each
 * third of a lease, and not in all of it.
 */
#ifndef CORE_OFFSET_H
#define CORE_OFFSET_H

#include <stdint.h>

#define OFFSET_SAMPLES 8

struct offset_sample {
	int64_t from_ms;  /* the first of its greetings left then; 0: no sample */
	int64_t at_ms;    /* the one that showed the least left then */
	int64_t ahead_us; /* of the clock from ours, at most */
};

struct offset {
	struct offset_sample samples[OFFSET_SAMPLES];
	unsigned newest;
};

/* What one guard's time has shown of that. */
struct leap {
	int64_t seen_ms;  /* when something was seen or taken off last; 0: never */
	int64_t shown_ms; /* by so much the clock leapt, or ours stood still, */
	int64_t off_ms;   /* and so much has been taken off what leases have there */
};

/* A greeting that left at sent_ms was answered with time_us. Times of one offset are in the order in which
 * the master read them; samples of over_ms, the same in all calls, are kept at least. */
void offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us);

/* When the last greeting that is kept left; 0: none was. */
int64_t offset_latest_ms(const struct offset *offset);

/* An answer with time_us comes at now_ms: how far the clock went ahead since a greeting of the last over_ms,
 * or since the last one, in ms, rounded up; 0: by no more than allowed_ms and the difference of rates. Of the
 * greetings up to a fifth longer ago some are compared, too. */
int64_t offset_leap_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us);

/* That it leapt by ms is known: later answers show by how much more. */
void offset_leapt(struct offset *offset, int64_t ms);

/* It leapt by ms, beside what was seen less than guard_ms ago. */
void leap_seen(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t ms);

/* By how much within guard_ms. */
int64_t leap_shown_ms(const struct leap *leap, int64_t guard_ms, int64_t now_ms);

/* Our clock stood still for stood_ms: how much is to be taken off leases there, beside what has been. */
int64_t leap_take_off(struct leap *leap, int64_t guard_ms, int64_t now_ms, int64_t stood_ms);

#endif
