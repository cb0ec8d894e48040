/*
 * master: see master.h. core.c brings the events; quorum.c decides on admission. A master is sent HELLO again
 * whenever its memory is in doubt, and not used before it has answered.
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
#include "daemon/core/masters/masterset.h"
#include "daemon/core/masters/masterset_change.h"
#include "daemon/core/masters/masterset_copies.h"
#include "daemon/core/masters/masterset_request.h"
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

static const char *const hello_text[] = {
#define HELLO_RESULT(name, text) text,
	HELLO_RESULTS(HELLO_RESULT)
#undef HELLO_RESULT
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

static void
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
	struct call told = *call;

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
	told.mark = m->mark;
	told.set = core->masterset->tag;
	told.fenced = core->settings.masters > 1;
	if (call->op == CALL_HELLO || call->op == CALL_ADMIT) {
		told.wanted_lease_ms = core->settings.lease_max_ms;
		told.guarded_lease_ms = core->quorum->guarded_lease_ms;
	}
	emit_call(core, &told);
}

/* HELLO on one link: which server is this, and does it remember us? */
static void
master_hello(struct core *core, struct master *m, unsigned link)
{
	struct master_link *l = &m->links[link];
	struct call hello;

	assert(link < core->settings.links);
	if (!l->up || l->hello_under_way || core->quorum->left)
		return;
	l->hello_under_way = true;
	l->doubts = m->doubted != 0;
	l->overtaken = false;
	l->informed = true;
	l->hello_sent_ms = core->now.ms;
	nonces_draw(core, m);
	l->hello_nonce = m->nonces_drawn;
	m->hello_serial = ++m->serial;
	hello = (struct call){.op = CALL_HELLO,
		.master = m->index,
		.link = link,
		.attempt = m->hello_serial,
		.nonces = nonces_of(m),
		.incarnation = core_random(core) | 1,
		.token = core->quorum->highest,
		.doubted = m->doubted};
	masterset_ask(core, m, link, &hello);
	master_call(core, &hello);
}

void
master_hello_all(struct core *core, struct master *m)
{
	for (unsigned i = 0; i < core->settings.links; i++)
		master_hello(core, m, i);
	m->hello_at_ms = core->now.ms + master_hello_every_ms(core);
	master_arm(core, m);
}

void
masters_hello(struct core *core)
{
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++) {
		core->masters[i].hello_at_ms = core->now.ms;
		master_arm(core, &core->masters[i]);
	}
}

/* The master may not be the one we knew: it is asked for nothing new until it has answered HELLO. */
static void
master_doubt(struct core *core, struct master *m)
{
	if (m->state == MASTER_AWAY)
		return;
	if (m->state == MASTER_ADMITTED || m->state == MASTER_GUARDED)
		master_turn(core, m, MASTER_REGISTERING);
	master_hello_all(core, m);
}

void
master_flushed(struct core *core, struct master *m)
{
	master_doubt(core, m);
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
	master_hello(core, m, link);
	master_arm(core, m);
}

void
master_link_down(struct core *core, struct master *m, unsigned link, struct slice why)
{
	bool any = false;

	assert(link < core->settings.links);
	m->links[link] = (struct master_link){.up = false, .offset = m->links[link].offset};
	for (unsigned i = 0; i < core->settings.links; i++)
		any |= m->links[i].up;
	slice_text(m->reason, sizeof(m->reason), why);
	if (any || m->state == MASTER_AWAY)
		return;
	m->failing = false;
	master_turn(core, m, MASTER_AWAY);
	masterset_away(core, m);
	m->admitting = false;
	master_arm(core, m);
	emit_master_note(core, NOTE_MASTER_AWAY, m, 0, -1, m->reason);
}

/* Whether the master is refused for this already, whatever the details are. */
static bool
refused_for(const struct master *m, const char *what)
{
	size_t n = strcspn(what, ":,");

	return m->state == MASTER_REFUSED && strcspn(m->reason, ":,") == n &&
	       strncmp(m->reason, what, n) == 0;
}

/* The detail, which has the values, comes before the cure, which is in `what` behind a colon: where there is
 * little room the cure is cut off. */
static void
master_refuse(struct core *core, struct master *m, const char *what, struct slice detail)
{
	bool news = !refused_for(m, what);
	size_t cause = strcspn(what, ":");

	assert(m->state != MASTER_AWAY);
	m->failing = false;
	m->mismatch = what == hello_text[HELLO_MISMATCH];
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

static void
master_guard(struct core *core, struct master *m)
{
	assert(m->known && m->guarding);
	master_turn(core, m, MASTER_GUARDED);
	m->reclaim = true;
	m->admitting = false;
	master_arm(core, m);
	emit_master_note(core, NOTE_MASTER_GUARDED, m, 0, m->guard_until_ms - core->now.ms, NULL);
}

static void
master_admitted(struct core *core, struct master *m)
{
	bool news = m->state != MASTER_ADMITTED;

	assert(m->known && m->state != MASTER_AWAY);
	m->admitting = false;
	m->guarding = false;
	core->retry = true;
	if (news) {
		master_turn(core, m, MASTER_ADMITTED);
		emit_master_note(core, NOTE_MASTER_ADMITTED, m, m->highest, -1, NULL);
	}
	master_arm(core, m);
}

/* Sends the master HELLO once more before it is used. Its tokens count from now on: with this answer it may
 * have been the last member to accept the set, which is then agreed on above the tokens of all members. */
static void
master_repeat(struct core *core, struct master *m, const struct vote *vote)
{
	tokens_saw(core, vote->highest);
	master_hello(core, m, vote->link);
}

/* What this HELLO shows of the clock, beside a jump. */
static void
master_measured(struct core *core, struct master *m, const struct vote *vote)
{
	struct master_link *l = &m->links[vote->link];

	assert(!l->overtaken && l->hello_sent_ms == m->highest_sent_ms);
	offset_sample(&l->offset, master_offset_over_ms(core), l->hello_sent_ms, vote->time_us);
	if (l->informed)
		clock_jump_caught_up(m);
	else if (m->off_ms > 0)
		master_hello(core, m, vote->link); /* so that it catches up soon */
}

static void
master_hello_answered(struct core *core, struct master *m, const struct vote *vote)
{
	bool first = !m->known, changed = first || vote->incarnation != m->incarnation;

	assert(vote->hello == HELLO_GOOD);
	assert(m->links[vote->link].up && m->state != MASTER_AWAY);
	/* This HELLO left before the jump was seen, or may hide a jump. Or it was read before a jump that
	 * the older samples have on them: as a sample it would show that jump again. */
	if ((m->doubted != 0 && !changed && !m->links[vote->link].doubts) || m->links[vote->link].overtaken ||
		master_vague(core, m, vote->link)) {
		master_repeat(core, m, vote);
		return;
	}
	if (m->links[vote->link].hello_nonce > m->nonce_answered)
		m->nonce_answered = m->links[vote->link].hello_nonce;
	/* Its clock may have jumped after the guard of another memory. */
	if (m->doubted != 0 && vote->admitted)
		m->withheld_until_ms = core->now.ms + terms_guard_ms(core);
	else if (changed)
		m->withheld_until_ms = 0;
	m->known = true;
	m->incarnation = vote->incarnation;
	m->doubted = 0;
	m->reason[0] = '\0';
	if (changed)
		tokens_forgotten(core);
	tokens_saw(core, vote->highest);
	m->highest = vote->highest;
	m->highest_sent_ms = m->links[vote->link].hello_sent_ms;
	m->registered_ms = m->highest_sent_ms;
	master_measured(core, m, vote);
	core->retry |= !m->registered;
	m->registered = core->now.ms < master_registered_until(core, m);
	if (!m->registered)
		master_hello(core, m, vote->link); /* that answer took too long to count */
	if (vote->admitted) {
		/* Admitted after a change that we did not see: our leases may be missing there. */
		m->reclaim |= changed;
		if (m->state != MASTER_ADMITTED || changed || !m->links[vote->link].identified) {
			m->links[vote->link].identified = true;
			master_admitted(core, m);
		}
		return;
	}
	/* Calls that waited for this link need not wait for the end of the guard. */
	core->retry |= !m->links[vote->link].identified;
	m->links[vote->link].identified = true;
	if (changed || !m->guarding) {
		m->guard_until_ms = terms_guard_until(core, first);
		m->admit_at_ms = m->guard_until_ms;
	}
	m->guarding = true;
	if (changed || m->state != MASTER_GUARDED)
		master_guard(core, m);
}

/* Every master has to hear what this daemon knows of the set; the answer says whether it is a member. */
static void
master_spread(struct core *core)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *m = &core->masters[i];

		if (m->state == MASTER_AWAY || m->id == 0 ||
			(m->enrolled && !masterset_changes(core) && !masterset_unsure(core)))
			continue;
		m->hello_at_ms = core->now.ms;
		master_arm(core, m);
	}
}

static void
master_hello_soon(struct core *core, struct master *m)
{
	int64_t at_ms = core->now.ms + master_hello_again_ms(core);

	if (at_ms >= m->hello_at_ms)
		return;
	m->hello_at_ms = at_ms;
	master_arm(core, m);
}

/* False: the master belongs to another set, is not to be used now, or is sent HELLO again. */
static bool
master_of_set(struct core *core, struct master *m, const struct vote *vote)
{
	enum membership membership = masterset_told(core, m, vote);
	char why[MASTER_REASON_MAX];

	if (membership == MEMBERSHIP_COPY) {
		masterset_why_copied(core, m, vote->id, why, sizeof(why));
		master_refuse(core, m, why, (struct slice){NULL, 0});
	} else if (membership == MEMBERSHIP_OTHER)
		master_refuse(core, m, masterset_why(core), (struct slice){NULL, 0});
	else if (membership == MEMBERSHIP_AGAIN)
		master_repeat(core, m, vote);
	else if (membership == MEMBERSHIP_APART && memory_lacks_others(core, m))
		master_refuse(core, m,
			"lost its memory, and too few of the other masters are there to confirm the set: "
			"it counts again when they are back",
			(struct slice){NULL, 0});
	if (masterset_waits(core, m))
		master_hello_soon(core, m);
	if (masterset_news(core))
		master_spread(core);
	return membership == MEMBERSHIP_FINE;
}

static bool
master_twin_refused(struct core *core, struct master *m, bool idle)
{
	const struct master *twin = master_twin(core, m, idle);
	char also[32];

	if (twin == NULL)
		return false;
	assert(twin != m);
	(void)snprintf(also, sizeof(also), "it is also master %u", twin->index + 1);
	master_refuse(core, m, "is the same server as another: name independent ones", slice_of(also));
	return true;
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
 * on their way. Until all links reach the same one, leases asked for on different links exclude nobody. */
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

static void
master_good(struct core *core, struct master *m, const struct vote *vote)
{
	master_works(core, m, vote);
	master_refuses(m, vote);
	slice_text(m->run, sizeof(m->run), vote->run);
	if (master_several(m, vote)) {
		master_refuse(core, m,
			"has a name that leads to several servers in turn: name one server, a Sentinel or a "
			"cluster",
			(struct slice){NULL, 0});
		return;
	}
	if (!masterset_known_twin(core, m) && !master_twin_refused(core, m, false) &&
		master_of_set(core, m, vote))
		master_hello_answered(core, m, vote);
}

/* The stored nonce may be that of a later HELLO of ours, sent on another link, through another slot or to
 * another address of the same server. Then the master is sent HELLO once more: at once, or soon if a later
 * HELLO is under way. */
static void
master_cloned(struct core *core, struct master *m, const struct vote *vote)
{
	bool again;

	assert(vote->hello == HELLO_CLONED);
	slice_text(m->run, sizeof(m->run), vote->text);
	if (masterset_known_twin(core, m) || master_twin_refused(core, m, true))
		return;
	if (m->index >= core->settings.masters) { /* no member: the reason may be told later */
		master_refuse(core, m, hello_text[HELLO_CLONED], (struct slice){NULL, 0});
		return;
	}
	again = nonces_recall(core, m) || vote->attempt != m->hello_serial;
	if (again && !master_hello_under_way(core, m)) {
		master_hello(core, m, vote->link);
	} else if (again || master_unanswered(core, m)) {
		master_hello_soon(core, m);
	} else {
		emit_master_note(core, NOTE_CLONED, m, 0, -1, hello_text[HELLO_CLONED]);
		core->ended = true;
	}
}

/* Whether it is connected, and takes no leases yet, or no longer: then its latest error says why. */
static bool
master_is_unused(const struct master *m)
{
	return m->state == MASTER_REGISTERING || m->state == MASTER_REFUSED;
}

static void
master_hello_vote(struct core *core, struct master *m, const struct vote *vote)
{
	assert(vote->op == CALL_HELLO);
	m->links[vote->link].hello_under_way = false;
	if (!m->links[vote->link].up)
		return;
	if (vote->outcome == OUTCOME_YES && terms_answered(core, m, vote))
		masters_hello(core);
	if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_GOOD)
		master_good(core, m, vote);
	else if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_CLONED)
		master_cloned(core, m, vote);
	else if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_OTHERSET)
		(void)master_of_set(core, m, vote);
	else if (vote->outcome == OUTCOME_YES)
		master_refuse(core, m, hello_text[vote->hello], vote->text);
	else if (vote->outcome == OUTCOME_DEMOTED || (vote_is_error(vote) && master_is_unused(m)))
		master_refuse(core, m, "answers with an error", vote->text);
	else {
		m->failing |= vote_is_error(vote);
		m->hello_at_ms = core->now.ms + master_hello_again_ms(core);
		master_arm(core, m);
	}
}

static void
master_admit_vote(struct core *core, struct master *m, const struct vote *vote)
{
	assert(vote->op == CALL_ADMIT);
	if (!m->admitting || vote->attempt != m->admit_serial)
		return;
	m->admitting = false;
	if (vote->outcome == OUTCOME_YES && m->state == MASTER_GUARDED) {
		tokens_saw(core, vote->highest);
		m->highest = vote->highest;
		/* From now on it takes an offer. */
		if (!core->masterset->agreed)
			m->hello_at_ms = core->now.ms;
		master_admitted(core, m);
		return;
	}
	master_admit_later(core, m, master_hello_again_ms(core));
}

void
master_vote(struct core *core, struct master *m, const struct vote *vote)
{
	if (vote->op == CALL_HELLO)
		master_hello_vote(core, m, vote);
	else
		master_admit_vote(core, m, vote);
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
	/* The clocks of the other masters show whether ours stood still. */
	for (unsigned i = 0; i < core->settings.masters; i++)
		if (&core->masters[i] != m)
			master_hello_all(core, &core->masters[i]);
	master_doubt(core, m);
	return true;
}

/* A memory stores the highest token before it tells it: a memory that has less went back. */
static void
master_told(struct master *m, int64_t token)
{
	if (token > m->mark && token <= TOKEN_MOST)
		m->mark = token;
}

void
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
	master_told(m, vote->token_last);
	master_told(m, vote->highest);
	if (vote_is_error(vote))
		master_complains(core, m, vote->text);
	/* Is it the server, or this name alone? */
	if (vote_is_error(vote) && vote->op != CALL_HELLO && !m->failing && m->state != MASTER_AWAY)
		master_hello_soon(core, m);
	if (vote->op != CALL_HELLO &&
		(vote->outcome == OUTCOME_FORGOTTEN || vote->outcome == OUTCOME_DEMOTED))
		master_doubt(core, m);
}

void
master_admit(struct core *core, struct master *m, int64_t floor)
{
	assert(m->state == MASTER_GUARDED && !m->admitting);
	/* Tokens after the guard are above all that were seen before it. */
	assert(floor > core->quorum->highest);
	for (unsigned i = 0; i < core->settings.links; i++) {
		if (!m->links[i].identified)
			continue;
		m->admitting = true;
		m->admit_serial = ++m->serial;
		master_call(core, &(struct call){.op = CALL_ADMIT,
					  .master = m->index,
					  .link = i,
					  .attempt = m->admit_serial,
					  .incarnation = m->incarnation,
					  .token = floor});
		master_arm(core, m);
		return;
	}
	master_admit_later(core, m, master_hello_again_ms(core));
}

void
master_admit_later(struct core *core, struct master *m, int64_t ms)
{
	int64_t at = core->now.ms + ms;

	assert(ms >= 0);
	/* The guard may have grown since it was asked for. */
	m->admit_at_ms = at > m->guard_until_ms ? at : m->guard_until_ms;
	master_arm(core, m);
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
	if (core->now.ms >= m->hello_at_ms)
		master_hello_all(core, m);
	master_arm(core, m);
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
