/* rng: reproducible random numbers (splitmix64). The same seed gives the same numbers everywhere. */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t
rng_next(struct rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* In low .. high, both included. */
static inline int64_t
rng_range(struct rng *rng, int64_t low, int64_t high)
{
	return low + (int64_t)(rng_next(rng) % (uint64_t)(high - low + 1));
}

static inline bool
rng_percent(struct rng *rng, int percent)
{
	return rng_range(rng, 0, 99) < percent;
}

#endif
