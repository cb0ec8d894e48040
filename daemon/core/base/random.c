/* random: see random.h. */
#include "daemon/core/base/random.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"

#include <assert.h>

/* splitmix64: stretches the one random number of a step. It spreads retries; no secret comes from it. */
uint64_t
core_random(struct core *core)
{
	uint64_t z = core->random += UINT64_C(0x9e3779b97f4a7c15);

	if (core->drew == 0)
		core->drew = 1;
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
core_attempt(struct core *core)
{
	uint64_t count = (core->attempts >> ATTEMPT_RANDOM_BITS) + 1;

	core->attempts = count << ATTEMPT_RANDOM_BITS | core_random(core) >> (64 - ATTEMPT_RANDOM_BITS);
	return core->attempts;
}

int64_t
core_jitter(struct core *core, int64_t low, int64_t high)
{
	assert(low <= high);
	return low + (int64_t)(core_random(core) % (uint64_t)(high - low + 1));
}
