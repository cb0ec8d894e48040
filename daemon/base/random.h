/*
 * random: unpredictable numbers from the kernel, fetched in blocks.
 *
 * The driver draws from it for events. A number that was handed out is not kept.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t buffer[32]; /* getrandom() of at most 256 bytes is never partial */
	size_t left;
};

void random_init(struct random *random);
uint64_t random_next(struct random *random);
/* Uniform over 0 .. limit - 1; limit >= 1. */
uint64_t random_below(struct random *random, uint64_t limit);
/* A daemon-id: 32 lower-case hexadecimal digits and a NUL. */
void random_hex32(struct random *random, char out[33]);

#endif
