/*
 * terms: see terms.h.
 */
#include "daemon/core/terms.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/drift.h"

bool
terms_ruled(struct core *core, int64_t lease_ms)
{
	if (lease_ms <= core->settings.lease_max_ms)
		return false;
	core->settings.lease_max_ms = lease_ms;
	if (lease_ms > core->guarded_ms)
		core->guarded_ms = lease_ms;
	return true;
}

static void
guard_longer(struct master *m, int64_t ms)
{
	m->guard_until_ms += ms;
	if (m->state == MASTER_GUARDED && m->admit_ms < m->guard_until_ms)
		m->admit_ms = m->guard_until_ms;
	if (m->withheld_until_ms != 0)
		m->withheld_until_ms += ms;
}

bool
terms_heard(struct core *core, struct master *m, const struct vote *vote)
{
	int64_t before_ms = terms_guard_ms(core);

	if (vote->greeting == GREETING_GOOD)
		m->longest_ms = vote->longest_ms;
	if (vote->guarded_ms <= core->guarded_ms)
		return false;
	core->guarded_ms = vote->guarded_ms;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		guard_longer(&core->masters[i], terms_guard_ms(core) - before_ms);
	return true;
}

int64_t
terms_at_ms(const struct master *m, int64_t lease_ms)
{
	return m->longest_ms > 0 && m->longest_ms < lease_ms ? m->longest_ms : lease_ms;
}

int64_t
terms_least_ms(const struct core *core, int64_t lease_ms)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *m = &core->masters[i];

		if (m->state != MASTER_AWAY && m->state != MASTER_REFUSED)
			lease_ms = terms_at_ms(m, lease_ms);
	}
	return lease_ms;
}

int64_t
terms_lease_ms(const struct core *core, const struct rule *rule)
{
	return terms_least_ms(core, rule->lease_ms);
}

int64_t
terms_guard_ms(const struct core *core)
{
	/* The guard is counted by our clock, the leases that it waits for by others: one may run fast, one
	 * slow. */
	return core->guarded_ms + drift_ms(core->guarded_ms) + core->settings.margin_ms;
}

int64_t
terms_guard_until(const struct core *core, bool first)
{
	int64_t until_ms = core->now.ms + terms_guard_ms(core), relied_ms = core->settings.relied_until_ms;

	if (!first || relied_ms == 0 || relied_ms > until_ms)
		return until_ms;
	return relied_ms > core->now.ms ? relied_ms : core->now.ms;
}
