/*
 * slow: tells of waits and holds that have reached the threshold of their rule, slow-wait and long-hold,
 * while they go on. See scheduler.h and grant.h. It only notes what it finds: no wait and no hold ends here.
 */
#include "daemon/core/lock/slow.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/reason.h"
#include "daemon/core/session/notes.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int64_t
slow_wait_at(const struct waiter *w)
{
	int64_t slow_ms = w->resource->rule->slow_wait_ms;

	return w->slow || slow_ms == 0 ? TIMER_NEVER : w->since_ms + slow_ms;
}

void
slow_note_wait(struct core *core, struct waiter *w)
{
	char reason[REPLY_TEXT_MAX];

	assert(!w->slow && core->now.ms >= slow_wait_at(w));
	w->slow = true;
	wait_reason(core, w, core->now.ms, reason, sizeof(reason));
	emit_tag_note(core, NOTE_SLOW_WAIT, w->resource, w->session, waiter_owner(w), 0,
		core->now.ms - w->since_ms, emit_words(core, reason));
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
terms_arm(struct core *core, struct terms *t)
{
	assert(t->grant->bounded && t->grant->terms == t);
	timer_arm(&core->timers, &t->timer, earlier(grant_ends_ms(t->grant), t->long_at_ms));
	grant_changed(core, t->grant);
}

void
grant_watch(struct core *core, struct grant *g)
{
	int64_t long_at_ms = g->lease->resource->rule->long_hold_ms;

	if (long_at_ms == 0)
		return;
	long_at_ms += grant_since_ms(g);
	/* A name of an MLOCK may have been held for long when the MLOCK is answered. */
	grant_bound(core, g)->long_at_ms = long_at_ms > core->now.ms ? long_at_ms : core->now.ms + 1;
	terms_arm(core, g->terms);
}

void
slow_note_hold(struct core *core, struct grant *g)
{
	struct terms *t = grant_terms(g);
	char waiting[REPLY_TEXT_MAX];

	assert(t != NULL);
	if (core->now.ms < t->long_at_ms)
		return;
	/* A hold that is withheld has ended for its holder. */
	assert(g->session != NULL);
	t->long_at_ms = TIMER_NEVER;
	(void)snprintf(waiting, sizeof(waiting), "%u wait here%s", g->lease->resource->demand->count,
		lease_wanted(g->lease) ? ", and another daemon waits" : "");
	grant_note(core, NOTE_LONG_HOLD, g, core->now.ms - grant_since_ms(g), emit_words(core, waiting));
}
