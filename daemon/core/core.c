/* core: see core.h. Brings each event to its noun, timers first; it decides nothing about leases itself. */
#include "daemon/core/core.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/call.h"
#include "daemon/core/base/event.h"
#include "daemon/core/base/settings.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/families/deadlock.h"
#include "daemon/core/families/guest.h"
#include "daemon/core/families/latch.h"
#include "daemon/core/families/latch_quota.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/release.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lease/rules.h"
#include "daemon/core/leasing/acquire.h"
#include "daemon/core/leasing/renew.h"
#include "daemon/core/liveness/attach.h"
#include "daemon/core/liveness/ending.h"
#include "daemon/core/liveness/grace.h"
#include "daemon/core/liveness/heartbeat.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/masters/binding.h"
#include "daemon/core/masters/clock_jump.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/masterset/admission.h"
#include "daemon/core/masterset/masterset_request.h"
#include "daemon/core/masterset/registration.h"
#include "daemon/core/persist/ledger.h"
#include "daemon/core/persist/state_master.h"
#include "daemon/core/reconfigure.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "daemon/core/turn.h"
#include "daemon/core/verbs.h"
#include "daemon/core/view.h"
#include "proto/command.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STALL_MS 500 /* a turn as late as this is a stall; or as a tenth of a lease, if that is less */

void
core_unread(struct core *core, int64_t until_ms)
{
	core->unread_until_ms = until_ms;
}

bool
core_ended(const struct core *core)
{
	return core->ended;
}

unsigned
core_drew(const struct core *core)
{
	return core->drew;
}

bool
core_set_rules(struct core *core, const struct rule *rules, size_t count)
{
	int64_t longest_ms = 0;

	assert(count >= 1);
	if (!rules_replace(core, rules, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (terms_ruled(core, rules[i].lease_ms))
			masters_hello(core);
		if (rules[i].lease_ms > longest_ms)
			longest_ms = rules[i].lease_ms;
	}
	binding_ruled(core, longest_ms);
	ledger_drain(core);
	return true;
}

void
core_set_limits(struct core *core, const struct core_grace *grace, const struct core_per_user *per_user)
{
	core->settings.grace = *grace;
	core->settings.per_user = *per_user;
}

static void
lease_timer(struct core *core, struct lease *l)
{
	if (l->state == LEASE_HELD)
		grants_lose(core, l, renew_timer(core, l));
	else
		acquire_timer(core, l);
}

static void
run_timer(struct core *core, struct timer *t)
{
	/* timers_due() has taken it out. */
	assert(!timer_is_armed(t));
	switch (t->kind) {
	case TIMER_WAITER:
		queue_timer(core, OWNER_OF(t, struct waiter, timer));
		break;
	case TIMER_MLOCK:
		mlock_timer(core, OWNER_OF(t, struct mlock, timer));
		break;
	case TIMER_GRANT:
		grant_timer(core, OWNER_OF(t, struct terms, timer)->grant);
		break;
	case TIMER_LEASE:
		lease_timer(core, OWNER_OF(t, struct lease, timer));
		break;
	case TIMER_RELEASE:
		release_timer(core, OWNER_OF(t, struct release, timer));
		break;
	case TIMER_LATCH:
		latch_timer(core, OWNER_OF(t, struct latch, timer));
		break;
	case TIMER_LATCH_REQUEST:
		latch_request_timer(core, OWNER_OF(t, struct latch_request, timer));
		break;
	case TIMER_MASTER:
		admission_timer(core, OWNER_OF(t, struct master, timer));
		break;
	case TIMER_GRACE:
		grace_timer(core, OWNER_OF(t, struct session, grace_timer));
		break;
	case TIMER_HEARTBEAT:
		heartbeat_timer(core, OWNER_OF(t, struct session, heartbeat_timer));
		break;
	case TIMER_LATCH_QUOTA:
		latch_quota_end(core, OWNER_OF(t, struct latch_quota, timer));
		break;
	case TIMER_DEFERRED_CHECKS:
		deadlock_timer(core);
		break;
	case TIMER_RULES:
		rules_timer(core);
		break;
	case TIMER_ENDING:
		ending_timer(core);
		break;
	case TIMER_RESCAN:
		rescan_timer(core);
		break;
	case TIMER_MASTERS:
		masterset_timer(core);
		break;
	default:
		assert(false && "a timer of no kind");
	}
}

static int64_t
stall_least_ms(const struct core *core)
{
	int64_t tenth_ms = core->settings.lease_max_ms / 10;

	return tenth_ms < STALL_MS ? tenth_ms : STALL_MS;
}

/* Due timers run before the event: a late turn must find its leases expired, not renewed (R3). */
static void
run_timers(struct core *core, int64_t late_ms)
{
	struct timer *t;
	bool stalled;

	assert(!core->ended);
	if (timers_first(&core->timers) > core->now.ms)
		return;
	stalled = late_ms >= stall_least_ms(core);
	if (stalled)
		core->awake_since_ms = core->now.ms;
	while ((t = timers_due(&core->timers, core->now.ms)) != NULL) {
		run_timer(core, t);
		if (core->quorum->reconfigured)
			reconfigure(core);
	}
	schedule(core);
	if (stalled)
		emit_note(core, NOTE_STALLED, NULL, NULL, 0, late_ms, NULL);
}

static void
take_lease_vote(struct core *core, struct lease *l, const struct vote *vote)
{
	enum lease_state state = l->state;

	if ((state != LEASE_ACQUIRING && state != LEASE_HELD) || !lease_answered(core, l, vote))
		return;
	if (state == LEASE_HELD)
		grants_lose(core, l, renew_vote(core, l, vote));
	else
		acquire_vote(core, l, vote);
}

/* A grant of a master whose clock jumped is released. If a lease is missing there, the jump may have ended
 * it. Until a HELLO tells the master of the jump, its memory may be given up for one that takes reclaims.
 */
static enum outcome
clock_jump_outcome(const struct vote *vote, bool doubted)
{
	if (vote->op == CALL_ACQUIRE && vote->outcome == OUTCOME_YES)
		return OUTCOME_UNKNOWN;
	if (doubted && vote->outcome == OUTCOME_NO &&
		(vote->op == CALL_RENEW || vote->op == CALL_ADOPT || vote->op == CALL_LATCH))
		return OUTCOME_FORGOTTEN;
	return vote->outcome;
}

/* Whether this is a grant by a memory that has changed since, or by a master that cannot be used, as a later
 * answer says: its clock may have jumped, or it may evict keys. Then leases of others may have ended there
 * before their time. Such a grant is released. */
static bool
is_outdated(const struct core *core, const struct lease *l, const struct vote *vote)
{
	const struct master *m = &core->masters[vote->master];

	return vote->op == CALL_ACQUIRE && vote->outcome == OUTCOME_YES && l->round != NULL &&
	       (l->round->questions[vote->master].incarnation != m->incarnation ||
		       m->state == MASTER_REFUSED);
}

/* The clock of a master has jumped: leases end earlier than was counted, if those of a majority have. */
static void
take_jump(struct core *core)
{
	for (unsigned i = 0; i < core->settings.masters; i++) {
		int64_t ms = clock_jump_take_off(core, &core->masters[i]);

		if (ms > 0)
			rescan_shorten(core, &core->masters[i], ms);
	}
}

/* What needs the only master to stay the only one; NULL: nothing. */
static const char *
single_because(const struct core *core)
{
	if (latch_known(core))
		return "latches are known here, and are stored by one master alone: wait until they are over";
	if (rules_single(&core->leases->rules))
		return "a rule has interop: redisson or python-redis-lock, whose locks have a single master: "
		       "no other can be added";
	return NULL;
}

static void
take_vote(struct core *core, const struct vote *vote)
{
	struct master *m = &core->masters[vote->master];
	struct resource *r;
	struct lease *l;
	struct vote believed;

	assert(vote->link < core->settings.links && vote->op < CALL_OP_COUNT);
	assert(vote->master < CORE_SLOTS_MAX);
	core->calls -= core->calls > 0;
	if (master_clock_jumped(core, m, vote)) {
		registration_jumped(core, m);
		take_jump(core);
	}
	if (m->doubted != 0 || master_withheld(m)) {
		believed = *vote;
		believed.outcome = clock_jump_outcome(vote, m->doubted != 0);
		vote = &believed;
	}
	if (master_answered(core, m, vote))
		registration_doubt(core, m);
	switch (vote->op) {
	case CALL_HELLO:
		if (!core->quorum->left)
			registration_answered(core, m, vote);
		return;
	case CALL_ADMIT:
		if (!core->quorum->left)
			admission_answered(core, m, vote);
		return;
	case CALL_RELEASE:
		release_vote(core, vote);
		return;
	case CALL_LEAVE:
	case CALL_ENTER:
		return;
	case CALL_LATCH:
		latch_vote(core, vote);
		return;
	default:
		r = names_find_hashed(&core->leases->names, vote->name, vote->hash);
		/* No adapter may forget the hash: the answer would be lost. */
		assert(r != NULL || names_find(&core->leases->names, vote->name) == NULL);
		l = r == NULL ? NULL : resource_lease(core, r, vote->attempt);
		if (l != NULL && is_outdated(core, l, vote)) {
			believed = *vote;
			believed.outcome = OUTCOME_UNKNOWN;
			vote = &believed;
		}
		if (l != NULL)
			take_lease_vote(core, l, vote);
		if (vote->op == CALL_ADOPT)
			release_adopt_vote(core, vote);
	}
}

/* Another daemon waits for this name. */
static void
name_wanted(struct core *core, struct resource *r)
{
	struct lease *l;

	for (l = resource_next_lease(r, NULL); l != NULL; l = resource_next_lease(r, l))
		lease_want(core, l);
}

/* The bytes of an event end with it, and those of a call do not. */
static struct slice
name_copy(struct core *core, struct slice name)
{
	struct copy {
		struct freelist_link freed;
		void *dead; /* the freelist writes up to here */
		char bytes[];
	} *copy = freelist_must(core, sizeof(*copy) + name.n);

	memcpy(copy->bytes, name.p, name.n);
	freelist_retire(core, &copy->freed);
	return (struct slice){copy->bytes, name.n};
}

static void
name_called(struct core *core, struct resource *r, const struct event *event)
{
	struct lease *l = r == NULL ? NULL : resource_asking(r);

	assert(event->type == EVENT_WAKE && event->master < core->settings.masters);
	if (r == NULL || (r->demand->count == 0 && (l == NULL || l->state == LEASE_NONE)))
		lease_leave_stale_queue(core, name_copy(core, event->name), event->master);
	else if (l != NULL)
		acquire_called(core, l, event->master);
}

static void
take_inbox(struct core *core, const struct event *event)
{
	struct resource *r = names_find(&core->leases->names, event->name);

	if (event->master >= core->settings.masters)
		return; /* a hint of a server that has left the set */
	if (event->type == EVENT_WAKE)
		name_called(core, r, event);
	else if (r != NULL)
		name_wanted(core, r);
}

/* Events of a connection. If its end has been handled already, there is nothing to do. */
static void
take_conn(struct core *core, const struct event *event)
{
	struct conn *conn = conn_find(core, event->conn);

	if (conn == NULL)
		return;
	switch (event->type) {
	case EVENT_PEER:
		assert(event->peer != NULL);
		attach_peer(core, conn, event->peer);
		return;
	case EVENT_NO_PUSH:
		conn->no_push = event->no_push;
		return;
	case EVENT_FINISH:
		attach_finish(core, conn);
		return;
	case EVENT_CLOSE:
		attach_close(core, conn, event->end);
		return;
	case EVENT_ALIVE:
		conn_alive(core, conn);
		return;
	case EVENT_BIND:
		assert(event->process.pid != 0);
		conn_alive(core, conn);
		attach_bind(core, conn, &event->process);
		return;
	case EVENT_MASTERS:
		assert(event->masters != NULL);
		conn_alive(core, conn);
		masterset_asked(core, conn->id, event->masters, single_because(core));
		return;
	default:
		assert(event->type == EVENT_COMMAND && event->command != NULL);
		conn_alive(core, conn);
		verb_run(core, conn, event->command);
	}
}

static void
take_event(struct core *core, const struct event *event)
{
	struct master *m = &core->masters[event->master];

	assert(event->master < CORE_SLOTS_MAX);
	switch (event->type) {
	case EVENT_OPEN:
		assert(event->peer != NULL);
		attach_open(core, event->conn, event->peer);
		return;
	case EVENT_RETURN:
		attach_return(core, event->conn, &event->keep, event->no_push);
		return;
	case EVENT_PEER:
	case EVENT_NO_PUSH:
	case EVENT_FINISH:
	case EVENT_CLOSE:
	case EVENT_ALIVE:
	case EVENT_BIND:
	case EVENT_MASTERS:
	case EVENT_COMMAND:
		take_conn(core, event);
		return;
	case EVENT_BREAK:
		assert(event->command != NULL && event->command->token > 0);
		break_event(core, event->command);
		return;
	case EVENT_ELSEWHERE:
		assert(event->whose != NULL);
		named_session_elsewhere(core, event->whose, event->text);
		return;
	case EVENT_EXIT:
		attach_exit(core, &event->process);
		return;
	case EVENT_UNSEEN:
		attach_unseen(core, &event->process);
		return;
	case EVENT_LINK_UP:
		registration_link_up(core, m, event->link);
		return;
	case EVENT_LINK_DOWN:
		registration_link_down(core, m, event->link, event->text);
		return;
	case EVENT_FLUSHED:
		registration_doubt(core, m);
		return;
	case EVENT_SUBSCRIBED:
		core->retry = true;
		return;
	case EVENT_VOTE:
		assert(event->vote != NULL);
		take_vote(core, event->vote);
		return;
	case EVENT_WAKE:
	case EVENT_WANT:
		take_inbox(core, event);
		return;
	case EVENT_LATCH:
		latch_wake(core, event->name);
		return;
	case EVENT_DRAIN:
		drain_event(core, event->conn, event->waits);
		return;
	case EVENT_TIMER:
		return;
	}
}

/* The calls of this step could undo what the other process has at the masters. */
static void
drop_calls(struct actions *actions)
{
	size_t n = 0;

	for (size_t i = 0; i < actions->n; i++) {
		if (actions->list[i].type != ACTION_CALL)
			actions->list[n++] = actions->list[i];
	}
	actions->n = n;
}

/* Every hold is lost, and nothing is released at the masters. */
static void
end_all(struct core *core)
{
	struct session *s, *next;
	const struct grant *g;

	assert(core->ended && core->actions != NULL);
	drop_calls(core->actions);
	HASH_ITER (hh, core->sessions->all, s, next) {
		LIST_FOREACH (g, &s->grants, in_session)
			loss_add(core, s, g, LOSS_CLONED, true);
	}
}

void
core_step(struct core *core, struct now now, const struct event *event, struct actions *actions)
{
	int64_t due_at_ms = core->due_at_ms;

	/* Not reentrant. */
	assert(core->actions == NULL);
	freelist_flush(core);
	(void)reserve_fill(&core->reserve);
	assert(now.ms >= core->now.ms);
	core->now = now;
	core->random = now.random[0];
	core->drew = 0;
	if (core->ended)
		return;
	core->actions = actions;
	if (core->resumes)
		state_resume(core);
	run_timers(core, now.ms - due_at_ms);
	take_event(core, event);
	if (core->quorum->reconfigured)
		reconfigure(core);
	if (core->ended)
		end_all(core);
	else
		schedule(core);
	if (core->drain == DRAIN_ENDS)
		drain_leave(core);
	if (core->changed != 0)
		ledger_drain(core);
	core->actions = NULL;
	/* A timer that was armed for a time in the past is not late. */
	core->due_at_ms = timers_first(&core->timers) > now.ms ? timers_first(&core->timers) : now.ms;
}
