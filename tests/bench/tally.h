/*
 * tally: commands that a Redis ran, those inside scripts counted, between two moments of a load.
 */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stdint.h>

/* Zeroed: no Redis is asked. */
struct tally {
	int fd; /* 0: none; kept between the two */
	int64_t began;
	int64_t count; /* less the one that asks */
};

/* Each waits for the answer. place as for dial(). */
void tally_begin(struct tally *tally, const char *place);
void tally_end(struct tally *tally);

#endif
