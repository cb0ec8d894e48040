/* usage: see the header. */
#include "daemon/net/usage.h"

#include <assert.h>

#define SECOND_NS INT64_C(1000000000)

/* What was added since the sample, for each second of this time, which is at least one. */
static struct usage_sum
rate_of(const struct usage *usage, int64_t ns)
{
	const struct usage_sum *all = &usage->all, *before = &usage->sampled;
	double seconds = (double)(ns > SECOND_NS ? ns : SECOND_NS) / (double)SECOND_NS;
	return (struct usage_sum){
		.requests = (int64_t)((double)(all->requests - before->requests) / seconds),
		.bytes = (int64_t)((double)(all->bytes - before->bytes) / seconds),
		.busy_ns = (int64_t)((double)(all->busy_ns - before->busy_ns) / seconds),
	};
}

void
usage_served(struct usage *usage, int64_t begun_ns, int64_t ended_ns)
{
	assert(begun_ns > 0 && ended_ns >= begun_ns);
	if (usage->sampled_ns == 0) {
		usage->sampled_ns = begun_ns;
	}
	usage->all.busy_ns += ended_ns - begun_ns;
	if (ended_ns - usage->sampled_ns >= SECOND_NS) {
		usage->rate = rate_of(usage, ended_ns - usage->sampled_ns);
		usage->sampled = usage->all;
		usage->sampled_ns = ended_ns;
	}
}

void
usage_add_rates(const struct usage *usage, int64_t now_ns, struct usage_sum *sum)
{
	struct usage_sum rate = usage->rate;
	if (usage->sampled_ns == 0) {
		return;
	}
	/* It has not come for a second, or exists for less. */
	if (now_ns - usage->sampled_ns >= SECOND_NS || rate.busy_ns == 0) {
		rate = rate_of(usage, now_ns - usage->sampled_ns);
	}
	sum->requests += rate.requests;
	sum->bytes += rate.bytes;
	sum->busy_ns += rate.busy_ns;
}
