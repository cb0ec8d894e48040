/*
 * state_master: see state_master.h. Every master is as after a loss of all its links, or was not reached yet.
 * What was measured and reported before still counts: the servers, their clocks and this host's clock have
 * gone on.
 */
#include "daemon/core/persist/state_master.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/state_time.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/members.h"
#include "daemon/core/masterset/move.h"
#include "daemon/core/persist/state.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/view.h"
#include "proto/record.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- the set ---- */

static void
request_fields(struct core *core, struct record *r, struct masterset_request *q)
{
	assert(record_loads(r) || q->newcomers <= MASTERS_NEW_MAX);
	record_flag(r, &q->open);
	record_unsigned(r, &q->conn);
	q->op = (enum masters_op)record_range(r, q->op, 0, MASTERS_ABORT);
	q->old = (unsigned)record_range(r, q->old, 0, core->settings.masters - 1);
	q->newcomers = (unsigned)record_range(r, q->newcomers, 0, MASTERS_NEW_MAX);
	record_text(r, q->text, sizeof(q->text));
	state_timer(r, core, &q->timer);
}

static void
masterset_fields(struct core *core, struct record *r)
{
	struct masterset *set = core->masterset;

	record_text(r, set->text, sizeof(set->text));
	record_text(r, set->places, sizeof(set->places));
	set->generation = record_range(r, set->generation, 0, MEMBERS_GENERATION_MAX);
	set->newest = record_range(r, set->newest, 0, MEMBERS_GENERATION_MAX);
	set->over = record_range(r, set->over, 0, MEMBERS_GENERATION_MAX);
	record_text(r, set->next.text, sizeof(set->next.text));
	record_text(r, set->next.places, sizeof(set->next.places));
	state_count(r, &set->next.serial);
	record_text(r, set->dropped, sizeof(set->dropped));
	record_flag(r, &set->agreed);
	state_count(r, &set->serial);
	state_count(r, &set->announced);
	record_text(r, set->why, sizeof(set->why));
	request_fields(core, r, &set->request);
}

/* Whether this text is a set, and has as many members as this. */
static bool
set_reads(const char *text, const char *places, unsigned n)
{
	struct members list;

	return members_read(slice_of(text), slice_of(places), &list) && list.n == n;
}

/* A next set that adds two has two members more. */
static bool
next_reads(const struct masterset_next *next, unsigned n)
{
	return next->text[0] == '\0' || set_reads(next->text, next->places, n) ||
	       (n + 2 <= CORE_MASTERS_MAX && set_reads(next->text, next->places, n + 2));
}

/* No server is known to belong to another set while no link is up. */
void
state_load_masterset(struct state_loader *l)
{
	struct masterset *set = l->core->masterset;

	if (l->masters > 0 || set->serial != 1 || l->core->quorum->votes != l->core->settings.masters) {
		record_fail(l->r, "its set of masters is not where it belongs");
		return;
	}
	masterset_fields(l->core, l->r);
	if ((set->agreed && !set_reads(set->text, set->places, l->core->settings.masters)) ||
		!next_reads(&set->next, l->core->settings.masters) || set->serial == 0 ||
		(set->request.open && set->request.conn == 0))
		record_fail(l->r, "its set of masters cannot be read");
	l->core->quorum->set_tag = set->agreed ? masterset_tag(set->text) : 0;
	set->next.tag = masterset_tag(set->next.text);
	set->usable = set->agreed;
}

/* ---- a slot ---- */

static void
offset_fields(struct record *r, struct offset *offset)
{
	assert(record_loads(r) || offset->newest < OFFSET_SAMPLES);
	for (unsigned i = 0; i < OFFSET_SAMPLES; i++) {
		struct offset_sample *s = &offset->samples[i];

		s->from_ms = state_time(r, s->from_ms);
		s->at_ms = state_time(r, s->at_ms);
		s->ahead_us = state_us(r, s->ahead_us);
	}
	offset->newest = (unsigned)record_range(r, offset->newest, 0, OFFSET_SAMPLES - 1);
}

/* A link that is made takes the latest offset of all, whichever it was: so their number may change. */
static void
offsets_fields(const struct core *core, struct record *r, struct master *m)
{
	int64_t links = record_range(r, core->settings.links, 1, CORE_LINKS_MAX);

	for (unsigned i = 0; i < links; i++)
		offset_fields(r, &m->links[i].offset);
}

/* The nonces that were sent, so that a HELLO that runs at the master only now is known to be ours. */
static void
nonces_fields(
	struct record *r, char nonces[MASTER_NONCES * MASTER_NONCE_SIZE], uint64_t *drawn, uint64_t *answered)
{
	struct slice sent;
	size_t n;

	assert(record_loads(r) || *answered <= *drawn);
	state_count(r, drawn);
	state_count(r, answered);
	n = (*drawn < MASTER_NONCES ? *drawn : MASTER_NONCES) * MASTER_NONCE_SIZE;
	sent = record_loads(r) ? (struct slice){NULL, 0} : (struct slice){nonces, n};
	record_bytes(r, &sent, MASTER_NONCES * MASTER_NONCE_SIZE);
	if (sent.n != n || *answered > *drawn)
		record_fail(r, "the HELLOs of a master in it are invalid");
	else if (record_loads(r) && n > 0)
		memcpy(nonces, sent.p, n);
}

static void
stretch_fields(struct record *r, struct stretch *s)
{
	s->last_ms = state_time(r, s->last_ms);
	s->noted_ms = state_time(r, s->noted_ms);
	record_flag(r, &s->unreported);
}

/* What it has reported of sets. */
static void
memory_fields(struct record *r, struct memory *memory)
{
	record_unsigned(r, &memory->incarnation);
	memory->reported_ms = state_time(r, memory->reported_ms);
	memory->asked_ms = state_time(r, memory->asked_ms);
	state_count(r, &memory->asked);
	state_count(r, &memory->enrolled);
	state_count(r, &memory->blank);
	state_count(r, &memory->accepted);
	record_flag(r, &memory->earlier);
}

static void
member_fields(struct record *r, struct master *m)
{
	record_unsigned(r, &m->id);
	record_unsigned(r, &m->member);
	m->agreement = (enum agreement)record_range(r, m->agreement, 0, AGREEMENT_AGREED);
	record_flag(r, &m->enrolled);
	record_flag(r, &m->blank);
	memory_fields(r, &m->memory);
	m->next_step = (enum next_step)record_range(r, m->next_step, 0, NEXT_INSISTED);
	record_flag(r, &m->next_known);
	record_flag(r, &m->next_rival);
	record_flag(r, &m->left);
	record_text(r, m->unacknowledged, sizeof(m->unacknowledged));
}

static void
clock_jump_fields(struct record *r, struct clock_jump *jump)
{
	jump->at_ms = state_time(r, jump->at_ms);
	jump->ms = record_range(r, jump->ms, 0, STATE_TIME_MAX);
}

/* Its guard, its clock, and what was withheld for it. */
static void
guard_fields(struct record *r, struct master *m)
{
	m->guard_until_ms = state_time(r, m->guard_until_ms);
	m->admit_at_ms = state_time(r, m->admit_at_ms);
	record_flag(r, &m->guarding);
	m->time_us = state_us(r, m->time_us);
	m->time_seen_ms = state_time(r, m->time_seen_ms);
	record_unsigned(r, &m->doubted);
	m->withheld_until_ms = state_time(r, m->withheld_until_ms);
	clock_jump_fields(r, &m->jumps[m->index]);
	/* An older version reads it here, and does not tell what it was taken off for. */
	(void)state_time(r, m->off_ms);
}

/* At the end of the record. */
static void
jumps_fields(struct record *r, struct master *m)
{
	m->off_ms = record_range(r, m->off_ms, 0, STATE_TIME_MAX);
	int64_t slots = record_range(r, CORE_SLOTS_MAX, 0, CORE_SLOTS_MAX);

	for (unsigned i = 0; i < slots; i++)
		clock_jump_fields(r, &m->jumps[i]);
}

static void
reported_fields(struct record *r, struct master *m)
{
	record_flag(r, &m->known);
	record_unsigned(r, &m->incarnation);
	m->longest_ms = state_time(r, m->longest_ms);
	record_flag(r, &m->registered);
	m->registered_ms = state_time(r, m->registered_ms);
	m->mark = state_us(r, m->mark);
	m->highest = state_us(r, m->highest);
	m->highest_sent_ms = state_time(r, m->highest_sent_ms);
	state_count(r, &m->serial);
	state_count(r, &m->hello_serial);
	state_count(r, &m->admit_serial);
	nonces_fields(r, m->nonces, &m->nonces_drawn, &m->nonce_answered);
	record_text(r, m->run, sizeof(m->run));
	record_text(r, m->error, sizeof(m->error));
	stretch_fields(r, &m->errors);
	stretch_fields(r, &m->silences);
}

static void
master_fields(const struct core *core, struct record *r, struct master *m)
{
	bool reclaims = m->reclaim || m->reclaims;

	record_text(r, m->place, sizeof(m->place));
	record_text(r, m->way, sizeof(m->way));
	reported_fields(r, m);
	guard_fields(r, m);
	member_fields(r, m);
	/* A scan that was not over begins anew. */
	record_flag(r, &reclaims);
	if (record_loads(r))
		m->reclaim = reclaims;
	offsets_fields(core, r, m);
	jumps_fields(r, m);
}

/* Nothing of it is known, and no link is up. */
static void
master_blank(struct core *core, struct master *m)
{
	unsigned index = m->index;

	assert(m == &core->masters[index]);
	timer_cancel(&core->timers, &m->timer);
	*m = (struct master){
		.state = MASTER_AWAY, .index = index, .hello_at_ms = TIMER_NEVER, .admit_at_ms = TIMER_NEVER};
	timer_init(&m->timer, TIMER_MASTER);
}

void
state_load_master(struct state_loader *l)
{
	struct core *core = l->core;
	char place[MASTERSET_PLACE_MAX], way[MASTERSET_WAY_MAX];
	struct master *m;

	if (l->masters == CORE_SLOTS_MAX || core->masterset->serial == 0) {
		record_fail(l->r, "it has too many masters");
		return;
	}
	m = &core->masters[l->masters++];
	memcpy(place, m->place, sizeof(place));
	memcpy(way, m->way, sizeof(way));
	master_blank(core, m);
	master_fields(core, l->r, m);
	if (m->place[0] == '\0' && m->index < core->settings.masters)
		record_fail(l->r, "a master of it has no place");
	/* The settings do not say yet where a private master is: it is handed over behind the state. */
	bool known = place[0] != '\0' || m->index >= core->settings.masters;
	if ((known && strcmp(place, m->place) != 0) || strcmp(way, m->way) != 0)
		core->quorum->rerouted |= (uint16_t)(1U << m->index);
}

/* ---- servers that slots were ---- */

static void
retired_fields(struct record *r, struct retired_server *p)
{
	record_text(r, p->place, sizeof(p->place));
	record_text(r, p->way, sizeof(p->way));
	nonces_fields(r, p->nonces, &p->nonces_drawn, &p->nonce_answered);
	p->mark = state_us(r, p->mark);
}

void
state_load_retired(struct state_loader *l)
{
	if (l->retired == RETIRED_MAX) {
		record_fail(l->r, "it has too many servers that have left");
		return;
	}
	retired_fields(l->r, &l->core->quorum->retired[l->retired++]);
}

/* ---- all of it ---- */

/* A master that no link has reached yet is in a HELLO from the start (master_init()): nothing ends that
 * as long as the adapter searches for it. */
static bool
master_rests(const struct core *core, const struct master *m)
{
	bool up = false;

	assert(core->settings.links <= CORE_LINKS_MAX);
	for (unsigned i = 0; i < core->settings.links; i++)
		up |= m->links[i].up;
	return !up && (m->state == MASTER_AWAY || m->state == MASTER_REGISTERING);
}

void
state_save_masters(struct core *core, struct record *r)
{
	record_begin(r, RECORD_MASTERSET);
	masterset_fields(core, r);
	record_end(r);
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		assert(master_rests(core, &core->masters[i]));
		assert(!core->masters[i].moved && core->masters[i].index == i);
		record_begin(r, RECORD_MASTER);
		master_fields(core, r, &core->masters[i]);
		record_end(r);
	}
	for (unsigned i = 0; i < RETIRED_MAX && core->quorum->retired[i].place[0] != '\0'; i++) {
		record_begin(r, RECORD_RETIRED);
		retired_fields(r, &core->quorum->retired[i]);
		record_end(r);
	}
}

/* A version with more slots tells of more; one with fewer, of fewer, and the others are closed. */
void
state_check_masters(struct state_loader *l)
{
	struct core *core = l->core;

	assert(l->masters <= CORE_SLOTS_MAX && l->retired <= RETIRED_MAX);
	if (l->masters < core->settings.masters)
		record_fail(l->r, "a master of it is missing");
	for (unsigned i = l->masters; i < CORE_SLOTS_MAX; i++) {
		if (core->masters[i].place[0] != '\0')
			core->quorum->rerouted |= (uint16_t)(1U << i);
		master_blank(core, &core->masters[i]);
	}
	core->resumes = true;
}

/* ---- the first step ---- */

void
state_resume(struct core *core)
{
	assert(core->resumes && core->actions != NULL);
	core->resumes = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		if ((core->quorum->rerouted >> i & 1) != 0)
			master_tell_place(core, &core->masters[i]);
	}
	core->quorum->rerouted = 0;
	for (const struct resource *r = names_first(&core->leases->names); r != NULL;
		r = names_next(&core->leases->names, r)) {
		if (r->listens)
			emit_listen(core, resource_name(r), true);
	}
	for (const struct session *s = core->sessions->all; s != NULL; s = s->hh.next) {
		if (s->process.pid != 0 && !s->unseen)
			emit_watch(core, &s->process);
	}
}
