/*
 * offset: how far a master's clock is ahead of ours, as its greetings show, and whether it has leapt since.
 *
 * A greeting's answer was made after its question left, so it shows the most that the clock can be ahead; any
 * answer was made before it came, so it shows the least. The least now beyond the most of a while ago is a
 * leap, in one step or little by little. Greetings of more than a lease are kept: what a lease may lose in
 * all its time must not pass for nothing in each third of it.
 */
#ifndef CORE_OFFSET_H
#define CORE_OFFSET_H

#include <stdint.h>

#define OFFSET_SAMPLES 8

struct offset_sample {
	int64_t from_ms;  /* the first of its greetings left then; 0: none */
	int64_t at_ms;    /* and the one that showed the least */
	int64_t ahead_us; /* at most */
};

struct offset {
	struct offset_sample samples[OFFSET_SAMPLES];
	unsigned newest;
};

/* A greeting that left at sent_ms was answered with time_us; samples of over_ms are kept at least. */
void offset_greeted(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us);

/* An answer with time_us comes at now_ms: how far the clock went ahead in a time in which it may by
 * allowed_ms and what rates differ by; 0: by no more than that. ms, rounded up. */
int64_t offset_leap_ms(const struct offset *offset, int64_t allowed_ms, int64_t now_ms, int64_t time_us);

#endif
