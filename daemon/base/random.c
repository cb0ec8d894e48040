/*
 * random: numbers from getrandom(2), buffered. The driver and main use it. It is never seeded and never
 * repeatable.
 */
#include "daemon/base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#define NUMBERS (sizeof((struct random *)0)->buffer / sizeof(uint64_t))

void
random_init(struct random *random)
{
	random->left = 0;
}

uint64_t
random_next(struct random *random)
{
	uint64_t number;

	if (random->left == 0) {
		ssize_t n;

		do
			n = getrandom(random->buffer, sizeof random->buffer, 0);
		while (n < 0 && errno == EINTR);
		/* The numbers are used as secrets: without the kernel's randomness there is no safe way
		 * on. */
		if (n != (ssize_t)sizeof random->buffer)
			abort();
		random->left = NUMBERS;
	}
	random->left--;
	number = random->buffer[random->left];
	random->buffer[random->left] = 0;
	return number;
}

uint64_t
random_below(struct random *random, uint64_t limit)
{
	uint64_t number, rest;

	assert(limit >= 1);
	rest = UINT64_MAX % limit;
	do
		number = random_next(random);
	while (number >= UINT64_MAX - rest);
	return number % limit;
}

void
random_hex32(struct random *random, char out[33])
{
	uint64_t high = random_next(random), low = random_next(random);

	snprintf(out, 33, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}
