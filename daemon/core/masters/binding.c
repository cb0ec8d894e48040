/* binding: see the header. */
#include "daemon/core/masters/binding.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/quorum.h"
#include "proto/command.h"
#include "proto/record.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void
binding_init(struct core *core)
{
	const struct core_settings *set = &core->settings;

	core->quorum->binding = (struct binding){.ruled_lease_ms = set->lease_max_ms,
		.margin_least_ms = set->margin_ms,
		.margin_most_ms = set->margin_ms};
}

int64_t
binding_margin_ms(const struct core *core)
{
	const struct binding *b = &core->quorum->binding;

	return core->now.ms < b->margin_over_at_ms ? b->margin_most_ms : core->settings.margin_ms;
}

int64_t
binding_step_ms(const struct core *core)
{
	const struct binding *b = &core->quorum->binding;

	return core->now.ms < b->margin_over_at_ms ? b->margin_least_ms : core->settings.margin_ms;
}

int64_t
binding_guard_ms(const struct core *core)
{
	const struct binding *b = &core->quorum->binding;
	bool counts = core->now.ms < b->guard_over_at_ms && b->guard_ms > core->quorum->guarded_lease_ms;

	return counts ? b->guard_ms : core->quorum->guarded_lease_ms;
}

/* From then on no daemon and no client relies on what was promised by now for a lease of this length. */
static int64_t
over_at(const struct core *core, int64_t lease_ms, int64_t margin_ms)
{
	return core->now.ms + lease_ms + drift_ms(lease_ms) + margin_ms;
}

void
binding_ruled(struct core *core, int64_t longest_ms)
{
	struct binding *b = &core->quorum->binding;
	int64_t before_ms = b->ruled_lease_ms;

	assert(longest_ms > 0 && longest_ms <= core->settings.lease_max_ms);
	if (longest_ms == before_ms)
		return;
	b->ruled_lease_ms = longest_ms;
	if (longest_ms < before_ms)
		b->lease_over_at_ms =
			later(b->lease_over_at_ms, over_at(core, before_ms, binding_margin_ms(core)));
	core_changed(core, CHANGE_TERMS);
}

void
binding_settle(struct core *core)
{
	struct binding *b = &core->quorum->binding;

	if (core->now.ms >= b->lease_over_at_ms)
		core->settings.lease_max_ms = b->ruled_lease_ms;
}

/* ---- from one process to the next ---- */

struct binding_entry
binding_entry(const struct core *core)
{
	return (struct binding_entry){.lease_ms = core->settings.lease_max_ms,
		.guarded_lease_ms = core->quorum->guarded_lease_ms,
		.margin_ms = core->settings.margin_ms,
		.binding = core->quorum->binding};
}

void
binding_fields(struct record *r, struct binding_entry *e)
{
	struct binding *b = &e->binding;

	e->lease_ms = record_range(r, e->lease_ms, 1, COMMAND_MS_MAX);
	e->guarded_lease_ms = record_range(r, e->guarded_lease_ms, 1, STATE_TIME_MAX);
	e->margin_ms = record_range(r, e->margin_ms, 0, COMMAND_MS_MAX);
	b->ruled_lease_ms = record_range(r, b->ruled_lease_ms, 1, COMMAND_MS_MAX);
	b->lease_over_at_ms = state_time(r, b->lease_over_at_ms);
	b->guard_ms = record_range(r, b->guard_ms, 0, STATE_TIME_MAX);
	b->guard_over_at_ms = state_time(r, b->guard_over_at_ms);
	b->margin_least_ms = record_range(r, b->margin_least_ms, 0, COMMAND_MS_MAX);
	b->margin_most_ms = record_range(r, b->margin_most_ms, 0, COMMAND_MS_MAX);
	b->margin_over_at_ms = state_time(r, b->margin_over_at_ms);
	if (b->ruled_lease_ms > e->lease_ms || b->margin_least_ms > b->margin_most_ms)
		record_fail(r, "the settings of its process are invalid");
}

/* The longest lease of both. What the rules of before had may have been announced until now, what was longer
 * still until a time that is known. */
static void
inherit_lease(struct core *core, const struct binding_entry *e)
{
	const struct binding *past = &e->binding;
	struct binding *b = &core->quorum->binding;
	int64_t ours_ms = core->settings.lease_max_ms;

	b->ruled_lease_ms = ours_ms;
	b->lease_over_at_ms = past->lease_over_at_ms;
	if (past->ruled_lease_ms > ours_ms) {
		core->settings.lease_max_ms = past->ruled_lease_ms;
		b->lease_over_at_ms = later(
			b->lease_over_at_ms, over_at(core, past->ruled_lease_ms, binding_margin_ms(core)));
	}
	if (e->lease_ms > core->settings.lease_max_ms)
		core->settings.lease_max_ms = e->lease_ms;
}

static void
inherit_margin(struct core *core, const struct binding_entry *e)
{
	const struct binding *past = &e->binding;
	struct binding *b = &core->quorum->binding;
	int64_t ours_ms = core->settings.margin_ms;

	b->margin_least_ms = past->margin_least_ms;
	b->margin_most_ms = past->margin_most_ms;
	b->margin_over_at_ms = past->margin_over_at_ms;
	if (e->margin_ms == ours_ms)
		return;
	if (core->now.ms >= past->margin_over_at_ms)
		b->margin_least_ms = b->margin_most_ms = e->margin_ms;
	b->margin_least_ms = b->margin_least_ms < ours_ms ? b->margin_least_ms : ours_ms;
	b->margin_most_ms = later(b->margin_most_ms, ours_ms);
	b->margin_over_at_ms = later(b->margin_over_at_ms,
		over_at(core, later(e->lease_ms, e->guarded_lease_ms), b->margin_most_ms));
}

/* Daemons that this process has not heard of yet may have leases as long as guards waited for before: until
 * these are over, or their daemons are heard of at the masters. */
static void
inherit_guard(struct core *core, const struct binding_entry *e)
{
	const struct binding *past = &e->binding;
	struct binding *b = &core->quorum->binding;

	b->guard_ms = past->guard_ms;
	b->guard_over_at_ms = past->guard_over_at_ms;
	if (e->guarded_lease_ms <= core->quorum->guarded_lease_ms)
		return;
	if (core->now.ms >= past->guard_over_at_ms || b->guard_ms < e->guarded_lease_ms)
		b->guard_ms = e->guarded_lease_ms;
	b->guard_over_at_ms =
		later(b->guard_over_at_ms, over_at(core, e->guarded_lease_ms, binding_margin_ms(core)));
}

void
binding_inherit(struct core *core, const struct binding_entry *e)
{
	inherit_margin(core, e);
	inherit_lease(core, e);
	if (core->quorum->guarded_lease_ms < core->settings.lease_max_ms)
		core->quorum->guarded_lease_ms = core->settings.lease_max_ms;
	inherit_guard(core, e);
}

void
binding_load(struct core *core, struct record *r)
{
	struct binding_entry e = binding_entry(core);

	binding_fields(r, &e);
	if (r->failed)
		return;
	/* A state says how it was when it was saved, a ledger when it changed last. */
	if (core->now.ms >= e.binding.lease_over_at_ms)
		e.lease_ms = e.binding.ruled_lease_ms;
	binding_inherit(core, &e);
}
