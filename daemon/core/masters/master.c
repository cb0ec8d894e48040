/*
 * master: see master.h. registration.c brings what its links and its answers to HELLO say, admission.c what
 * it answers to ADMIT; core.c the answers to all other calls.
 */
#include "daemon/core/masters/master.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/random.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/clock_jump.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/nonces.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TO(state) (1U << (state))

/* The moves between the states; master.h has the picture. */
static const unsigned master_allowed[MASTER_STATE_COUNT] = {
	[MASTER_AWAY] = TO(MASTER_REGISTERING),
	[MASTER_REGISTERING] =
		TO(MASTER_AWAY) | TO(MASTER_GUARDED) | TO(MASTER_ADMITTED) | TO(MASTER_REFUSED),
	[MASTER_GUARDED] = TO(MASTER_AWAY) | TO(MASTER_REGISTERING) | TO(MASTER_ADMITTED) |
			   TO(MASTER_GUARDED) | TO(MASTER_REFUSED),
	[MASTER_ADMITTED] =
		TO(MASTER_AWAY) | TO(MASTER_REGISTERING) | TO(MASTER_GUARDED) | TO(MASTER_REFUSED),
	[MASTER_REFUSED] =
		TO(MASTER_AWAY) | TO(MASTER_REGISTERING) | TO(MASTER_GUARDED) | TO(MASTER_ADMITTED),
};

static void
master_turn(struct core *core, struct master *m, enum master_state next)
{
	assert(m->index < CORE_SLOTS_MAX && next < MASTER_STATE_COUNT);
	assert(master_allowed[m->state] & TO(next));
	m->state = next;
	/* A waiter that needs one refusal may get it now. */
	core->retry = true;
}

void
master_arm(struct core *core, struct master *m)
{
	int64_t at = m->hello_at_ms;

	if (m->state == MASTER_GUARDED && !m->admitting && m->admit_at_ms < at)
		at = m->admit_at_ms;
	if (m->withheld_until_ms != 0 && m->withheld_until_ms < at)
		at = m->withheld_until_ms;
	if (m->registered && master_registered_until(core, m) < at)
		at = master_registered_until(core, m);
	for (unsigned i = 0; i < core->settings.links; i++) {
		int64_t doubt = link_doubt_ms(core, &m->links[i]);

		if (doubt < at)
			at = doubt;
	}
	/* A guard may have ended while the master was away: at once, but not in the same turn. */
	if (at <= core->now.ms)
		at = core->now.ms + 1;
	timer_arm(&core->timers, &m->timer, m->state == MASTER_AWAY ? TIMER_NEVER : at);
}

void
master_call(struct core *core, const struct call *call)
{
	struct master *m = &core->masters[call->master];
	struct master_link *l = &m->links[call->link];
	struct call sent = *call;

	/* A daemon that has ended may not touch what is at the masters. */
	assert(!core->ended);
	assert(call->master < CORE_SLOTS_MAX && call->link < core->settings.links);
	if (l->due++ == 0) {
		l->quiet_since_ms = core->now.ms;
		/* The timer runs at the latest when this silence becomes a doubt; usually it finds nothing
		 * then. */
		if (timer_at(&core->timers, &m->timer) > link_doubt_ms(core, l))
			timer_arm(&core->timers, &m->timer, link_doubt_ms(core, l));
	}
	core->calls++;
	sent.mark = m->mark;
	sent.set = core->quorum->set_tag;
	sent.fenced = core->settings.masters > 1;
	if (call->op == CALL_HELLO || call->op == CALL_ADMIT) {
		sent.wanted_lease_ms = core->settings.lease_max_ms;
		sent.guarded_lease_ms = core->quorum->guarded_lease_ms;
	}
	emit_call(core, &sent);
}

bool
master_hello(struct core *core, struct master *m, unsigned link, struct call *hello)
{
	struct master_link *l = &m->links[link];

	assert(link < core->settings.links);
	if (!l->up || l->hello_under_way || core->quorum->left)
		return false;
	l->hello_under_way = true;
	l->doubts = m->doubted != 0;
	l->overtaken = false;
	l->informed = true;
	l->hello_sent_ms = core->now.ms;
	nonces_draw(core, m);
	l->hello_nonce = m->nonces_drawn;
	m->hello_serial = ++m->serial;
	*hello = (struct call){.op = CALL_HELLO,
		.master = m->index,
		.link = link,
		.attempt = m->hello_serial,
		.nonces = nonces_of(m),
		.incarnation = core_random(core) | 1,
		.token = core->quorum->highest,
		.doubted = m->doubted};
	return true;
}

void
masters_hello(struct core *core)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		core->masters[i].hello_at_ms = core->now.ms;
		master_arm(core, &core->masters[i]);
	}
}

bool
master_doubt(struct core *core, struct master *m)
{
	if (m->state == MASTER_AWAY)
		return false;
	if (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED)
		master_turn(core, m, MASTER_REGISTERING);
	return true;
}

void
master_link_up(struct core *core, struct master *m, unsigned link)
{
	struct offset known = m->links[link].offset;

	assert(m->place[0] != '\0');
	assert(link < core->settings.links);
	/* What has been heard by now was read before anything that will be sent on this connection. */
	for (unsigned i = 0; i < core->settings.links; i++) {
		if (offset_latest_ms(&m->links[i].offset) > offset_latest_ms(&known))
			known = m->links[i].offset;
	}
	m->links[link] = (struct master_link){.up = true, .offset = known};
	/* Another link may be due for a HELLO sooner, after an answer that did not count. */
	if (m->state == MASTER_AWAY || m->hello_at_ms > core->now.ms + master_hello_every_ms(core))
		m->hello_at_ms = core->now.ms + master_hello_every_ms(core);
	if (m->state == MASTER_AWAY)
		master_turn(core, m, MASTER_REGISTERING);
}

bool
master_link_down(struct core *core, struct master *m, unsigned link, struct slice why)
{
	bool any = false;

	assert(link < core->settings.links);
	m->links[link] = (struct master_link){.up = false, .offset = m->links[link].offset};
	for (unsigned i = 0; i < core->settings.links; i++)
		any |= m->links[i].up;
	slice_text(m->reason, sizeof(m->reason), why);
	if (any || m->state == MASTER_AWAY)
		return false;
	m->failing = false;
	master_turn(core, m, MASTER_AWAY);
	m->admitting = false;
	master_arm(core, m);
	emit_master_note(core, NOTE_MASTER_AWAY, m, 0, -1, m->reason);
	return true;
}

/* Whether the master is refused for this already, whatever the details are. */
static bool
refused_for(const struct master *m, const char *what)
{
	size_t n = strcspn(what, ":,");

	return m->state == MASTER_REFUSED && strcspn(m->reason, ":,") == n &&
	       strncmp(m->reason, what, n) == 0;
}

void
master_refuse(struct core *core, struct master *m, const char *what, struct slice detail)
{
	bool news = !refused_for(m, what);
	size_t cause = strcspn(what, ":");

	assert(m->state != MASTER_AWAY);
	m->failing = false;
	m->mismatch = false;
	(void)snprintf(m->reason, sizeof(m->reason), "%.*s%s%.*s%s", (int)cause, what,
		detail.n > 0 ? ": " : "",
		(int)(detail.n < MASTER_REASON_MAX / 2 ? detail.n : MASTER_REASON_MAX / 2),
		detail.n > 0 ? detail.p : "", what + cause);
	if (m->state != MASTER_REFUSED)
		master_turn(core, m, MASTER_REFUSED);
	if (news)
		emit_master_note(core, NOTE_MASTER_REFUSED, m, 0, -1, m->reason);
	m->hello_at_ms = core->now.ms + master_hello_again_ms(core);
	master_arm(core, m);
}

void
master_guard(struct core *core, struct master *m)
{
	assert(m->known && m->guarding);
	master_turn(core, m, MASTER_GUARDED);
	m->reclaim = true;
	m->admitting = false;
	master_arm(core, m);
	emit_master_note(core, NOTE_MASTER_GUARDED, m, 0, m->guard_until_ms - core->now.ms, NULL);
}

void
master_admit(struct core *core, struct master *m, bool changed)
{
	bool news = m->state != MASTER_ADMITTED;

	assert(m->known && m->state != MASTER_AWAY);
	m->admitting = false;
	m->guarding = false;
	core->retry = true;
	if (news)
		master_turn(core, m, MASTER_ADMITTED);
	if (news || changed)
		emit_master_note(core, NOTE_MASTER_ADMITTED, m, m->highest, -1, NULL);
	master_arm(core, m);
}

void
master_hello_soon(struct core *core, struct master *m)
{
	int64_t at_ms = core->now.ms + master_hello_again_ms(core);

	if (at_ms >= m->hello_at_ms)
		return;
	m->hello_at_ms = at_ms;
	master_arm(core, m);
}

/* The same error for a thousand names is one event. */
static void
master_complains(struct core *core, struct master *m, struct slice text)
{
	char before[MASTER_REASON_MAX];

	memcpy(before, m->error, sizeof(before));
	slice_text(m->error, sizeof(m->error), text);
	emit_master_stretch(
		core, NOTE_MASTER_ERROR, m, &m->errors, strcmp(before, m->error) != 0, -1, m->error);
}

static bool
served_differ(const struct master_link *a, const struct master_link *b)
{
	return a->up && b->up && a->run[0] != '\0' && b->run[0] != '\0' && strcmp(a->run, b->run) != 0;
}

/* Which server each link reaches. A failover, or a restart, leads links to another server one after the
 * other, and the server before is gone. So only one order of answers shows that a name leads to several
 * servers in turn: one link reaches A, then another link reaches B, then the first one reaches A again. Each
 * HELLO has to leave after the answer before it came, as answers of a server that has ended may still be
 * on their way. Until all links reach the same one, leases asked for on different links do not exclude each
 * other. */
static bool
master_several(struct master *m, const struct vote *vote)
{
	struct master_link *l = &m->links[vote->link];
	char run[MASTER_RUN_MAX];
	bool differ = false, shown = m->several;

	assert(l->up && vote->hello == HELLO_GOOD);
	slice_text(run, sizeof(run), vote->run);
	if (strcmp(run, l->run) != 0) {
		memcpy(l->run, run, sizeof(run));
		l->run_first = m->serial;
	}
	for (unsigned i = 0; i < CORE_LINKS_MAX; i++) {
		const struct master_link *other = &m->links[i];

		if (!served_differ(l, other))
			continue;
		differ = true;
		shown |= other->run_sent > l->run_first && vote->attempt > other->run_last;
	}
	l->run_sent = vote->attempt;
	l->run_last = m->serial;
	m->several = differ && shown;
	return m->several;
}

/* A HELLO writes to the node, and so shows whether the master takes leases now. */
static void
master_works(struct core *core, struct master *m, const struct vote *vote)
{
	m->failing = vote->lacks.n > 0;
	if (m->failing)
		master_complains(core, m, vote->lacks);
}

/* Whom this master does not let take part: for people only. */
static void
master_refuses(struct master *m, const struct vote *vote)
{
	assert(vote->hello == HELLO_GOOD);
	m->refused_count = vote->refused_count < UINT16_MAX ? (unsigned)vote->refused_count : UINT16_MAX;
	slice_text(m->refused, sizeof(m->refused), vote->refused);
}

bool
master_good(struct core *core, struct master *m, const struct vote *vote)
{
	master_works(core, m, vote);
	master_refuses(m, vote);
	slice_text(m->run, sizeof(m->run), vote->run);
	if (!master_several(m, vote))
		return true;
	master_refuse(core, m,
		"has a name that leads to several servers in turn: name one server, a Sentinel or a "
		"cluster",
		(struct slice){NULL, 0});
	return false;
}

bool
master_clock_jumped(struct core *core, struct master *m, const struct vote *vote)
{
	int64_t jump_ms;

	/* The same time as before says nothing new: all votes of one reply have it. */
	if (vote->time_us == 0 || vote->time_us == m->time_us)
		return false;
	jump_ms = offset_jump_ms(&m->links[vote->link].offset, master_offset_over_ms(core),
		binding_step_ms(core), core->now.ms, vote->time_us);
	if (jump_ms == 0)
		return false;
	assert(jump_ms > binding_step_ms(core));
	emit_master_note(core, NOTE_MASTER_CLOCK_JUMP, m, 0, jump_ms,
		"its clock went ahead, or this host's stood still");
	m->doubted = m->incarnation;
	m->withheld_until_ms = core->now.ms + terms_guard_ms(core);
	clock_jump_seen(core, m, vote->link, jump_ms);
	return true;
}

/* A memory stores the highest token before it tells it: a memory that has less went back. */
static void
master_mark(struct master *m, int64_t token)
{
	if (token > m->mark && token <= TOKEN_MOST)
		m->mark = token;
}

bool
master_answered(struct core *core, struct master *m, const struct vote *vote)
{
	bool answered =
		(vote->outcome != OUTCOME_UNKNOWN && vote->outcome != OUTCOME_UNSENT) || vote_is_error(vote);
	struct master_link *l = &m->links[vote->link];

	l->due -= l->due > 0;
	if (answered)
		l->quiet_since_ms = core->now.ms;
	if (answered && l->suspect) {
		l->suspect = false;
		core->retry = true;
	}
	if (vote->time_us > 0) {
		m->time_us = vote->time_us;
		m->time_seen_ms = core->now.ms;
	}
	master_mark(m, vote->token_last);
	master_mark(m, vote->highest);
	if (vote_is_error(vote))
		master_complains(core, m, vote->text);
	/* Is it the server, or this name alone? */
	if (vote_is_error(vote) && vote->op != CALL_HELLO && !m->failing && m->state != MASTER_AWAY)
		master_hello_soon(core, m);
	return vote->op != CALL_HELLO &&
	       (vote->outcome == OUTCOME_FORGOTTEN || vote->outcome == OUTCOME_DEMOTED);
}

void
master_timer(struct core *core, struct master *m)
{
	for (unsigned i = 0; i < core->settings.links; i++) {
		if (core->now.ms >= link_doubt_ms(core, &m->links[i]))
			master_suspect(core, m, i);
	}
	if (m->withheld_until_ms != 0 && core->now.ms >= m->withheld_until_ms) {
		m->withheld_until_ms = 0;
		core->retry = true;
	}
	if (m->registered && core->now.ms >= master_registered_until(core, m)) {
		m->registered = false;
		core->retry = true;
	}
}

void
master_suspect(struct core *core, struct master *m, unsigned link)
{
	assert(link < core->settings.links);
	if (m->links[link].suspect)
		return;
	m->links[link].suspect = true;
	core->retry = true;
	emit_master_stretch(core, NOTE_MASTER_SILENT, m, &m->silences, false,
		core->now.ms - m->links[link].quiet_since_ms, "it was asked and does not answer");
}
