/*
 * random: unpredictable numbers from the kernel, fetched some at a time.
 *
 * The driver draws from it for events; names nothing, keeps nothing that was handed out.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
	uint64_t buffer[32]; /* getrandom() never fails in part up to 256 bytes */
	size_t left;
};

void random_init(struct random *random);
uint64_t random_next(struct random *random);
/* Even over 0 .. limit - 1; limit >= 1. */
uint64_t random_below(struct random *random, uint64_t limit);
/* A daemon-id: 32 lower-case hexadecimal digits and a NUL. */
void random_hex32(struct random *random, char out[33]);

#endif
