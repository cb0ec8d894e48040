/*
 * usable: see usable.h.
 */
#include "daemon/core/usable.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/drift.h"
#include "daemon/core/offset.h"
#include "daemon/core/terms.h"

#include <stdio.h>
#include <string.h>

#define PATIENCE_MS    2000 /* most that an acquire may go unanswered */
#define GREET_MOST_MS  5000 /* a changed identity is seen this soon at the latest, even with long leases */
#define GREET_RETRY_MS 500  /* LOADING, replica, wrong limits: at most until the next greeting */

bool
master_usable(const struct master *m, unsigned link)
{
	const struct master_link *l = &m->links[link];

	return m->state == MASTER_ADMITTED && m->enrolled && m->registered && l->greeted && !l->suspect &&
	       !master_withheld(m);
}

void
master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room)
{
	int64_t until_ms = m->state == MASTER_GUARDED ? m->guard_until_ms : m->withheld_until_ms;
	long long left = (long long)(until_ms - core->now.ms);

	if (master_withheld(m))
		(void)snprintf(out, room,
			"has a clock that leapt, or this host's stood still: new leases resume in %lld ms",
			left > 0 ? left : 0);
	else if (m->state == MASTER_GUARDED)
		(void)snprintf(
			out, room, "restarted or is new: new leases resume in %lld ms", left > 0 ? left : 0);
	else if (m->state == MASTER_REFUSED)
		(void)snprintf(out, room, "%s", m->reason);
	else if (m->state == MASTER_GREETING)
		(void)snprintf(out, room, "is being greeted: try again in a moment");
	else if (m->state == MASTER_ADMITTED && !m->enrolled)
		(void)snprintf(out, room, "has not agreed on the set of masters yet");
	else if (m->state == MASTER_ADMITTED && m->links[link].greeted && !m->registered)
		(void)snprintf(out, room, "has answered no greeting well for too long%s%s",
			m->error[0] ? ": " : "", m->error);
	else if (m->links[link].suspect)
		(void)snprintf(out, room, "does not answer");
	else
		(void)snprintf(out, room, "is not reachable%s%s", m->reason[0] ? ": " : "", m->reason);
}

bool
master_keeps(const struct master *m, unsigned link, enum call_op *op)
{
	*op = m->state == MASTER_GUARDED ? CALL_RECLAIM : CALL_RENEW;
	return m->registered && master_releases(m, link);
}

bool
master_releases(const struct master *m, unsigned link)
{
	return m->links[link].greeted && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED);
}

const struct master *
master_twin(const struct core *core, const struct master *m, bool idle)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];
		bool used = other->state != MASTER_AWAY && other->state != MASTER_REFUSED;

		if (other != m && (used || idle) && other->run[0] != '\0' && strcmp(other->run, m->run) == 0)
			return other;
	}
	return NULL;
}

bool
master_unheard(const struct core *core, const struct master *m)
{
	if (m->registered_ms != 0 && !m->registered)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];

		if (other != m && other->state == MASTER_GREETING && other->run[0] == '\0')
			return true;
	}
	return false;
}

bool
master_greets(const struct core *core, const struct master *m)
{
	bool greets = false;

	for (unsigned i = 0; i < core->settings.links; i++)
		greets |= m->links[i].greeting;
	return greets;
}

bool
master_vague(const struct core *core, struct master *m, unsigned link)
{
	struct master_link *l = &m->links[link];
	bool took_long = core->now.ms - l->greeting_ms > core->settings.margin_ms;

	l->repeated = took_long && !l->repeated && offset_latest_ms(&l->offset) == 0;
	return l->repeated;
}

int64_t
master_patience_ms(const struct core *core)
{
	int64_t third = core->settings.lease_max_ms / 3;

	return third < PATIENCE_MS ? third : PATIENCE_MS;
}

int64_t
master_registered_until(const struct core *core, const struct master *m)
{
	int64_t longest_ms = core->settings.lease_max_ms;

	return m->registered_ms + longest_ms * 2 / 3 - drift_ms(2 * longest_ms);
}

int64_t
master_greet_every_ms(const struct core *core)
{
	int64_t third = core->settings.lease_max_ms / 3;

	return third < GREET_MOST_MS ? third : GREET_MOST_MS;
}

int64_t
master_greet_again_ms(struct core *core)
{
	int64_t tenth = core->settings.lease_max_ms / 10;
	int64_t most = tenth < GREET_RETRY_MS ? tenth : GREET_RETRY_MS;

	return core_jitter(core, most / 2, most);
}

int64_t
master_offset_over_ms(const struct core *core)
{
	return terms_guard_ms(core) + master_greet_every_ms(core);
}

int64_t
master_time_us(const struct core *core, const struct master *m, int64_t ms)
{
	return m->time_us + (core->now.ms - m->time_seen_ms + ms) * 1000;
}

bool
master_guard_over(const struct core *core, const struct master *m)
{
	return m->state == MASTER_GUARDED && !m->admitting && core->now.ms >= m->admit_ms;
}
