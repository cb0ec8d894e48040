/* whole: see whole.h. */
#include "daemon/core/whole/whole.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/core.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/lock/withheld.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/move.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/view.h"
#include "proto/command.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The core, and what each of its rooms remembers. */
struct whole {
	struct core core;
	struct master masters[CORE_SLOTS_MAX];
	struct masterset masterset;
	struct quorum quorum;
	struct leases leases;
	struct sessions sessions;
	struct locks locks;
	struct liveness liveness;
	struct families families;
};

static struct core *
whole_core(struct whole *whole)
{
	struct core *core = &whole->core;

	core->masters = whole->masters;
	core->masterset = &whole->masterset;
	core->quorum = &whole->quorum;
	core->leases = &whole->leases;
	core->sessions = &whole->sessions;
	core->locks = &whole->locks;
	core->liveness = &whole->liveness;
	core->families = &whole->families;
	return core;
}

static void
core_done_starts(struct core *core)
{
	starts_done(&core->locks->hold_starts);
	starts_done(&core->locks->wait_starts);
	starts_done(&core->families->mlock_starts);
}

struct core *
core_new(const struct core_settings *settings, struct now now)
{
	struct whole *whole = calloc(1, sizeof(*whole));
	struct core *core;

	if (whole == NULL)
		return NULL;
	core = whole_core(whole);
	assert(settings->masters % 2 == 1 && settings->masters <= CORE_MASTERS_MAX);
	assert(settings->links >= 1 && settings->links <= CORE_LINKS_MAX && settings->rule_count >= 1);
	assert(settings->namespace_ != NULL);
	assert(settings->name_bytes <= NAME_BYTES_MAX);
	assert(settings->lease_max_ms > 0 && settings->margin_ms >= 0 && settings->retain_ms >= 0);
	assert(settings->streak >= 1);
	core->reserve.bytes = settings->reserve_bytes;
	if (!reserve_fill(&core->reserve) || !starts_init(&core->locks->hold_starts) ||
		!starts_init(&core->locks->wait_starts) || !starts_init(&core->families->mlock_starts) ||
		!rules_init(&core->leases->rules, settings->rules, settings->rule_count)) {
		core_done_starts(core);
		reserve_free(&core->reserve);
		free(whole);
		return NULL;
	}
	core->settings = *settings;
	if (core->settings.ledger_many == 0)
		core->settings.ledger_many = LEDGER_MANY;
	if (core->settings.end_holds == 0)
		core->settings.end_holds = END_HOLDS;
	core->quorum->votes = settings->masters;
	core->settings.rules = NULL; /* the caller's rules need not live on */
	core->quorum->guarded_lease_ms = settings->lease_max_ms;
	binding_init(core);
	core->now = now;
	core->due_at_ms = now.ms;
	core->secret[0] = now.random[0];
	core->secret[1] = now.random[1];
	timers_init(&core->timers, &core->reserve);
	names_init(&core->leases->names, core->secret);
	dirty_init(&core->dirty, &core->reserve);
	dirty_init(&core->lease_changes, &core->reserve);
	TAILQ_INIT(&core->locks->no_queue.waiters);
	core->leases->no_demand = &core->locks->no_queue.demand;
	TAILQ_INIT(&core->locks->queues);
	timer_init(&core->locks->rescan_timer, TIMER_RESCAN);
	timer_init(&core->liveness->ending_timer, TIMER_ENDING);
	TAILQ_INIT(&core->liveness->ending);
	TAILQ_INIT(&core->sessions->named);
	families_init(core);
	masterset_init(core);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		master_init(core, &core->masters[i], i);
	return core;
}

static void
free_leases(struct core *core, struct resource *r)
{
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		grants_free(l);
	family_of_name(core, r)->free(core, r);
}

static void
free_resources(struct core *core)
{
	struct resource *r, *next;

	/* All waiters first: removing one needs the timers and the lists of other resources. */
	for (r = names_first(&core->leases->names); r != NULL; r = names_next(&core->leases->names, r)) {
		while (!TAILQ_EMPTY(&queue_of(r)->waiters))
			queue_remove(core, TAILQ_FIRST(&queue_of(r)->waiters));
	}
	for (r = names_first(&core->leases->names); r != NULL; r = next) {
		next = names_next(&core->leases->names, r);
		free_leases(core, r);
		names_remove(&core->leases->names, r);
		free(r);
	}
	names_done(&core->leases->names);
}

static void
free_sessions(struct core *core)
{
	for (struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		loss_forget_all(core, s);
		holds_done(s);
		asyncs_done(s);
	}
	session_free_all(core);
}

void
core_free(struct core *core)
{
	if (core == NULL)
		return;
	assert(core->actions == NULL);
	core->ledger = NULL;
	free_resources(core);
	latch_free_all(core);
	latch_quota_free_all(core);
	free_sessions(core);
	/* Users are counted for what latches they have. */
	assert(core->families->latch_quotas == NULL);
	user_free_all(core);
	release_free_all(core);
	withheld_done(core);
	freelist_done(core);
	dirty_done(&core->dirty);
	dirty_done(&core->lease_changes);
	changes_done(core);
	timers_done(&core->timers);
	core_done_starts(core);
	rules_done(&core->leases->rules);
	reserve_free(&core->reserve);
	free(OWNER_OF(core, struct whole, core));
}

bool
core_rests(const struct core *core)
{
	return core->calls == 0 && core->acquires == 0;
}

int64_t
core_wake_at(const struct core *core)
{
	return core->ended ? TIMER_NEVER : timers_first(&core->timers);
}
