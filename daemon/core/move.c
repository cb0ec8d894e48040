#include "daemon/core/move.h"

#include "daemon/core/emit.h"
#include "daemon/core/members.h"
#include "daemon/core/timers.h"

#include <assert.h>
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
	m->index = index;
	master_place(core, m);
	/* The first connect is under way: who asks meanwhile waits for how it ends. */
	m->state = m->place[0] != '\0' ? MASTER_GREETING : MASTER_AWAY;
	m->greet_ms = TIMER_NEVER;
	m->admit_ms = TIMER_NEVER;
	timer_init(&m->timer, TIMER_MASTER);
	timer_arm(&core->timers, &m->timer, TIMER_NEVER);
}

/* The slot has just been there, or was a newcomer's. */
static const struct master *
slot_at(const struct core *core, struct slice place, struct slice way)
{
	for (unsigned i = 0; place.n > 0 && i < CORE_SLOTS_MAX; i++) {
		const struct master *m = &core->masters[i];

		if (slice_equal(place, slice_of(m->place)) && slice_equal(way, slice_of(m->way)))
			return m;
	}
	return NULL;
}

static void
text_keep(char *to, size_t room, struct slice from)
{
	assert(from.n < room);
	if (from.n > 0)
		memcpy(to, from.p, from.n);
	to[from.n] = '\0';
}

/* Nothing is known of the server but what this daemon has told it, and was told by it, through another slot:
 * the nonce that it stores is one of these (hello.lua). */
static void
master_renew(struct core *core, struct master *m, struct slice place, struct slice way)
{
	const struct master *like = slot_at(core, place, way);
	struct master fresh = {.state = MASTER_AWAY,
		.index = m->index,
		.greet_ms = TIMER_NEVER,
		.admit_ms = TIMER_NEVER,
		.serial = m->serial,
		.hello_serial = m->serial};

	if (like != NULL) {
		memcpy(fresh.nonces, like->nonces, sizeof(fresh.nonces));
		fresh.nonces_drawn = like->nonces_drawn;
		fresh.nonce_heard = like->nonce_heard;
		fresh.mark = like->mark;
	}
	text_keep(fresh.place, sizeof(fresh.place), place);
	text_keep(fresh.way, sizeof(fresh.way), way);
	timer_cancel(&core->timers, &m->timer);
	timer_init(&fresh.timer, TIMER_MASTER);
	*m = fresh;
}

void
master_move(struct core *core, struct master *m, struct slice place, struct slice way)
{
	assert(place.n > 0 || m->index >= core->settings.masters);
	master_renew(core, m, place, way);
	m->moved = true;
	core->reseat = true;
	emit_move(core, m);
}

void
master_reroute(struct core *core, struct master *m, struct slice place, struct slice way)
{
	assert(place.n > 0);
	text_keep(m->place, sizeof(m->place), place);
	text_keep(m->way, sizeof(m->way), way);
	emit_move(core, m);
}

void
masters_resize(struct core *core, unsigned masters)
{
	assert(masters > core->settings.masters && masters % 2 == 1 && masters <= CORE_MASTERS_MAX);
	for (unsigned i = core->settings.masters; i < masters; i++)
		assert(core->masters[i].place[0] != '\0');
	core->settings.masters = masters;
	core->reseat = true;
}
