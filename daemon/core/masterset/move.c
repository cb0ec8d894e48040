/*
 * move: see move.h. members.c and masterset_request.c call it when the set changes; leases follow in
 * lease_vote.c.
 */
#include "daemon/core/masterset/move.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/nonces.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masterset/members.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void
master_place(const struct core *core, struct master *m)
{
	const struct core_settings *settings = &core->settings;

	if (m->index >= settings->masters)
		return;
	if (settings->where != NULL)
		members_place(m->place, settings->where[m->index]);
	else
		(void)snprintf(m->place, sizeof(m->place), "master-%u", m->index + 1);
	(void)snprintf(
		m->way, sizeof(m->way), "%s", settings->ways != NULL ? settings->ways[m->index] : "url");
}

void
master_init(struct core *core, struct master *m, unsigned index)
{
	assert(index < CORE_SLOTS_MAX && m == &core->masters[index]);
	m->index = index;
	master_place(core, m);
	/* The first connect is under way: a LOCK that comes meanwhile waits for its outcome. */
	m->state = m->place[0] != '\0' ? MASTER_REGISTERING : MASTER_AWAY;
	m->hello_at_ms = TIMER_NEVER;
	m->admit_at_ms = TIMER_NEVER;
	timer_init(&m->timer, TIMER_MASTER);
	timer_arm(&core->timers, &m->timer, TIMER_NEVER);
}

/* The slot is another server: nothing is known of it, except for what they know of each other. */
static void
master_renew(struct core *core, struct master *m, struct slice place, struct slice way)
{
	struct master fresh = {.state = MASTER_AWAY,
		.index = m->index,
		.hello_at_ms = TIMER_NEVER,
		.admit_at_ms = TIMER_NEVER,
		.serial = m->serial,
		.hello_serial = m->serial};

	nonces_part(core, m);
	slice_text(fresh.place, sizeof(fresh.place), place);
	slice_text(fresh.way, sizeof(fresh.way), way);
	timer_cancel(&core->timers, &m->timer);
	timer_init(&fresh.timer, TIMER_MASTER);
	*m = fresh;
	if (place.n > 0)
		nonces_recognise(core, m);
}

void
master_tell_place(struct core *core, const struct master *m)
{
	emit_move(core, &(struct move){m->index, slice_of(m->place), slice_of(m->way)});
}

void
master_move(struct core *core, struct master *m, struct slice place, struct slice way)
{
	assert(place.n > 0 || m->index >= core->settings.masters);
	assert(m == &core->masters[m->index]);
	master_renew(core, m, place, way);
	m->moved = true;
	core->quorum->reconfigured = true;
	core_changed(core, CHANGE_SET);
	master_tell_place(core, m);
}

void
master_reroute(struct core *core, struct master *m, struct slice place, struct slice way)
{
	assert(place.n > 0 && m->index < core->settings.masters);
	slice_text(m->place, sizeof(m->place), place);
	slice_text(m->way, sizeof(m->way), way);
	/* A newcomer's slot may have sent HELLO there. */
	nonces_recognise(core, m);
	core_changed(core, CHANGE_SET);
	master_tell_place(core, m);
}

/* The single master has refused calls of the set before since it stored the next one, which was after the
 * last HELLO in whose answer it reported the set before. Guards of newcomers began later, and may be counted
 * by another clock. After a crash no HELLO may tell: but the master has renewed leases of the set before, the
 * last one no more than its time before it ends; and guards are longer than that time by the margin. */
static int64_t
unadmitted_until(const struct core *core)
{
	const struct memory *only = &core->masters[0].memory;
	int64_t step_ms = binding_step_ms(core), guard_ms = core->masters[0].longest_ms + step_ms;
	int64_t until_ms = only->reported_ms == 0 ? 0 : only->reported_ms + guard_ms - drift_ms(guard_ms);
	int64_t leased_ms =
		core->quorum->alone_until_ms + step_ms - drift_ms(core->settings.lease_max_ms + step_ms);

	return core->quorum->alone_until_ms != 0 && leased_ms > until_ms ? leased_ms : until_ms;
}

void
masters_were_one(struct core *core, int64_t valid_until_ms)
{
	assert(valid_until_ms > 0);
	core->quorum->alone_until_ms = valid_until_ms;
	if (core->settings.masters > 1)
		core->quorum->newcomers_until_ms = unadmitted_until(core);
}

void
master_begin_at(struct core *core, struct master *m, struct slice place, struct slice way)
{
	assert(place.n > 0 && m->state == (m->place[0] != '\0' ? MASTER_REGISTERING : MASTER_AWAY));
	if (slice_equal(place, slice_of(m->place)) && slice_equal(way, slice_of(m->way)))
		return;
	slice_text(m->place, sizeof(m->place), place);
	slice_text(m->way, sizeof(m->way), way);
	m->state = MASTER_REGISTERING;
	core->quorum->rerouted |= (uint16_t)(1U << m->index);
}

void
masters_resize(struct core *core, unsigned masters)
{
	assert(masters > core->settings.masters && masters % 2 == 1 && masters <= CORE_MASTERS_MAX);
	for (unsigned i = core->settings.masters; i < masters; i++)
		assert(core->masters[i].place[0] != '\0');
	core->quorum->newcomers_until_ms = core->settings.masters == 1 ? unadmitted_until(core) : 0;
	core->quorum->alone_until_ms = 0;
	core->settings.masters = masters;
	core_changed(core, CHANGE_SET);
	core->quorum->reconfigured = true;
	/* Leases follow before anything else happens (reconfigure()). */
	assert(core->quorum->votes < core->settings.masters);
}
