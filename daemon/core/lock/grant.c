/* grant: see grant.h. A hold is answered, or becomes part of an MLOCK, in the step in which it begins. */
#include "daemon/core/lock/grant.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/changes.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/holds.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/loss.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/slow.h"
#include "daemon/core/lock/withheld.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

_Static_assert(OWNER_BYTES_MAX <= UINT8_MAX, "a hold has 8 bits for the length of its OWNER");
_Static_assert(WHY_BYTES_MAX <= GRANT_WHY_MAX, "and so many for that of its WHY");

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
after(int64_t now_ms, int64_t ms)
{
	assert(ms >= 0);
	return ms > 0 ? now_ms + ms : TIMER_NEVER;
}

static struct terms *
terms_new(struct core *core, struct grant *g)
{
	struct terms *t = freelist_must(core, sizeof(*t));

	assert(!g->bounded);
	timer_init(&t->timer, TIMER_GRANT);
	t->grant = g;
	t->granted_ms = g->granted_ms;
	t->ends_ms = TIMER_NEVER;
	t->ceiling_at_ms = TIMER_NEVER;
	t->claim_ends_ms = TIMER_NEVER;
	t->long_at_ms = TIMER_NEVER;
	t->announced_until_ms = TIMER_NEVER;
	g->terms = t;
	g->bounded = true;
	return t;
}

struct terms *
grant_bound(struct core *core, struct grant *g)
{
	return g->bounded ? g->terms : terms_new(core, g);
}

static void
terms_end(struct core *core, struct terms *t)
{
	if (t == NULL)
		return;
	timer_cancel(&core->timers, &t->timer);
	freelist_retire(core, &t->freed);
}

/* LEASE and MAXHOLD are upper bounds; the rule's max-hold is one more. */
void
grant_begin(struct core *core, struct grant *g, int64_t lease_ms, int64_t max_hold_ms, int64_t claim_ms)
{
	int64_t now = core->now.ms, lease_end = after(now, lease_ms);
	int64_t ceiling = earlier(after(now, max_hold_ms), after(now, g->lease->resource->rule->max_hold_ms));
	struct terms *t;

	if (!g->bounded && lease_end == TIMER_NEVER && ceiling == TIMER_NEVER && claim_ms == 0)
		return;
	t = grant_bound(core, g);
	t->leased = lease_ms > 0;
	t->ends_why = lease_end <= ceiling && t->leased ? LOSS_LEASE : LOSS_MAXHOLD;
	t->ceiling_at_ms = ceiling;
	t->ends_ms = earlier(lease_end, ceiling);
	assert(t->ends_ms > now);
	assert(t->ends_ms <= t->ceiling_at_ms);
	t->claim_ends_ms = after(now, claim_ms);
	terms_arm(core, t);
	grant_watch(core, g);
}

void
grant_free(struct grant *g)
{
	free(grant_terms(g));
	if (g->session == NULL)
		free(g->last);
	free(g);
}

void
grants_free(struct lease *l)
{
	struct grant *g;

	while ((g = l->grants) != NULL) {
		DL_DELETE2(l->grants, g, before, after);
		grant_free(g);
	}
}

static struct grant *
grant_new(struct core *core, struct lease *l, const struct waiter *w, int64_t token)
{
	struct grant *g = freelist_new(core, offsetof(struct grant, bytes) + w->owner_n + w->why_n);
	int64_t claim_ms = named_session_offer_ms(w->session, w->lease_ms, w->claim_ms);
	bool bounded = w->part != NULL || w->lease_ms > 0 || w->max_hold_ms > 0 || claim_ms > 0 ||
		       l->resource->rule->max_hold_ms > 0 || l->resource->rule->long_hold_ms > 0;

	assert(token > 0 && w->owner_n <= UINT8_MAX && w->why_n <= GRANT_WHY_MAX);
	if (g == NULL)
		return NULL;
	memcpy(g->bytes, w->bytes, (size_t)w->owner_n + w->why_n);
	g->owner_n = (uint8_t)w->owner_n;
	g->why_n = w->why_n & GRANT_WHY_MAX;
	g->lease = l;
	g->session = w->session;
	g->kind = w->kind;
	g->token = token;
	g->count = 1;
	g->granted_ms = core->now.ms;
	if (!bounded)
		return g;
	(void)terms_new(core, g);
	if (w->part == NULL)
		grant_begin(core, g, w->lease_ms, w->max_hold_ms, claim_ms);
	return g;
}

static void
grant_answer(struct core *core, struct waiter *w, struct grant *g)
{
	assert(g->session == w->session);
	if (w->part != NULL) {
		family_of_parts(core)->won(core, w, g);
		return;
	}
	if (w->conn == NULL) {
		g->unannounced = true;
		if (g->session->named == NULL)
			return;
		grant_bound(core, g)->claim_ends_ms = earlier(w->until_ms, grant_claim_ends_ms(g));
		terms_arm(core, g->terms);
		return;
	}
	if (w->async) {
		struct push push = {.type = PUSH_GRANT, .code = CODE_COUNT, .token = g->token};

		push.ms = w->validity ? grant_announced_ms(core, g) : -1;
		push.id = waiter_id(w);
		push.name = resource_name(g->lease->resource);
		emit_push(core, w->conn->id, &push);
		return;
	}
	if (w->validity)
		emit_validity(core, w->conn->id, g->token, grant_announced_ms(core, g));
	else
		emit_int(core, w->conn->id, g->token);
}

void
grant_join(struct core *core, struct grant *g)
{
	struct lease *l = g->lease;
	struct session *s = g->session;
	const struct lock_family *family = family_of_name(core, l->resource);

	assert(l->state == LEASE_HELD);
	assert(g->count > 0 && g->token > 0);
	DL_APPEND2(l->grants, g, before, after);
	l->resource->grant_count++;
	if (family->held != NULL)
		family->held(l);
	if (s == NULL) {
		withheld_add(core, g);
		return;
	}
	LIST_INSERT_HEAD(&s->grants, g, in_session);
	s->grant_count++;
	holds_add(core, s, g);
	user_take(s, l->permits);
	core->counts.grants++;
	starts_add(&core->locks->hold_starts, grant_since_ms(g));
	grant_changed(core, g);
}

void
grant_give(struct core *core, struct lease *l, struct waiter *w, int64_t token)
{
	struct session *s = w->session;
	bool async = w->async, orphaned = w->part == NULL && w->conn == NULL;
	struct grant *g;
	struct reply full;

	assert(l->state == LEASE_HELD && l->permits == w->permits);
	assert(l->kind == w->kind || (l->kind == KIND_EXCLUSIVE && w->kind == KIND_SHARED));
	assert(l->grants == NULL || (w->kind == KIND_SHARED && l->grants->kind == KIND_SHARED));
	/* In order of arrival, on a lease that is valid, and with a token that no other hold has. */
	assert(w == TAILQ_FIRST(&queue_of(l->resource)->waiters));
	assert(lease_held(l)->valid_until_ms > core->now.ms && token == lease_held(l)->token - 1);
	if (queue_end_unpushable(core, w))
		return;
	g = grant_new(core, l, w, token);
	if (g == NULL) {
		reply_error(&full, CODE_LIMIT, "out of memory: try again later");
		queue_answer(core, w, &full);
		return;
	}
	grant_join(core, g);
	grant_answer(core, w, g);
	grant_note(core, NOTE_GRANTED, g, grant_valid_ms(core, g), NULL)->span_ms =
		core->now.ms - w->since_ms;
	queue_remove(core, w);
	/* Waits of any session may depend on this hold; a blocked session does not give it back. */
	if (async || orphaned)
		core->locks->watch->check(core, s);
}

struct grant *
grant_any(const struct core *core, const struct resource *r, struct session *s, struct slice owner)
{
	return r == NULL || r->grant_count == 0 ? NULL : holds_find(core, s, r, owner);
}

struct grant *
resource_next_grant(const struct resource *r, const struct grant *g)
{
	const struct lease *l = g == NULL ? NULL : g->lease;
	struct grant *next = g == NULL ? NULL : g->after;

	assert(l == NULL || (l->resource == r && l->state == LEASE_HELD));
	while (next == NULL && (l = resource_next_lease(r, l)) != NULL)
		next = l->grants;
	return next;
}

struct grant *
grant_with(const struct resource *r, int64_t token)
{
	struct grant *g = NULL;

	while ((g = resource_next_grant(r, g)) != NULL) {
		if (g->token == token)
			return g;
	}
	return NULL;
}

struct grant *
grant_find(const struct core *core, const struct resource *r, struct session *s, struct slice owner)
{
	struct grant *g = grant_any(core, r, s, owner);

	return g == NULL || part_of(g) != NULL ? NULL : g;
}

bool
grant_claim(struct core *core, struct grant *g)
{
	/* A withheld hold belongs to no session that could show anything. */
	assert(g->session != NULL);
	if (!g->unannounced && grant_claim_ends_ms(g) == TIMER_NEVER)
		return false;
	g->unannounced = false;
	grant_changed(core, g);
	if (g->bounded) {
		g->terms->claim_ends_ms = TIMER_NEVER;
		terms_arm(core, g->terms);
	}
	return true;
}

void
grant_defer_claim(struct core *core, struct grant *g, int64_t ms)
{
	struct terms *t = grant_terms(g);

	assert(g->session != NULL && ms > 0);
	if (t == NULL || t->claim_ends_ms == TIMER_NEVER) {
		(void)grant_claim(core, g);
		return;
	}
	g->unannounced = false;
	if (t->claim_ends_ms < core->now.ms + ms)
		t->claim_ends_ms = core->now.ms + ms;
	terms_arm(core, t);
}

/* Until when the hold is surely good. */
static int64_t
grant_until_ms(const struct grant *g)
{
	return earlier(lease_held(g->lease)->valid_until_ms, grant_ends_ms(g));
}

int64_t
grant_valid_ms(const struct core *core, const struct grant *g)
{
	return grant_until_ms(g) - core->now.ms;
}

int64_t
grant_announced_ms(const struct core *core, const struct grant *g)
{
	int64_t left = grant_valid_ms(core, g);
	int64_t announced = left - drift_ms(left);

	return announced > 0 ? announced : 0;
}

void
grant_extend(struct core *core, struct grant *g, int64_t ms)
{
	int64_t wanted = core->now.ms + ms, relied_ms = grant_relied_until_ms(g);
	struct terms *t = grant_terms(g);
	bool named = g->session->named != NULL;

	assert(t != NULL && t->leased && wanted > core->now.ms);
	if (named && wanted < relied_ms)
		wanted = relied_ms;
	if (wanted > t->ceiling_at_ms)
		t->ends_why = LOSS_MAXHOLD;
	else if (!named || wanted > t->ends_ms)
		t->ends_why = LOSS_LEASE;
	else if (wanted < t->ends_ms)
		t->ends_why = LOSS_SHORTENED;
	t->ends_ms = earlier(wanted, t->ceiling_at_ms);
	terms_arm(core, t);
}

void
grant_share(struct core *core, struct grant *g)
{
	if (g->kind != KIND_EXCLUSIVE)
		return;
	g->kind = KIND_SHARED;
	grant_changed(core, g);
	dirty_add(&core->dirty, &g->lease->resource->item);
}

int64_t
grant_relied_until_ms(const struct grant *g)
{
	int64_t before_ms = g->bounded ? g->terms->announced_until_ms : TIMER_NEVER;

	if (g->unannounced || part_of(g) != NULL)
		return 0;
	return earlier(earlier(lease_announced_until_ms(g->lease), grant_ends_ms(g)), before_ms);
}

void
grant_cut_off(struct core *core, struct grant *g)
{
	assert(g->session != NULL);
	/* Nothing has been announced since then to a holder that was cut off earlier. */
	grant_bound(core, g)->announced_until_ms = grant_relied_until_ms(g);
	assert(g->terms->announced_until_ms <= lease_announced_until_ms(g->lease));
}

void
grant_reconnected(struct grant *g)
{
	assert(g->session != NULL);
	if (g->bounded)
		g->terms->announced_until_ms = TIMER_NEVER;
}

static void
grant_leave_session(struct core *core, struct grant *g)
{
	assert(g->session->grant_count > 0 && core->counts.grants > 0);
	holds_remove(core, g->session, g);
	LIST_REMOVE(g, in_session);
	g->session->grant_count--;
	g->session = NULL;
	core->counts.grants--;
	starts_remove(&core->locks->hold_starts, grant_since_ms(g));
}

static void
grant_end(struct core *core, struct grant *g)
{
	struct lease *l = g->lease;
	struct resource *r = l->resource;
	const struct lock_family *family = family_of_name(core, r);

	assert(l->state == LEASE_HELD && r->grant_count > 0);
	if (part_of(g) != NULL)
		family_of_parts(core)->lost(core, part_of(g));
	if (g->session != NULL) {
		user_give(g->session, l->permits);
		grant_leave_session(core, g);
	} else {
		if (g->last != NULL)
			freelist_retire(core, &g->last->freed);
		assert(g->bounded);
		user_end_withheld(core, g->left_by, l->permits);
		withheld_remove(core, g);
	}
	terms_end(core, grant_terms(g));
	DL_DELETE2(l->grants, g, before, after);
	r->grant_count--;
	if (family->released != NULL)
		family->released(l);
	dirty_add(&core->dirty, &r->item);
	grant_gone(core, g);
}

void
grant_leave(struct core *core, struct grant *g)
{
	assert(g->count > 0);
	if (--g->count == 0)
		grant_release(core, g);
	else
		grant_changed(core, g);
}

void
grant_give_back(struct core *core, struct grant *g)
{
	struct session *s = g->session;
	struct slice name = resource_name(g->lease->resource), owner = grant_owner(g);
	int64_t token = g->token;
	bool last = g->count == 1;

	/* The name and the hold can be read until the next step. */
	grant_leave(core, g);
	if (last && s->named != NULL)
		loss_remember(core, s, name, owner, LOSS_RETURNED, true, token);
}

struct note *
grant_note(struct core *core, enum note_type type, const struct grant *g, int64_t ms, const char *text)
{
	struct note *note = emit_note(core, type, g->lease->resource, g->session, g->token, ms, text);

	note->owner = grant_owner(g);
	note->kind = g->kind;
	note->why = grant_why(g);
	note->span_ms = core->now.ms - grant_since_ms(g);
	return note;
}

void
grant_release(struct core *core, struct grant *g)
{
	assert(g->session != NULL);
	grant_note(core, NOTE_RELEASED, g, -1, NULL);
	grant_end(core, g);
}

/* The hold ended at the deadline that was announced to its holder, however late this daemon notices: another
 * session may have had the lock since then. */
static void
note_loss(struct core *core, const struct grant *g, enum loss_reason reason)
{
	struct note *lost = grant_note(core, NOTE_LOST, g, -1, loss_word(reason));
	int64_t late_ms = core->now.ms - grant_relied_until_ms(g);

	if (late_ms > 0) {
		lost->late_ms = late_ms;
		lost->span_ms = lost->span_ms > late_ms ? lost->span_ms - late_ms : 0;
	}
}

void
grant_lose(struct core *core, struct grant *g, enum loss_reason reason)
{
	assert(reason < LOSS_COUNT);
	if (g->session != NULL && !g->unannounced && part_of(g) == NULL) {
		/* The holder asked for the end of a LEASE or CLAIM: that does not close its connection. */
		loss_add(core, g->session, g, reason, !loss_is_chosen(reason));
		note_loss(core, g, reason);
	}
	grant_end(core, g);
}

int64_t
grant_withheld_until_ms(const struct grant *g)
{
	return g->unannounced || part_of(g) != NULL
		       ? 0
		       : grant_relied_until_ms(g) + g->lease->resource->rule->crash_delay_ms;
}

int64_t
grant_abandon(struct core *core, struct grant *g)
{
	int64_t relied_ms = grant_relied_until_ms(g), until_ms = grant_withheld_until_ms(g);
	struct session *s = g->session;
	struct terms *t;

	assert(s != NULL && part_of(g) == NULL && relied_ms <= lease_announced_until_ms(g->lease));
	if (until_ms <= core->now.ms) {
		grant_release(core, g);
		return 0;
	}
	grant_note(core, NOTE_WITHHELD, g, until_ms - core->now.ms, NULL);
	grant_leave_session(core, g);
	/* Its user is where the list of the session was. */
	user_withhold(s, g->lease->permits);
	g->left_by = s->user;
	g->last = freelist_new(core, sizeof(*g->last));
	if (g->last != NULL)
		g->last->peer = s->peer;
	withheld_add(core, g);
	t = grant_bound(core, g);
	t->announced_until_ms = relied_ms;
	t->ends_ms = until_ms;
	t->claim_ends_ms = TIMER_NEVER;
	t->long_at_ms = TIMER_NEVER;
	terms_arm(core, t);
	dirty_add(&core->dirty, &g->lease->resource->item);
	assert(g->session == NULL && g->terms->ends_ms == until_ms);
	return until_ms - core->now.ms;
}

void
grant_end_withheld(struct core *core, struct grant *g)
{
	assert(g->session == NULL);
	if (g->lease->resource->rule->crash_delay_ms == 0)
		grant_end(core, g);
}

/* The session loses it, and the name stays withheld. Returns for how long, ms. */
static int64_t
grant_lose_withheld(struct core *core, struct grant *g, enum loss_reason reason)
{
	struct note *lost;

	if (!g->unannounced)
		loss_add(core, g->session, g, reason, !loss_is_chosen(reason));
	lost = grant_note(core, NOTE_LOST, g, -1, loss_word(reason));
	if (grant_withheld_until_ms(g) > core->now.ms) {
		lost->span_ms = -1; /* WITHHELD tells it */
		return grant_abandon(core, g);
	}
	grant_end(core, g);
	return 0;
}

int64_t
grant_break(struct core *core, struct grant *g)
{
	assert(g->session != NULL || g->bounded);
	if (g->session == NULL)
		return grant_ends_ms(g) - core->now.ms;
	if (part_of(g) != NULL) {
		grant_lose(core, g, LOSS_BROKEN);
		return 0;
	}
	return grant_lose_withheld(core, g, LOSS_BROKEN);
}

void
grant_timer(struct core *core, struct grant *g)
{
	struct terms *t = grant_terms(g);

	/* The terms of a part begin when it is announced to its client. */
	assert(t != NULL && part_of(g) == NULL);
	slow_note_hold(core, g);
	if (core->now.ms < grant_ends_ms(g)) {
		terms_arm(core, t);
		return;
	}
	if (g->session == NULL)
		grant_end(core, g);
	else if (t->claim_ends_ms >= t->ends_ms)
		grant_lose(core, g, t->ends_why);
	else if (g->unannounced)
		grant_release(core, g);
	else if (g->session->named != NULL && grant_withheld_until_ms(g) > core->now.ms)
		(void)grant_lose_withheld(core, g, LOSS_CLAIM);
	else
		grant_lose(core, g, LOSS_CLAIM);
}

/* Until when a holder relies on the lease. If the masters' clocks were wrong and not ours, a holder relies on
 * what it was told until it hears of the loss; one that is cut off, to the end. */
static int64_t
lease_relied_ms(const struct lease *l)
{
	int64_t announced_ms = l->round != NULL ? round_held(l)->announced_until_ms : 0, until_ms = 0;

	for (const struct grant *g = l->grants; g != NULL && until_ms < announced_ms; g = g->after) {
		int64_t relied_ms = grant_relied_until_ms(g);

		if (relied_ms > until_ms)
			until_ms = relied_ms < announced_ms ? relied_ms : announced_ms;
	}
	assert(until_ms <= announced_ms);
	return until_ms;
}

/* Those whose terms were over before have ended by them, however late this daemon notices. */
static void
grants_end(struct core *core, struct lease *l, enum loss_reason reason)
{
	int64_t valid_until_ms = lease_held(l)->valid_until_ms;

	while (l->grants != NULL) {
		struct grant *g = l->grants;

		/* Its session has ended, so this loss is reported to no client. */
		if (g->session == NULL && grant_relied_until_ms(g) > core->locks->lost_until_ms)
			core->locks->lost_until_ms = grant_relied_until_ms(g);
		if (grant_ends_ms(g) <= valid_until_ms && grant_ends_ms(g) <= core->now.ms)
			grant_timer(core, g);
		else
			grant_lose(core, g, reason);
	}
}

void
grants_lose(struct core *core, struct lease *l, enum lease_loss why)
{
	static const enum loss_reason reasons[] = {
		[LEASE_EXPIRED] = LOSS_EXPIRED, [LEASE_TAKEN] = LOSS_TAKEN, [LEASE_REFUSED] = LOSS_REFUSED};
	int64_t from_ms;

	if (why == LEASE_KEPT)
		return;
	from_ms = lease_relied_ms(l);
	grants_end(core, l, reasons[why]);
	lease_lose(core, l, from_ms);
}
