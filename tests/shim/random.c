/*
 * random: getrandom() that says the same in every process. Preloaded (LD_PRELOAD) into a holdfastd by the
 * end-to-end tests, where two shall be as alike as copies of one; linked into nothing.
 *
 * HOLDFAST_RANDOM is the number that all of it follows from. Without the variable nothing is changed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A preloaded library is called by functions that know nothing of it: there is nobody to pass this in. */
static uint64_t random_state;

ssize_t
getrandom(void *buffer, size_t length, unsigned flags)
{
	const char *seed = getenv("HOLDFAST_RANDOM");
	unsigned char *bytes = buffer;
	if (!seed) {
		return (ssize_t)syscall(SYS_getrandom, buffer, length, flags);
	}
	if (random_state == 0) {
		random_state = strtoull(seed, NULL, 10) | 1;
	}
	for (size_t i = 0; i < length; i++) {
		random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		bytes[i] = (unsigned char)(random_state >> 56);
	}
	return (ssize_t)length;
}
