/* ending: see ending.h. The end of a session, which gives up what it holds in parts. */
#include "daemon/core/liveness/ending.h"

#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/peer.h"
#include "daemon/core/base/ration.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/liveness/liveness.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define END_HOLDS_FEW 16 /* a session gives up or forgets so many in any case: one with few ends at once */
#define END_CHECKS    16 /* holds of a name, or sessions, that a request checks */
#define END_TICK_MS   1

/* Holds that were given up, and losses that were forgotten, in this millisecond. */
static size_t
ending_given_up(const struct core *core)
{
	return core->liveness->ended_holds.ms == core->now.ms ? core->liveness->ended_holds.count : 0;
}

static void
ending_give_up(struct core *core, struct grant *g, enum end end)
{
	(void)ration_take(&core->liveness->ended_holds, core->now.ms, 1);
	if (end == END_ABANDONED)
		(void)grant_abandon(core, g);
	else
		grant_release(core, g);
}

/* How many holds one session may give up now, or losses it may forget. A daemon that ends takes all at once.
 */
static size_t
ending_share(const struct core *core)
{
	size_t most = core->settings.end_holds, taken = ending_given_up(core);

	if (core->drain == DRAIN_ENDS)
		return SIZE_MAX;
	if (taken + END_HOLDS_FEW < most)
		return most - taken;
	return most < END_HOLDS_FEW ? most : END_HOLDS_FEW;
}

/* Fetches the memory of the holds behind this one: thousands of them are in no cache. */
static void
grants_expect(const struct grant *g)
{
	const struct grant *next = LIST_NEXT(g, in_session), *then;

	if (next == NULL)
		return;
	/* A lease lies within its name. */
	for (int at = -64; at <= 64; at += 64)
		__builtin_prefetch((const char *)next->lease + at);
	then = LIST_NEXT(next, in_session);
	__builtin_prefetch(then);
	__builtin_prefetch((const char *)then + 64);
}

/* True: it holds nothing any more. */
static bool
ending_part(struct core *core, struct session *s, enum end end)
{
	for (size_t most = ending_share(core); most > 0 && !LIST_EMPTY(&s->grants); most--) {
		grants_expect(LIST_FIRST(&s->grants));
		ending_give_up(core, LIST_FIRST(&s->grants), end);
	}
	return LIST_EMPTY(&s->grants);
}

/* Forgets its losses, and passes on what is withheld because of them. True: there are none any more. */
static bool
ending_losses(struct core *core, struct session *s, enum end end)
{
	/* A client may go on by its id: then it has not ended the session. */
	bool passes = end != END_ABANDONED && s->named == NULL;

	assert(LIST_EMPTY(&s->grants));
	for (size_t most = ending_share(core); most > 0 && s->losses != NULL; most--) {
		(void)ration_take(&core->liveness->ended_holds, core->now.ms, 1);
		if (passes)
			loss_pass_on(core, s->losses);
		loss_forget(core, s, s->losses);
	}
	return s->losses == NULL;
}

static void
ending_arm(struct core *core)
{
	if (!timer_is_armed(&core->liveness->ending_timer) && !TAILQ_EMPTY(&core->liveness->ending))
		timer_arm(&core->timers, &core->liveness->ending_timer, core->now.ms + END_TICK_MS);
}

void
ending_enter(struct core *core, struct session *s, enum end end)
{
	struct grant *g;

	assert(!s->ends);
	s->ends = true;
	s->end = end;
	/* A renewal until their turn comes tells the client nothing more: no hold is withheld for longer. */
	if (end == END_ABANDONED) {
		LIST_FOREACH (g, &s->grants, in_session)
			grant_cut_off(core, g);
	}
	TAILQ_INSERT_TAIL(&core->liveness->ending, s, in_ending);
	ending_arm(core);
}

static void
ending_leave(struct core *core, struct session *s)
{
	if (!s->ends)
		return;
	s->ends = false;
	TAILQ_REMOVE(&core->liveness->ending, s, in_ending);
}

void
session_clear(struct core *core, struct session *s, enum end end)
{
	struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session)
		families_clear(core, conn);
	while (!LIST_EMPTY(&s->waiters))
		queue_remove(core, LIST_FIRST(&s->waiters));
	if (s->ends)
		end = s->end;
	if (!ending_part(core, s, end) || !ending_losses(core, s, end)) {
		if (!s->ends)
			ending_enter(core, s, end);
		return;
	}
	/* What it waited for and held was counted for it alone. */
	assert(s->grant_count == 0 && s->waiter_count == 0 && s->locks == 0);
}

/* No client finds it any more, and nothing keeps it. Its id stays for what is reported of its holds. */
static void
ending_hide(struct core *core, struct session *s)
{
	assert(s->conn_count == 0);
	session_unbind(core, s);
	if (s->grace_ms > 0 || named_session_is_found(s))
		user_grace_leave(core, s->user);
	s->grace_ms = 0;
	named_session_hide(core, s);
	core->liveness->heartbeats -= s->heartbeat_ms > 0;
	s->heartbeat_ms = 0;
	s->orphaned = false;
	timer_cancel(&core->timers, &s->grace_timer);
	timer_cancel(&core->timers, &s->heartbeat_timer);
	core->locks->watch->forget(core, s);
	session_changed(core, s);
}

/* It has given up all that it held, and no loss is remembered. */
static bool
session_is_clear(const struct session *s)
{
	return s->grant_count == 0 && s->losses == NULL;
}

static void
session_finish(struct core *core, struct session *s)
{
	assert(s->losses == NULL && s->loss_count == 0 && s->grant_count == 0);
	ending_leave(core, s);
	session_gone(core, s);
	named_session_leave(core, s);
	user_quit(core, s);
	assert(core->counts.sessions > 0 && core->liveness->heartbeats >= 0);
	session_remove(core, s);
	core->counts.sessions--;
	holds_done(s);
	asyncs_done(s);
	freelist_retire(core, &s->freed);
}

void
session_end(struct core *core, struct session *s, enum end end)
{
	assert(s->conn_count == 0);
	session_clear(core, s, end);
	ending_hide(core, s);
	if (session_is_clear(s))
		session_finish(core, s);
}

/* A part more of it; true: that was all. */
static bool
ending_go_on(struct core *core, struct session *s)
{
	session_clear(core, s, s->end);
	if (!session_is_clear(s))
		return false;
	if (s->conn_count == 0)
		session_finish(core, s);
	else
		ending_leave(core, s);
	return true;
}

void
ending_timer(struct core *core)
{
	const struct session *last = TAILQ_LAST(&core->liveness->ending, ending_list);
	struct session *s;
	bool round;

	/* The first one has its part in any case; the next time, the one behind it is the first. */
	do {
		s = TAILQ_FIRST(&core->liveness->ending);
		if (s == NULL)
			return;
		round = s == last;
		if (!ending_go_on(core, s)) {
			TAILQ_REMOVE(&core->liveness->ending, s, in_ending);
			TAILQ_INSERT_TAIL(&core->liveness->ending, s, in_ending);
		}
	} while (!round && ending_given_up(core) < core->settings.end_holds);
	ending_arm(core);
}

/* Holds of this name whose session ends. */
static void
ending_yield_name(struct core *core, struct slice name)
{
	const struct resource *r = names_find(&core->leases->names, name);
	struct grant *g = r == NULL ? NULL : resource_next_grant(r, NULL), *next;

	for (unsigned checks = 0; g != NULL && checks < END_CHECKS; checks++, g = next) {
		next = resource_next_grant(r, g);
		if (g->session != NULL && g->session->ends)
			ending_give_up(core, g, g->session->end);
	}
}

/* As many holds of a session of this user that ends: they count for the user no more. */
static void
ending_yield_user(struct core *core, const struct user *u, size_t holds)
{
	struct session *s = TAILQ_FIRST(&core->liveness->ending);

	for (unsigned checks = 0; s != NULL && (s->user != u || LIST_EMPTY(&s->grants));
		s = TAILQ_NEXT(s, in_ending)) {
		if (++checks == END_CHECKS)
			return;
	}
	for (; s != NULL && holds > 0 && !LIST_EMPTY(&s->grants); holds--)
		ending_give_up(core, LIST_FIRST(&s->grants), s->end);
}

bool
ending_yield(struct core *core, const struct conn *conn, const struct command *c)
{
	if (TAILQ_EMPTY(&core->liveness->ending) || core->drain == DRAIN_ENDS ||
		(c->verb != VERB_LOCK && c->verb != VERB_MLOCK))
		return false;
	if (c->verb == VERB_LOCK)
		ending_yield_name(core, c->name);
	for (size_t i = 0; c->verb == VERB_MLOCK && i < c->name_count; i++)
		ending_yield_name(core, c->names[i]);
	ending_yield_user(core, conn->session->user, c->verb == VERB_LOCK ? 1 : c->name_count);
	return true;
}
