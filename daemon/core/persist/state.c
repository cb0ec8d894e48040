/*
 * state: see the header. The order of the records, the core's own numbers, and what a loaded core counts.
 */
#include "daemon/core/persist/state.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/families/families.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/persist/state_hold.h"
#include "daemon/core/persist/state_latch.h"
#include "daemon/core/persist/state_lease.h"
#include "daemon/core/persist/state_master.h"
#include "daemon/core/persist/state_session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/whole/check.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- fields ---- */

int64_t
state_us(struct record *r, int64_t us)
{
	return record_range(r, us, -(INT64_C(1) << 60), INT64_C(1) << 60);
}

void
state_count(struct record *r, uint64_t *n)
{
	record_unsigned(r, n);
	if (*n > UINT64_MAX / 2)
		record_fail(r, "a count in its record of type %u is invalid", r->type);
}

void
state_timer(struct record *r, struct core *core, struct timer *timer)
{
	int64_t at_ms = state_time(r, timer_at(&core->timers, timer));

	assert(timer->kind != TIMER_NONE);
	if (record_loads(r))
		timer_arm(&core->timers, timer, at_ms);
}

static void
check_text(struct record *r, const char *wrong)
{
	if (record_loads(r) && !r->failed && wrong != NULL)
		record_fail(r, "a text of its record of type %u is not valid: %s", r->type, wrong);
}

void
state_name(struct record *r, struct slice *name)
{
	record_bytes(r, name, NAME_BYTES_MAX);
	check_text(r, name_check(*name, NAME_BYTES_MAX));
}

void
state_tag(struct record *r, struct slice *tag)
{
	record_bytes(r, tag, OWNER_BYTES_MAX);
	check_text(r, tag->n > 0 ? name_check_tag(*tag, OWNER_BYTES_MAX) : NULL);
}

void
state_why(struct record *r, struct slice *why)
{
	record_bytes(r, why, WHY_BYTES_MAX);
	check_text(r, name_check_text(*why, WHY_BYTES_MAX));
}

void
state_key(
	struct record *r, const struct core *core, struct slice name, const char **key, enum interop *interop)
{
	struct slice template = *key != NULL ? slice_of(*key) : (struct slice){NULL, 0};
	const struct rule *rule;

	assert(name.n > 0 || record_loads(r));
	record_bytes(r, &template, RULE_KEY_MAX);
	*interop = (enum interop)record_range(r, *interop, INTEROP_NONE, INTEROP_PYTHON_REDIS_LOCK);
	if (!record_loads(r) || r->failed)
		return;
	rule = rules_find(&core->leases->rules, name);
	if (rule->interop != *interop ||
		!slice_equal(template, rule->key != NULL ? slice_of(rule->key) : (struct slice){NULL, 0}))
		record_fail(r, "%.*s has another key or interop by the configuration than it was locked by",
			SLICE_ARG(name));
	*key = rule->key;
}

static void
core_fields(struct record *r, struct core *core, struct binding_entry *binding)
{
	record_unsigned(r, &core->secret[0]);
	record_unsigned(r, &core->secret[1]);
	state_count(r, &core->attempts);
	state_count(r, &core->locks->tickets);
	state_count(r, &core->sessions->last_id);
	record_number(r, &core->quorum->highest);
	record_number(r, &core->quorum->past);
	core->awake_since_ms = state_time(r, core->awake_since_ms);
	core->quorum->newcomers_until_ms = state_time(r, core->quorum->newcomers_until_ms);
	core->quorum->guarded_lease_ms = record_range(r, core->quorum->guarded_lease_ms, 1, STATE_TIME_MAX);
	record_unsigned(r, &core->families->latch_quotas_memory);
	core->quorum->votes = (unsigned)record_range(r, core->quorum->votes, 1, CORE_MASTERS_MAX);
	core->settings.masters = (unsigned)record_range(r, core->settings.masters, 1, CORE_MASTERS_MAX);
	core->settings.lease_max_ms = record_range(r, core->settings.lease_max_ms, 1, COMMAND_MS_MAX);
	core->unread_until_ms = state_time(r, core->unread_until_ms);
	core->quorum->alone_until_ms = state_time(r, core->quorum->alone_until_ms);
	if (record_loads(r)) {
		*binding = binding_entry(core);
		binding->binding.ruled_lease_ms = binding->lease_ms;
	}
	binding_fields(r, binding);
}

/* The namespace is in every key: with another one, nothing that the state says holds. */
static void
namespace_fields(struct record *r, const struct core *core)
{
	struct slice ours = slice_of(core->settings.namespace_);
	struct slice its = ours;

	record_bytes(r, &its, UINT16_MAX);
	if (!slice_equal(ours, its))
		record_fail(r, "its namespace is %.*s, and the configuration has %.*s", SLICE_ARG(its),
			SLICE_ARG(ours));
}

void
core_save(struct core *core, struct record *r)
{
	struct binding_entry binding;

	assert(core->actions == NULL && core_rests(core));
	assert(core->drain == DRAIN_NONE && !core->ended);
	binding_settle(core);
	binding = binding_entry(core);
	record_begin(r, RECORD_CORE);
	namespace_fields(r, core);
	(void)state_time(r, core->now.ms);
	core_fields(r, core, &binding);
	record_end(r);
	state_save_masters(core, r);
	state_save_sessions(core, r);
	state_save_resources(core, r);
	state_save_mlocks(core, r);
	state_save_releases(core, r);
	state_save_latches(core, r);
}

/* ---- loading ---- */

static void
load_core(struct state_loader *l)
{
	struct core *core = l->core;

	assert(l->session == NULL && l->resource == NULL && l->masters == 0);
	namespace_fields(l->r, core);
	l->saved_ms = state_time(l->r, TIMER_NEVER);
	if (l->saved_ms > core->now.ms)
		record_fail(l->r, "it was saved at a time that this host has not reached since it booted");
	core_fields(l->r, core, &l->binding);
	if (core->settings.masters % 2 == 0 || core->quorum->votes % 2 == 0 ||
		core->quorum->votes > core->settings.masters)
		record_fail(l->r, "its number of masters is invalid");
	names_init(&core->leases->names, core->secret);
}

/* The records of the core. Those of a later part never come before those of an earlier one. */
static const struct {
	enum record_type type;
	enum part_of_state {
		PART_NONE,
		PART_CORE,
		PART_MASTERS,
		PART_SESSIONS,
		PART_NAMES,
		PART_MLOCKS,
		PART_RELEASES,
		PART_LATCHES
	} part;
	void (*load)(struct state_loader *l);
} loads[] = {
	{RECORD_CORE, PART_CORE, load_core},
	{RECORD_MASTERSET, PART_MASTERS, state_load_masterset},
	{RECORD_MASTER, PART_MASTERS, state_load_master},
	{RECORD_RETIRED, PART_MASTERS, state_load_retired},
	{RECORD_SESSION, PART_SESSIONS, state_load_session},
	{RECORD_LOSS, PART_SESSIONS, state_load_loss},
	{RECORD_CONN, PART_SESSIONS, state_load_conn},
	{RECORD_GUEST, PART_SESSIONS, state_load_guest},
	{RECORD_RESOURCE, PART_NAMES, state_load_resource},
	{RECORD_PERMIT_LEASE, PART_NAMES, state_load_permit_lease},
	{RECORD_GRANT, PART_NAMES, state_load_grant},
	{RECORD_WAITER, PART_NAMES, state_load_waiter},
	{RECORD_MLOCK, PART_MLOCKS, state_load_mlock},
	{RECORD_RELEASE, PART_RELEASES, state_load_release},
	{RECORD_LATCH, PART_LATCHES, state_load_latch},
	{RECORD_LATCH_REQUEST, PART_LATCHES, state_load_latch_request},
	{RECORD_LATCH_QUOTA, PART_LATCHES, state_load_latch_quota},
};

/* A newer version may have put it between the core's records; this one goes on without it. */
static bool
is_skipped(unsigned type)
{
	switch (type) {
#define RECORD(id, number) case (number):
#include "proto/record.def"
#undef RECORD
		return false;
	default:
		return type >= RECORD_OPTIONAL;
	}
}

/* Loads the next record. False: it is not the core's, or the state has failed. */
static bool
load_next(struct state_loader *l, enum part_of_state *part)
{
	unsigned type = record_next(l->r);

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (type != loads[i].type)
			continue;
		if ((*part == PART_NONE) != (type == RECORD_CORE) || loads[i].part < *part)
			record_fail(l->r, "its record of type %u is not where it belongs", type);
		else
			loads[i].load(l);
		*part = loads[i].part;
		return !l->r->failed;
	}
	if (is_skipped(type))
		return true;
	if (*part == PART_NONE)
		record_fail(l->r, "it does not begin with the numbers of the core");
	return false;
}

/* Each lease that has something at the masters has an attempt of its own. False: two have the same, or there
 * is no memory for the comparison. */
static bool
attempts_differ(const struct core *core)
{
	struct map attempts = {0};
	const struct resource *r;
	struct lease *l;
	bool differ = true;

	for (r = names_first(&core->leases->names); r != NULL && differ;
		r = names_next(&core->leases->names, r)) {
		for (l = resource_next_lease(r, NULL); l != NULL && differ; l = resource_next_lease(r, l)) {
			if (l->state != LEASE_NONE && l->attempt != 0)
				differ = l->attempt <= core->attempts &&
					 map_find(&attempts, l->attempt) == NULL &&
					 map_add(&attempts, l->attempt, l) == 0;
		}
	}
	map_done(&attempts);
	return differ;
}

/* All records have been read: what follows from the whole. */
static void
load_rest(struct state_loader *l, int64_t lease_max_ms)
{
	struct core *core = l->core;
	const char *wrong;

	state_check_masters(l);
	if (l->r->failed)
		return;
	if (!attempts_differ(core))
		record_fail(l->r, "two of its leases are one, or there is no memory for it");
	if (!queue_sort_waits(core))
		record_no_memory(l->r);
	ledger_mark(core);
	wrong = core_wrong(core, l->saved_ms);
	if (wrong != NULL)
		record_fail(l->r, "it contradicts itself: %s", wrong);
	/* The rules and the margin may be other ones by now; the masters are sent HELLO anyway. */
	core->settings.lease_max_ms = lease_max_ms;
	binding_inherit(core, &l->binding);
	core->retry = true;
}

struct core *
core_load(const struct core_settings *settings, struct now now, struct record *r)
{
	struct core *core = core_new(settings, now);
	struct state_loader l = {.core = core, .r = r};
	enum part_of_state part = PART_NONE;

	if (core == NULL) {
		record_no_memory(r);
		return NULL;
	}
	while (load_next(&l, &part))
		continue;
	map_done(&l.sessions);
	map_done(&l.parts);
	if (!r->failed)
		load_rest(&l, settings->lease_max_ms);
	if (!r->failed)
		return core;
	core_free(core);
	return NULL;
}
