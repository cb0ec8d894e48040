/*
 * state: see the header. The order of the records, and the core's own numbers.
 */
#include "daemon/core/state.h"

#include "daemon/core/core_inner.h"
#include "daemon/core/master.h"

#include <assert.h>

static void
core_fields(struct record *r, struct core *core)
{
	record_unsigned(r, &core->secret[0]);
	record_unsigned(r, &core->secret[1]);
	record_unsigned(r, &core->attempts);
	record_unsigned(r, &core->tickets);
	record_unsigned(r, &core->session_ids);
	record_number(r, &core->highest);
	record_number(r, &core->past);
	record_number(r, &core->awake_ms);
	record_number(r, &core->newcomers_until_ms);
	record_number(r, &core->guarded_ms);
	record_unsigned(r, &core->latch_quotas_memory);
	core->seats = (unsigned)record_range(r, core->seats, 1, CORE_MASTERS_MAX);
	core->settings.masters = (unsigned)record_range(r, core->settings.masters, 1, CORE_MASTERS_MAX);
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
	assert(core->drain == DRAIN_NONE && !core->ended);
	record_begin(r, RECORD_CORE);
	namespace_fields(r, core);
	core_fields(r, core);
	record_end(r);
	state_save_masters(core, r);
	state_save_sessions(core, r);
	state_save_resources(core, r);
	state_save_mlocks(core, r);
	state_save_releases(core, r);
	state_save_latches(core, r);
}
