/*
 * queue: see queue.h. It only keeps the waiters; semaphore.c, share.c and mlock.c decide whose turn it
 * is.
 */
#include "daemon/core/lock/queue.h"

#include "daemon/core/base/action.h"
#include "daemon/core/base/alloc.h"
#include "daemon/core/base/base.h"
#include "daemon/core/base/dirty.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/base/map.h"
#include "daemon/core/base/starts.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/lease/leases.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/locks.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/lock/slow.h"
#include "daemon/core/masters/quorum.h"
#include "daemon/core/masters/usable.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/named_session.h"
#include "daemon/core/session/notes.h"
#include "daemon/core/session/session.h"
#include "daemon/core/session/sessions.h"
#include "daemon/core/session/user.h"
#include "proto/command.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- ASYNC waits by id: the table owns none of them ---- */

static uint64_t
wait_hash(const struct core *core, struct slice id)
{
	uint64_t hash = hash_secretly(core->secret, id);

	return hash != 0 ? hash : 1;
}

static bool
wait_is_of(const void *thing, const void *key)
{
	const struct slice *id = key;

	return slice_equal(waiter_id(thing), *id);
}

/* Makes the table of all ASYNC waits of the session; out of memory: no table. */
static void
asyncs_make(const struct core *core, struct session *s)
{
	struct waiter *w;

	assert(s->asyncs == NULL);
	s->asyncs = calloc(1, sizeof(*s->asyncs));
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->async)
			asyncs_add(core, w);
	}
}

struct waiter *
asyncs_find(const struct core *core, struct session *s, struct slice id)
{
	struct waiter *w;

	assert(id.n > 0);
	if (s->asyncs == NULL && s->waiter_count > ASYNCS_FEW)
		asyncs_make(core, s);
	if (s->asyncs != NULL)
		return map_search(s->asyncs, wait_hash(core, id), wait_is_of, &id);
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->async && slice_equal(waiter_id(w), id))
			return w;
	}
	return NULL;
}

void
asyncs_add(const struct core *core, struct waiter *w)
{
	struct session *s = w->session;

	assert(w->async);
	/* Without memory for one more, there is no table until the next lookup. */
	if (s->asyncs != NULL && map_add(s->asyncs, wait_hash(core, waiter_id(w)), w) != 0)
		asyncs_done(s);
}

void
asyncs_remove(const struct core *core, const struct waiter *w)
{
	struct session *s = w->session;

	assert(w->async);
	if (s->asyncs == NULL)
		return;
	map_remove(s->asyncs, wait_hash(core, waiter_id(w)), w);
	/* All waits count, as in asyncs_find(); if only ASYNC ones did, the table could come and go with each
	 * of them. */
	if (s->waiter_count <= ASYNCS_FEW / 2)
		asyncs_done(s);
}

void
asyncs_done(struct session *s)
{
	if (s->asyncs != NULL)
		map_done(s->asyncs);
	free(s->asyncs);
	s->asyncs = NULL;
}

/* ---- waiters ---- */

#define ATTEMPT_MS 1000 /* most between attempts: as often as a master is asked if all wake-ups are lost */

static uint16_t
store(char **at, struct slice from)
{
	assert(from.n <= UINT16_MAX);
	if (from.n > 0)
		memcpy(*at, from.p, from.n);
	*at += from.n;
	return (uint16_t)from.n;
}

static int64_t
queue_attempt_ms(const struct waiter *w)
{
	int64_t third = w->resource->rule->lease_ms / 3;

	return third < ATTEMPT_MS ? third : ATTEMPT_MS;
}

/* Whether its id may hold the name at another daemon, and its client is there to be notified. */
static bool
queue_may_ask_whose(const struct waiter *w)
{
	return w->session->named != NULL && w->conn != NULL && !w->once;
}

/* Arms the timer for the end of its WAIT, for its next attempt, for the next question whose the name is, or
 * for the rule's slow-wait. */
static void
queue_arm(struct core *core, struct waiter *w)
{
	int64_t at_ms = core->now.ms + queue_attempt_ms(w);
	int64_t slow_ms = slow_wait_at(w);

	if (w->once || w->retries < 0 || w->until_ms < at_ms)
		at_ms = w->until_ms;
	/* With RETRIES it is asked at an attempt. */
	if (w->retries < 0 && queue_may_ask_whose(w) && w->whose_at_ms < at_ms)
		at_ms = w->whose_at_ms > core->now.ms ? w->whose_at_ms : core->now.ms + 1;
	/* By another rule it may have been reached before. */
	if (slow_ms < at_ms)
		at_ms = slow_ms > core->now.ms ? slow_ms : core->now.ms + 1;
	timer_arm(&core->timers, &w->timer, at_ms);
}

/* The queue of the name, made if there is none. False: out of memory. */
static bool
queue_open(struct core *core, struct resource *r)
{
	struct queue *q;

	if (queue_of(r) != &core->locks->no_queue)
		return true;
	q = freelist_new(core, sizeof(*q));
	if (q == NULL)
		return false;
	TAILQ_INIT(&q->waiters);
	q->resource = r;
	TAILQ_INSERT_TAIL(&core->locks->queues, q, in_core);
	r->demand = &q->demand;
	return true;
}

/* The last waiter has left. */
static void
queue_close(struct core *core, struct resource *r)
{
	assert(queue_of(r) != &core->locks->no_queue && queue_of(r)->resource == r);
	assert(TAILQ_EMPTY(&queue_of(r)->waiters) && r->demand->once == 0 && queue_of(r)->async == 0);
	TAILQ_REMOVE(&core->locks->queues, queue_of(r), in_core);
	freelist_retire(core, &queue_of(r)->freed);
	r->demand = core->leases->no_demand;
}

/* The first waiter may be another one. */
static void
queue_front(struct queue *q)
{
	const struct waiter *first = TAILQ_FIRST(&q->waiters);

	q->demand.kind = first->kind;
	q->demand.permits = (int16_t)first->permits;
}

bool
queue_join(struct core *core, struct waiter *w)
{
	struct resource *r = w->resource;
	struct queue *q;

	if (!queue_open(core, r))
		return false;
	q = queue_of(r);
	/* In the order of arrival. */
	assert(TAILQ_EMPTY(&q->waiters) || TAILQ_LAST(&q->waiters, waiter_queue)->ticket < w->ticket);
	assert(q->demand.once <= q->demand.count && q->async <= q->demand.count);
	TAILQ_INSERT_TAIL(&q->waiters, w, in_resource);
	LIST_INSERT_HEAD(&w->session->waiters, w, in_session);
	if (w->async)
		asyncs_add(core, w);
	q->demand.count++;
	q->demand.once += w->once;
	q->async += w->async;
	queue_front(q);
	w->session->waiter_count++;
	if (w->conn != NULL)
		w->conn->waiters++;
	user_take(w->session, w->permits);
	core->counts.waiters++;
	starts_add(&core->locks->wait_starts, w->since_ms);
	return true;
}

static int
ticket_order(const void *a, const void *b)
{
	const struct waiter *const *x = a, *const *y = b;

	return (*x)->ticket < (*y)->ticket ? -1 : (*x)->ticket > (*y)->ticket;
}

/* list: has room for all waits of the session. */
static void
session_sort(struct session *s, struct waiter **list)
{
	size_t n = 0;

	for (; !LIST_EMPTY(&s->waiters); n++) {
		list[n] = LIST_FIRST(&s->waiters);
		LIST_REMOVE(list[n], in_session);
	}
	assert(n == s->waiter_count);
	qsort(list, n, sizeof(struct waiter *), ticket_order);
	for (size_t i = 0; i < n; i++)
		LIST_INSERT_HEAD(&s->waiters, list[i], in_session);
}

bool
queue_sort_waits(struct core *core)
{
	size_t most = 1;
	struct waiter **list;
	struct session *s;

	for (s = core->sessions->all; s != NULL; s = s->hh.next)
		most = s->waiter_count > most ? s->waiter_count : most;
	list = calloc(most, sizeof(struct waiter *));
	if (list == NULL)
		return false;
	for (s = core->sessions->all; s != NULL; s = s->hh.next)
		session_sort(s, list);
	free(list);
	return true;
}

/* A session here holds the name, so that no other daemon does. */
static bool
queue_is_held(const struct waiter *w)
{
	return w->resource->grant_count > 0 && w->resource->limit == 0;
}

/* A LOCK of a name that is held here is an attempt that was refused, as one that the masters refuse. */
static void
queue_count_lock(struct waiter *w)
{
	if (w->retries > 0 && queue_is_held(w))
		w->retries--;
}

struct waiter *
queue_add(struct core *core, struct resource *r, struct conn *conn, const struct command *command,
	int64_t until_ms, bool once)
{
	size_t bytes = command->owner.n + command->why.n + command->id.n;
	struct waiter *w = freelist_new(core, sizeof(*w) + bytes);
	char *at;

	assert((command->kind == KIND_PERMITS) == (r->limit > 0));
	assert(command->permits >= 0 && command->permits <= r->limit);
	/* A connection waits for one answer at a time, except for ASYNC ones. */
	assert(conn->blocked == NULL || command->id.n > 0);
	assert(until_ms >= core->now.ms && (!once || until_ms != TIMER_NEVER));
	if (w == NULL)
		return NULL;
	at = w->bytes;
	w->resource = r;
	w->session = conn->session;
	w->conn = conn;
	w->kind = command->kind;
	w->permits = command->permits;
	w->retries = command->retries;
	w->until_ms = until_ms;
	w->since_ms = core->now.ms;
	w->whose_at_ms = core->now.ms + queue_attempt_ms(w);
	w->ticket = ++core->locks->tickets;
	w->lease_ms = command->lease_ms;
	w->max_hold_ms = command->max_hold_ms;
	w->claim_ms = command->claim_ms;
	w->once = once;
	w->async = command->id.n > 0;
	w->validity = command->validity;
	w->owner_n = store(&at, command->owner);
	w->why_n = store(&at, command->why);
	w->id_n = store(&at, command->id);
	timer_init(&w->timer, TIMER_WAITER);
	if (!queue_join(core, w)) {
		free(w);
		return NULL;
	}
	queue_count_lock(w);
	queue_arm(core, w);
	if (!w->async)
		conn->blocked = w;
	return w;
}

/* The connection could not ask for anything while it waited. */
static void
queue_unblock(struct core *core, struct conn *conn)
{
	assert(conn->blocked != NULL);
	/* Each wait has its answer before a drain ends, so no session of a guest ends with this one. */
	assert(core->drain != DRAIN_ENDS);
	conn->blocked = NULL;
	conn_answered(core, conn);
}

/* Its connection waits for it no more. */
static void
queue_part(struct core *core, struct waiter *w)
{
	struct conn *conn = w->conn;

	assert(conn->waiters > 0);
	w->conn = NULL;
	conn->waiters--;
	if (conn->blocked == w)
		queue_unblock(core, conn);
}

void
queue_remove(struct core *core, struct waiter *w)
{
	struct resource *r = w->resource;
	struct queue *q = queue_of(r);

	assert(q->demand.once >= w->once && q->async >= w->async);
	assert(q->demand.count > 0 && w->session->waiter_count > 0 && core->counts.waiters > 0);
	timer_cancel(&core->timers, &w->timer);
	TAILQ_REMOVE(&q->waiters, w, in_resource);
	LIST_REMOVE(w, in_session);
	if (w->async)
		asyncs_remove(core, w);
	if (w->conn != NULL)
		queue_part(core, w);
	q->demand.once -= w->once;
	q->async -= w->async;
	if (--q->demand.count == 0)
		queue_close(core, r);
	else
		queue_front(q);
	w->session->waiter_count--;
	user_give(w->session, w->permits);
	core->counts.waiters--;
	starts_remove(&core->locks->wait_starts, w->since_ms);
	dirty_add(&core->dirty, &r->item);
	freelist_retire(core, &w->freed);
}

static void
queue_notify(struct core *core, const struct waiter *w, const struct reply *reply)
{
	struct push push = {.type = PUSH_FAILED, .id = waiter_id(w), .name = resource_name(w->resource)};

	if (!w->async) {
		assert(w->conn->blocked == w);
		emit_reply(core, w->conn->id, reply);
		return;
	}
	if (reply->type == REPLY_INT || reply->type == REPLY_VALIDITY) {
		push.type = PUSH_GRANT;
		push.token = reply->n;
		push.ms = reply->type == REPLY_VALIDITY ? reply->ms : -1;
	}
	push.code = reply->type == REPLY_ERROR ? reply->code : CODE_COUNT;
	memcpy(push.text, reply->text, sizeof(push.text));
	emit_push(core, w->conn->id, &push);
}

void
queue_answer(struct core *core, struct waiter *w, const struct reply *reply)
{
	assert(reply->type == REPLY_NULL || reply->type == REPLY_ERROR || reply->type == REPLY_INT ||
		reply->type == REPLY_VALIDITY);
	if (w->part != NULL) {
		family_of_parts(core)->refused(core, w->part, reply);
		queue_remove(core, w);
		return;
	}
	if (reply->type == REPLY_NULL)
		emit_tag_note(core, NOTE_TIMEOUT, w->resource, w->session, waiter_owner(w), 0,
			core->now.ms - w->since_ms, NULL);
	if (w->conn != NULL)
		queue_notify(core, w, reply);
	if (w->halved && refusal_may_pass(reply))
		queue_orphan(core, w);
	else
		queue_remove(core, w);
}

bool
queue_end_unpushable(struct core *core, struct waiter *w)
{
	if (!w->async || w->conn == NULL || !w->conn->no_push)
		return false;
	assert(w->part == NULL);
	emit_close(core, w->conn->id);
	queue_remove(core, w);
	return true;
}

int64_t
queue_once_until(const struct core *core)
{
	return core->now.ms + 2 * master_patience_ms(core);
}

void
queue_make_once(struct core *core, struct waiter *w)
{
	int64_t until_ms = queue_once_until(core);

	if (w->once)
		return;
	/* An orphaned waiter waits for its client, whatever it asked for. */
	assert(w->conn != NULL);
	w->once = true;
	w->resource->demand->once++;
	assert(w->resource->demand->once <= w->resource->demand->count);
	if (until_ms < w->until_ms)
		w->until_ms = until_ms;
	queue_arm(core, w);
	dirty_add(&core->dirty, &w->resource->item);
}

void
queue_halve(struct core *core, struct waiter *w)
{
	w->halved |= !w->once && w->session->named != NULL && w->part == NULL;
	queue_make_once(core, w);
}

void
queue_refused(struct core *core, struct resource *r, const struct reply *refusal)
{
	struct waiter *w, *next;

	assert(refusal->type == REPLY_NULL || refusal->type == REPLY_ERROR);
	TAILQ_FOREACH_SAFE (w, &queue_of(r)->waiters, in_resource, next) {
		if (!w->once && w->retries == 0)
			queue_answer(core, w, refusal);
		else if (w->retries > 0)
			w->retries--;
	}
}

/*
 * A client whose LOCK was granted and whose answer was lost may send it again to the daemon of another host,
 * where it waits for itself. So the daemons that have the name are asked. Many ids may wait: the first
 * question comes after the time of an attempt, and each further one after twice as long a wait. held: a
 * session here holds the name, so that no other daemon does. False: it was not time for a question.
 */
static bool
queue_ask_whose(struct core *core, struct waiter *w, bool held)
{
	struct session *s = w->session;

	if (!queue_may_ask_whose(w) || core->now.ms < w->whose_at_ms)
		return false;
	w->whose_at_ms = core->now.ms + (core->now.ms - w->since_ms);
	if (!held)
		emit_whose(
			core, &(struct whose){s->user->id, resource_name(w->resource), named_session_id(s)});
	return true;
}

static bool
queue_keeps_waiting(struct core *core, struct waiter *w)
{
	bool held = queue_is_held(w), attempt = held && w->retries >= 0;

	assert(!timer_is_armed(&w->timer));
	if (core->now.ms >= slow_wait_at(w)) {
		slow_note_wait(core, w);
		/* That was no attempt. */
		if (core->now.ms < w->until_ms) {
			queue_arm(core, w);
			return true;
		}
	}
	if (queue_ask_whose(core, w, held) && w->retries < 0 && core->now.ms < w->until_ms) {
		queue_arm(core, w);
		return true;
	}
	/* Without RETRIES only the end of its WAIT ends it, whatever its timer was armed for. */
	if (core->now.ms >= w->until_ms || (attempt && w->retries == 0))
		return false;
	w->retries -= attempt;
	queue_arm(core, w);
	return true;
}

void
queue_timer(struct core *core, struct waiter *w)
{
	struct reply refusal;

	if (queue_keeps_waiting(core, w))
		return;
	schedule_refusal(core, w, &refusal);
	if (!quorum_puts_off(core, &w->timer, &refusal))
		queue_answer(core, w, &refusal);
}

/* It is not once any more. */
static void
queue_patiently(struct core *core, struct waiter *w)
{
	if (!w->once)
		return;
	w->resource->demand->once--;
	w->once = w->halved = false;
	dirty_add(&core->dirty, &w->resource->item);
}

void
queue_orphan(struct core *core, struct waiter *w)
{
	assert(w->conn != NULL && w->conn->session == w->session);
	assert((!w->once || w->halved) && w->part == NULL);
	queue_part(core, w);
	queue_patiently(core, w);
	if (w->session->named == NULL)
		return;
	w->retries = COMMAND_RETRIES_ANY;
	w->until_ms = named_session_claim_until(core, w->session);
	queue_arm(core, w);
}

void
queue_supersede(struct core *core, struct waiter *w)
{
	struct reply refusal;

	assert(w->conn != NULL && w->part == NULL && !w->async);
	named_session_refusal(&refusal, false);
	emit_reply(core, w->conn->id, &refusal);
	queue_part(core, w);
	queue_patiently(core, w);
}

bool
queue_is_repeated(const struct waiter *w, const struct command *c)
{
	return w->part == NULL && w->kind == c->kind && w->permits == c->permits &&
	       slice_equal(resource_name(w->resource), c->name) && slice_equal(waiter_owner(w), c->owner) &&
	       slice_equal(waiter_id(w), c->id);
}

void
queue_adopt(struct core *core, struct waiter *w, struct conn *conn, const struct command *c, int64_t until_ms,
	bool once)
{
	assert(w->conn == NULL && !w->once && w->session == conn->session);
	assert(w->async || conn->blocked == NULL);
	assert(until_ms >= core->now.ms && (!once || until_ms != TIMER_NEVER));
	w->conn = conn;
	conn->waiters++;
	if (!w->async)
		conn->blocked = w;
	w->lease_ms = c->lease_ms;
	w->max_hold_ms = c->max_hold_ms;
	w->claim_ms = c->claim_ms;
	w->validity = c->validity;
	w->retries = c->retries;
	w->until_ms = until_ms;
	queue_count_lock(w);
	queue_arm(core, w);
	if (once)
		queue_make_once(core, w);
}

void
queue_answer_all(struct core *core, struct resource *r, const struct reply *reply)
{
	while (!TAILQ_EMPTY(&queue_of(r)->waiters))
		queue_answer(core, TAILQ_FIRST(&queue_of(r)->waiters), reply);
	assert(queue_of(r) == &core->locks->no_queue);
}
