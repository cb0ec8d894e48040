/*
 * registration: see registration.h. A master is sent HELLO again whenever its memory is in doubt, and not
 * used before it has answered.
 */
#include "daemon/core/masterset/registration.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/clock_jump.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/nonces.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/masterset_change.h"
#include "daemon/core/masterset/masterset_copies.h"
#include "daemon/core/masterset/masterset_memory.h"
#include "daemon/core/masterset/masterset_request.h"
#include "proto/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static const char *const hello_text[] = {
#define HELLO_RESULT(name, text) text,
	HELLO_RESULTS(HELLO_RESULT)
#undef HELLO_RESULT
};

/* HELLO on one link: which server is this, and does it remember us? */
static void
hello_ask(struct core *core, struct master *m, unsigned link)
{
	struct call hello;

	if (!master_hello(core, m, link, &hello))
		return;
	masterset_ask(core, m, link, &hello);
	master_call(core, &hello);
}

void
registration_ask_all(struct core *core, struct master *m)
{
	for (unsigned i = 0; i < core->settings.links; i++)
		hello_ask(core, m, i);
	m->hello_at_ms = core->now.ms + master_hello_every_ms(core);
	master_arm(core, m);
}

void
registration_doubt(struct core *core, struct master *m)
{
	if (master_doubt(core, m))
		registration_ask_all(core, m);
}

void
registration_jumped(struct core *core, struct master *m)
{
	/* The clocks of the other masters show whether ours stood still. */
	for (unsigned i = 0; i < core->settings.masters; i++)
		if (&core->masters[i] != m)
			registration_ask_all(core, &core->masters[i]);
	registration_doubt(core, m);
}

void
registration_link_up(struct core *core, struct master *m, unsigned link)
{
	master_link_up(core, m, link);
	hello_ask(core, m, link);
	master_arm(core, m);
}

void
registration_link_down(struct core *core, struct master *m, unsigned link, struct slice why)
{
	if (master_link_down(core, m, link, why))
		masterset_away(core, m);
}

/* Sends the master HELLO once more before it is used. Its tokens count from now on: with this answer it may
 * have been the last member to accept the set, which is then agreed on above the tokens of all members. */
static void
hello_repeat(struct core *core, struct master *m, const struct vote *vote)
{
	tokens_saw(core, vote->highest);
	hello_ask(core, m, vote->link);
}

/* What this HELLO shows of the clock, beside a jump. */
static void
hello_measured(struct core *core, struct master *m, const struct vote *vote)
{
	struct master_link *l = &m->links[vote->link];

	assert(!l->overtaken && l->hello_sent_ms == m->highest_sent_ms);
	offset_sample(&l->offset, master_offset_over_ms(core), l->hello_sent_ms, vote->time_us);
	if (l->informed)
		clock_jump_caught_up(m);
	else if (m->off_ms > 0)
		hello_ask(core, m, vote->link); /* so that it catches up soon */
}

static void
hello_confirmed(struct core *core, struct master *m, const struct vote *vote)
{
	bool first = !m->known, changed = first || vote->incarnation != m->incarnation;

	assert(vote->hello == HELLO_GOOD);
	assert(m->links[vote->link].up && m->state != MASTER_AWAY);
	/* This HELLO left before the jump was seen, or may hide a jump. Or it was read before a jump that
	 * the older samples have on them: as a sample it would show that jump again. */
	if ((m->doubted != 0 && !changed && !m->links[vote->link].doubts) || m->links[vote->link].overtaken ||
		master_vague(core, m, vote->link)) {
		hello_repeat(core, m, vote);
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
	hello_measured(core, m, vote);
	core->retry |= !m->registered;
	m->registered = core->now.ms < master_registered_until(core, m);
	if (!m->registered)
		hello_ask(core, m, vote->link); /* that answer took too long to count */
	if (vote->admitted) {
		/* Admitted after a change that we did not see: our leases may be missing there. */
		m->reclaim |= changed;
		if (m->state != MASTER_ADMITTED || changed || !m->links[vote->link].identified) {
			m->links[vote->link].identified = true;
			master_admit(core, m, changed);
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
set_spread(struct core *core)
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

/* False: the master belongs to another set, is not to be used now, or is sent HELLO again. */
static bool
hello_of_set(struct core *core, struct master *m, const struct vote *vote)
{
	enum membership membership = masterset_answered(core, m, vote);
	char why[MASTER_REASON_MAX];

	if (membership == MEMBERSHIP_COPY) {
		masterset_why_copied(core, m, vote->id, why, sizeof(why));
		master_refuse(core, m, why, (struct slice){NULL, 0});
	} else if (membership == MEMBERSHIP_OTHER)
		master_refuse(core, m, masterset_why(core), (struct slice){NULL, 0});
	else if (membership == MEMBERSHIP_AGAIN)
		hello_repeat(core, m, vote);
	else if (membership == MEMBERSHIP_APART && memory_lacks_others(core, m))
		master_refuse(core, m,
			"lost its memory, and too few of the other masters are there to confirm the set: "
			"it counts again when they are back",
			(struct slice){NULL, 0});
	if (masterset_waits(core, m))
		master_hello_soon(core, m);
	if (masterset_news(core))
		set_spread(core);
	return membership == MEMBERSHIP_FINE;
}

static bool
hello_of_twin(struct core *core, struct master *m, bool idle)
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

static void
hello_good(struct core *core, struct master *m, const struct vote *vote)
{
	if (master_good(core, m, vote) && !masterset_known_twin(core, m) && !hello_of_twin(core, m, false) &&
		hello_of_set(core, m, vote))
		hello_confirmed(core, m, vote);
}

/* The stored nonce may be that of a later HELLO of ours, sent on another link, through another slot or to
 * another address of the same server. Then the master is sent HELLO once more: at once, or soon if a later
 * HELLO is under way. */
static void
hello_cloned(struct core *core, struct master *m, const struct vote *vote)
{
	bool again;

	assert(vote->hello == HELLO_CLONED);
	slice_text(m->run, sizeof(m->run), vote->text);
	if (masterset_known_twin(core, m) || hello_of_twin(core, m, true))
		return;
	if (m->index >= core->settings.masters) { /* no member: the reason may be told later */
		master_refuse(core, m, hello_text[HELLO_CLONED], (struct slice){NULL, 0});
		return;
	}
	again = nonces_recall(core, m) || vote->attempt != m->hello_serial;
	if (again && !master_hello_under_way(core, m)) {
		hello_ask(core, m, vote->link);
	} else if (again || master_unanswered(core, m)) {
		master_hello_soon(core, m);
	} else {
		emit_master_note(core, NOTE_CLONED, m, 0, -1, hello_text[HELLO_CLONED]);
		core->ended = true;
	}
}

/* Whether it is connected, and takes no leases yet, or no longer: then its latest error says why. */
static bool
is_unused(const struct master *m)
{
	return m->state == MASTER_REGISTERING || m->state == MASTER_REFUSED;
}

void
registration_answered(struct core *core, struct master *m, const struct vote *vote)
{
	assert(vote->op == CALL_HELLO);
	m->links[vote->link].hello_under_way = false;
	if (!m->links[vote->link].up)
		return;
	if (vote->outcome == OUTCOME_YES && terms_answered(core, m, vote))
		masters_hello(core);
	if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_GOOD)
		hello_good(core, m, vote);
	else if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_CLONED)
		hello_cloned(core, m, vote);
	else if (vote->outcome == OUTCOME_YES && vote->hello == HELLO_OTHERSET)
		(void)hello_of_set(core, m, vote);
	else if (vote->outcome == OUTCOME_YES) {
		master_refuse(core, m, hello_text[vote->hello], vote->text);
		m->mismatch = vote->hello == HELLO_MISMATCH;
	} else if (vote->outcome == OUTCOME_DEMOTED || (vote_is_error(vote) && is_unused(m)))
		master_refuse(core, m, "answers with an error", vote->text);
	else {
		m->failing |= vote_is_error(vote);
		m->hello_at_ms = core->now.ms + master_hello_again_ms(core);
		master_arm(core, m);
	}
}

void
registration_timer(struct core *core, struct master *m)
{
	master_timer(core, m);
	if (core->now.ms >= m->hello_at_ms)
		registration_ask_all(core, m);
	master_arm(core, m);
}
