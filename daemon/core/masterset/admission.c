/*
 * admission: see admission.h.
 */
#include "daemon/core/masterset/admission.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/master_note.h"
#include "daemon/core/masters/master_state.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/tokens.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/masterset.h"
#include "daemon/core/masterset/registration.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define FLOOR_RETRY_MS 50

/* The guard of m is over: asks again after ms. */
static void
admission_later(struct core *core, struct master *m, int64_t ms)
{
	int64_t at = core->now.ms + ms;

	assert(ms >= 0);
	/* The guard may have grown since it was asked for. */
	m->admit_at_ms = at > m->guard_until_ms ? at : m->guard_until_ms;
	master_arm(core, m);
}

/* The guard of m is over: asks to admit it with this floor. */
static void
admission_ask(struct core *core, struct master *m, int64_t floor)
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
	admission_later(core, m, master_hello_again_ms(core));
}

void
admission_answered(struct core *core, struct master *m, const struct vote *vote)
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
		master_admit(core, m, false);
		return;
	}
	admission_later(core, m, master_hello_again_ms(core));
}

/* What another master can still tell of the tokens given out. */
enum witness {
	WITNESS_SAID, /* it remembers from before the guard, and was asked after its end */
	WITNESS_MUTE, /* it cannot tell: it forgot too, or does not answer */
	WITNESS_OPEN  /* it may tell in a moment */
};

static enum witness
witness(const struct core *core, const struct master *m, const struct master *other)
{
	int64_t patience_ms = 2 * master_patience_ms(core);
	/* A hand-over takes down the links to all masters, and they come back one after the other. */
	bool returns = core->unread_until_ms != 0 && core->now.ms < core->unread_until_ms + patience_ms;
	bool late = core->now.ms >= m->guard_until_ms + patience_ms && !returns;

	/* Who forgot is no witness of what it forgot. */
	assert(m != other);
	if (other->state == MASTER_ADMITTED && other->highest_sent_ms >= m->guard_until_ms)
		return WITNESS_SAID;
	/* It remembers, and tells the daemons with other limits, which then admit m. */
	if (other->state == MASTER_REFUSED && other->mismatch)
		return WITNESS_OPEN;
	if (other->state == MASTER_GUARDED)
		return core->now.ms >= other->guard_until_ms ? WITNESS_MUTE : WITNESS_OPEN;
	if (late || (other->state == MASTER_AWAY && !returns) || other->state == MASTER_REFUSED)
		return WITNESS_MUTE;
	return WITNESS_OPEN;
}

/*
 * The guard of m is over. m may have forgotten tokens. Every token was raised on a majority, so each one is
 * known to any N - majority + 1 of the other masters. If too few remember, every reachable master and every
 * living daemon has been heard, and the wall clock has to do.
 */
static void
admission_decide(struct core *core, struct master *m)
{
	unsigned need = core->settings.masters - quorum_majority(core) + 1;
	unsigned said = 0, open = 0;

	assert(m->index < core->settings.masters && core->now.ms >= m->guard_until_ms);
	for (unsigned i = 0; i < core->settings.masters; i++) {
		struct master *other = &core->masters[i];
		enum witness w = other == m ? WITNESS_MUTE : witness(core, m, other);

		said += w == WITNESS_SAID;
		open += w == WITNESS_OPEN;
		if (w == WITNESS_OPEN && other->state == MASTER_ADMITTED)
			registration_ask_all(core, other);
	}
	assert(said + open < core->settings.masters);
	if ((said < need && open > 0)) {
		admission_later(core, m, FLOOR_RETRY_MS);
		return;
	}
	if (said < need && core->settings.masters > 1)
		emit_master_note(core, NOTE_MASTER_FLOOR, m, tokens_floor(core), -1,
			"too few other masters remember: tokens go on above the wall clock");
	admission_ask(core, m, tokens_floor(core));
}

void
admission_timer(struct core *core, struct master *m)
{
	registration_timer(core, m);
	/* Newcomers have no vote yet. */
	if (m->index < core->settings.masters && master_guard_over(core, m))
		admission_decide(core, m);
}
