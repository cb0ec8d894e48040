/*
 * quorum: see quorum.h. The masters one by one are in master.c and usable.c.
 */
#include "daemon/core/masters/quorum.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/usable.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNREAD_MORE_MS  200 /* after a hand-over: until the masters have named the holder of a name */
#define UNREAD_RETRY_MS 10

unsigned
quorum_majority(const struct core *core)
{
	assert(core->settings.masters >= 1 && core->settings.masters <= CORE_MASTERS_MAX);
	return core->settings.masters / 2 + 1;
}

bool
quorum_puts_off(struct core *core, struct timer *timer, const struct reply *why)
{
	/* It has just come. */
	assert(!timer_is_armed(timer));
	if (why->type != REPLY_ERROR || why->code != CODE_NOMASTER)
		return false;
	if (core->unread_until_ms == 0 || core->now.ms >= core->unread_until_ms + UNREAD_MORE_MS)
		return false;
	timer_arm(&core->timers, timer, core->now.ms + UNREAD_RETRY_MS);
	return true;
}

/* The weight of a master for a name. Any hash will do; it only has to be the same at every daemon. */
static uint64_t
queue_master_weight(struct slice name, const struct master *m)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ m->incarnation;

	for (size_t i = 0; i < name.n; i++)
		hash = (hash ^ (unsigned char)name.p[i]) * UINT64_C(1099511628211);
	hash = (hash ^ (hash >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 29);
}

unsigned
quorum_queue_master(const struct core *core, struct slice name, unsigned link)
{
	uint64_t most = 0;
	unsigned queue_master = 0;

	if (core->settings.masters == 1)
		return 0;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];
		uint64_t weight = queue_master_weight(name, m);

		if (master_usable(m, link) && weight >= most) {
			most = weight;
			queue_master = i;
		}
	}
	assert(master_usable(&core->masters[queue_master], link));
	return queue_master;
}
