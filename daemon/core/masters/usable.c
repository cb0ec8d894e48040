/*
 * usable: see usable.h. What can be asked of a master, and how far its clock and its leases can be relied on.
 */
#include "daemon/core/masters/usable.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/quorum.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- offsets: arithmetic only, which knows no master ---- */

static int64_t
stretch_ms(int64_t over_ms)
{
	assert(over_ms > 0);
	return over_ms / (OFFSET_SAMPLES - 2);
}

void
offset_sample(struct offset *offset, int64_t over_ms, int64_t sent_ms, int64_t time_us)
{
	struct offset_sample *newest = &offset->samples[offset->newest];
	int64_t ahead_us = time_us - sent_ms * 1000;

	assert(offset->newest < OFFSET_SAMPLES);
	if (newest->from_ms == 0 || sent_ms - newest->from_ms > stretch_ms(over_ms)) {
		offset->newest = (offset->newest + 1) % OFFSET_SAMPLES;
		offset->samples[offset->newest] = (struct offset_sample){sent_ms, sent_ms, ahead_us};
	} else if (ahead_us < newest->ahead_us) {
		newest->at_ms = sent_ms;
		newest->ahead_us = ahead_us;
	}
}

int64_t
offset_latest_ms(const struct offset *offset)
{
	assert(offset->newest < OFFSET_SAMPLES);
	return offset->samples[offset->newest].at_ms;
}

int64_t
offset_jump_ms(
	const struct offset *offset, int64_t over_ms, int64_t allowed_ms, int64_t now_ms, int64_t time_us)
{
	assert(allowed_ms >= 0);
	/* The sample that showed the least may be the first of its stretch, and another one of over_ms ago
	 * the last. */
	int64_t since_ms = now_ms - over_ms - stretch_ms(over_ms);
	int64_t ahead_us = time_us - now_ms * 1000, most_us = 0;

	for (unsigned i = 0; i < OFFSET_SAMPLES; i++) {
		const struct offset_sample *s = &offset->samples[i];
		int64_t gone_us = ahead_us - s->ahead_us;

		/* The last sample counts, however long ago it was. */
		if (s->from_ms != 0 && (s->at_ms >= since_ms || i == offset->newest) &&
			gone_us > (allowed_ms + drift_ms(now_ms - s->at_ms)) * 1000 && gone_us > most_us)
			most_us = gone_us;
	}
	return (most_us + 999) / 1000;
}

void
offset_jumped(struct offset *offset, int64_t ms)
{
	assert(ms > 0);
	for (unsigned i = 0; i < OFFSET_SAMPLES; i++)
		offset->samples[i].ahead_us += ms * 1000;
}

/* ---- terms ---- */

bool
terms_ruled(struct core *core, int64_t lease_ms)
{
	assert(lease_ms > 0);
	if (lease_ms <= core->settings.lease_max_ms)
		return false;
	core->settings.lease_max_ms = lease_ms;
	if (lease_ms > core->quorum->guarded_lease_ms)
		core->quorum->guarded_lease_ms = lease_ms;
	return true;
}

static void
guard_longer(struct master *m, int64_t ms)
{
	assert(ms > 0);
	m->guard_until_ms += ms;
	/* Also if it is away or has to answer HELLO anew: it may be guarded until then when it is back. */
	if (m->admit_at_ms < m->guard_until_ms)
		m->admit_at_ms = m->guard_until_ms;
	if (m->withheld_until_ms != 0)
		m->withheld_until_ms += ms;
}

bool
terms_answered(struct core *core, struct master *m, const struct vote *vote)
{
	int64_t before_ms = terms_guard_ms(core);

	assert(vote->op == CALL_HELLO && vote->outcome == OUTCOME_YES);
	if (vote->hello == HELLO_GOOD)
		m->longest_ms = vote->longest_ms;
	if (vote->guarded_lease_ms <= core->quorum->guarded_lease_ms)
		return false;
	core->quorum->guarded_lease_ms = vote->guarded_lease_ms;
	core_changed(core, CHANGE_TERMS);
	/* Guards that this process has inherited may be longer still. */
	for (unsigned i = 0; i < CORE_SLOTS_MAX && terms_guard_ms(core) > before_ms; i++)
		guard_longer(&core->masters[i], terms_guard_ms(core) - before_ms);
	return true;
}

int64_t
terms_at_ms(const struct master *m, int64_t lease_ms)
{
	assert(lease_ms > 0);
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
	assert(lease_ms > 0);
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
	int64_t longest_ms = binding_guard_ms(core);

	assert(longest_ms > 0);
	/* The guard is counted by our clock, the leases that it waits for by others: one may run fast, one
	 * slow. */
	return longest_ms + drift_ms(longest_ms) + binding_margin_ms(core);
}

int64_t
terms_guard_until(const struct core *core, bool first)
{
	int64_t until_ms = core->now.ms + terms_guard_ms(core), relied_ms = core->settings.relied_until_ms;

	if (!first || relied_ms == 0 || relied_ms > until_ms)
		return until_ms;
	assert(relied_ms > 0);
	return relied_ms > core->now.ms ? relied_ms : core->now.ms;
}

/* ---- what a master can be asked for ---- */

#define PATIENCE_MS    2000 /* most that an acquire may go unanswered */
#define HELLO_MOST_MS  5000 /* a changed identity is seen this soon at the latest, even with long leases */
#define HELLO_RETRY_MS 500  /* LOADING, replica, wrong limits: at most until the next HELLO */

bool
master_usable(const struct master *m, unsigned link)
{
	const struct master_link *l = &m->links[link];

	assert(link < CORE_LINKS_MAX);
	return m->state == MASTER_ADMITTED && m->enrolled && m->registered && l->identified && !l->suspect &&
	       !master_withheld(m);
}

void
master_why_not(const struct core *core, const struct master *m, unsigned link, char *out, size_t room)
{
	int64_t until_ms = m->state == MASTER_GUARDED ? m->guard_until_ms : m->withheld_until_ms;
	long long left = (long long)(until_ms - core->now.ms);

	assert(room > 0 && !master_usable(m, link));
	if (master_withheld(m))
		(void)snprintf(out, room,
			"has a clock that jumped, or this host's stood still: new leases resume in %lld ms",
			left > 0 ? left : 0);
	else if (m->state == MASTER_GUARDED)
		(void)snprintf(
			out, room, "restarted or is new: new leases resume in %lld ms", left > 0 ? left : 0);
	else if (m->state == MASTER_REFUSED)
		(void)snprintf(out, room, "%s", m->reason);
	else if (m->state == MASTER_REGISTERING)
		(void)snprintf(out, room, "has not answered HELLO yet: try again in a moment");
	else if (m->state == MASTER_ADMITTED && !m->enrolled)
		(void)snprintf(out, room, "has not agreed on the set of masters yet");
	else if (m->state == MASTER_ADMITTED && m->links[link].identified && !m->registered)
		(void)snprintf(out, room, "has answered no HELLO well for too long%s%s",
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
	assert(link < CORE_LINKS_MAX);
	return m->links[link].identified && (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED);
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
master_unanswered(const struct core *core, const struct master *m)
{
	if (m->registered_ms != 0 && !m->registered)
		return false;
	for (unsigned i = 0; i < core->settings.masters; i++) {
		const struct master *other = &core->masters[i];

		if (other != m && other->state == MASTER_REGISTERING && other->run[0] == '\0')
			return true;
	}
	return false;
}

bool
master_hello_under_way(const struct core *core, const struct master *m)
{
	bool any = false;

	for (unsigned i = 0; i < core->settings.links; i++)
		any |= m->links[i].hello_under_way;
	return any;
}

bool
master_vague(const struct core *core, struct master *m, unsigned link)
{
	struct master_link *l = &m->links[link];
	bool took_long = core->now.ms - l->hello_sent_ms > binding_step_ms(core);

	assert(link < core->settings.links && l->hello_sent_ms <= core->now.ms);
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
master_hello_every_ms(const struct core *core)
{
	int64_t third = core->settings.lease_max_ms / 3;

	return third < HELLO_MOST_MS ? third : HELLO_MOST_MS;
}

int64_t
master_hello_again_ms(struct core *core)
{
	int64_t tenth = core->settings.lease_max_ms / 10;
	int64_t most = tenth < HELLO_RETRY_MS ? tenth : HELLO_RETRY_MS;

	return core_jitter(core, most / 2, most);
}

int64_t
master_offset_over_ms(const struct core *core)
{
	return terms_guard_ms(core) + master_hello_every_ms(core);
}

int64_t
master_time_us(const struct core *core, const struct master *m, int64_t ms)
{
	return m->time_us + (core->now.ms - m->time_seen_ms + ms) * 1000;
}

int64_t
link_doubt_ms(const struct core *core, const struct master_link *l)
{
	int64_t since_ms =
		l->quiet_since_ms > core->awake_since_ms ? l->quiet_since_ms : core->awake_since_ms;

	return l->due > 0 && !l->suspect ? since_ms + master_patience_ms(core) : TIMER_NEVER;
}

bool
master_guard_over(const struct core *core, const struct master *m)
{
	return m->state == MASTER_GUARDED && !m->admitting && core->now.ms >= m->admit_at_ms;
}
