/*
 * deadlock: see deadlock.h. Called when a wait begins; writes nothing but the marks of its search.
 *
 * Three steps, over marks in the sessions themselves, so that no memory is needed:
 *   1. meet everybody who stands and can be reached from the session that begins to wait;
 *   2. free whoever can go on once those that are free have, until nobody else can;
 *   3. among the rest, find the shortest way from the session back to itself.
 *
 * Grants go in the order of the queue, so who waits is served unless something that is held stays held. Of
 * those ahead only an ASYNC wait of a session that stands counts: nobody will give back what it is given.
 */
#include "daemon/core/deadlock.h"

#include "daemon/core/bundle.h"
#include "daemon/core/emit.h"
#include "daemon/core/grave.h"
#include "daemon/core/lease.h"
#include "daemon/core/queue.h"
#include "daemon/core/share.h"
#include "proto/escape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS_MAX 20000 /* at connections, holds and waiters: a millisecond or two */
#define LOOKS_FEW 64    /* at what a session has, before a search */
#define NAME_MAX  33    /* bytes of a lock's name in the text, NUL included */
#define LABEL_MAX 17    /* and of a session's */
#define WHO_MAX   (LABEL_MAX + 32)
#define LEG_MAX   (NAME_MAX + WHO_MAX + 32)
#define GAP_MAX   32 /* what stands for legs that are left out */

struct search {
	const struct core *core;
	uint64_t id;
	size_t looks;         /* left; 0: given up */
	struct session *met;  /* who stands, the last one first */
	struct session *next; /* to be looked at, */
	struct session **end; /* and behind the last of them */
	struct session *at;   /* who is looked at */
	const struct session *target;
	bool closed;     /* the way has led back to it: */
	struct leg last; /* thus */
};

/* Told of a session that keeps w from being answered; ahead: by a wait of its own, else by a hold. True: that
 * is enough. */
typedef bool on_keeper(struct search *search, struct session *keeper, const struct waiter *w, bool ahead);

static bool
search_look(struct search *search)
{
	if (search->looks > 0)
		search->looks--;
	return search->looks > 0;
}

static void
search_put(struct search *search, struct session *s)
{
	s->mark.next = NULL;
	*search->end = s;
	search->end = &s->mark.next;
}

static struct session *
search_take(struct search *search)
{
	struct session *s = search->next;

	if (s == NULL)
		return NULL;
	search->next = s->mark.next;
	if (search->next == NULL)
		search->end = &search->next;
	return s;
}

/* The wait that keeps a connection busy for as long as it takes; NULL: it is free, or soon will be. */
static const struct waiter *
conn_wait(const struct conn *conn)
{
	const struct waiter *w = conn->bundle != NULL ? bundle_wait(conn->bundle) : conn->blocked;

	return w == NULL || w->once ? NULL : w;
}

static bool
session_stands(struct search *search, const struct session *s)
{
	const struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (!search_look(search) || conn_wait(conn) == NULL)
			return false;
	}
	return s->conn_count > 0;
}

/* As far as is known. */
static bool
session_stuck(const struct search *search, const struct session *s)
{
	return s != NULL && s->mark.search == search->id && !s->mark.free;
}

/* ---- who keeps a wait from being answered ---- */

/* ASYNC waits ahead of it; readers only where a writer stands between. */
static bool
each_ahead(struct search *search, const struct waiter *w, on_keeper *tell)
{
	const struct waiter *ahead = w;
	bool apart = w->kind != KIND_SHARED;

	if (w->resource->queue->async == 0)
		return false;
	while ((ahead = TAILQ_PREV(ahead, waiter_queue, in_resource)) != NULL && search_look(search)) {
		apart = apart || ahead->kind != KIND_SHARED;
		if (apart && ahead->async && !ahead->once && tell(search, ahead->session, w, true))
			return true;
	}
	return false;
}

/* Whether a hold is in its way, or in that of somebody ahead of it: readers are not in that of readers. */
static bool
wait_is_shut(struct search *search, const struct waiter *w)
{
	const struct waiter *ahead;

	if (w->kind != KIND_SHARED)
		return true;
	TAILQ_FOREACH (ahead, &w->resource->queue->waiters, in_resource) {
		if (!search_look(search) || !share_open(search->core, w->resource, ahead))
			return true;
		if (ahead == w)
			break;
	}
	return false;
}

static bool
each_holder(struct search *search, const struct waiter *w, on_keeper *tell)
{
	const struct lease *l;
	const struct grant *g;

	for (l = lease_next(w->resource, NULL); l != NULL; l = lease_next(w->resource, l)) {
		for (g = l->grants; g != NULL; g = g->after) {
			if (!search_look(search))
				return false;
			if (g->session != NULL && tell(search, g->session, w, false))
				return true;
		}
	}
	return false;
}

static bool
each_keeper(struct search *search, const struct waiter *w, on_keeper *tell)
{
	if (w->resource->grant_count > 0 && wait_is_shut(search, w) && each_holder(search, w, tell))
		return true;
	return each_ahead(search, w, tell);
}

/* ---- who stands ---- */

static bool
meet(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	(void)w;
	(void)ahead;
	if (keeper->mark.search == search->id || !session_stands(search, keeper))
		return false;
	keeper->mark = (struct mark){.search = search->id, .met = search->met};
	search->met = keeper;
	search_put(search, keeper);
	return false;
}

static void
meet_all(struct search *search, struct session *first)
{
	const struct session *s;
	const struct conn *conn;

	(void)meet(search, first, NULL, false);
	while ((s = search_take(search)) != NULL) {
		TAILQ_FOREACH (conn, &s->conns, in_session)
			(void)each_keeper(search, conn_wait(conn), meet);
	}
}

/* ---- who can go on ---- */

static bool
keeper_is_stuck(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	(void)w;
	(void)ahead;
	return session_stuck(search, keeper);
}

/* Of a semaphore so many permits that will not come back. */
static int64_t
permits_stuck(struct search *search, const struct resource *r)
{
	const struct lease *l;
	const struct grant *g;
	int64_t stuck = 0;

	for (l = lease_next(r, NULL); l != NULL; l = lease_next(r, l)) {
		for (g = l->grants; g != NULL; g = g->after) {
			if (search_look(search) && session_stuck(search, g->session))
				stuck += g->lease->permits;
		}
	}
	return stuck;
}

/* Whether the others are too few, for it or for somebody ahead of it. */
static bool
permits_lack(struct search *search, const struct waiter *w)
{
	const struct resource *r = w->resource;
	int64_t left = r->limit - permits_stuck(search, r);
	const struct waiter *ahead;

	if (left == r->limit && r->queue->async == 0)
		return false;
	TAILQ_FOREACH (ahead, &r->queue->waiters, in_resource) {
		if (!search_look(search) || (!ahead->once && ahead->permits > left))
			return true;
		if (ahead == w)
			break;
		if (ahead->async && !ahead->once && session_stuck(search, ahead->session))
			left -= ahead->permits;
	}
	return false;
}

static bool
wait_is_stuck(struct search *search, const struct waiter *w)
{
	return w->kind == KIND_PERMITS ? permits_lack(search, w) : each_keeper(search, w, keeper_is_stuck);
}

static bool
session_goes_on(struct search *search, const struct session *s)
{
	const struct conn *conn;

	TAILQ_FOREACH (conn, &s->conns, in_session) {
		if (!wait_is_stuck(search, conn_wait(conn)))
			return true;
	}
	return false;
}

/* Who is free has no place among those that were met. True: somebody was. */
static bool
free_some(struct search *search)
{
	struct session **at = &search->met, *s;
	bool any = false;

	while ((s = *at) != NULL && search->looks > 0) {
		if (!session_goes_on(search, s)) {
			at = &s->mark.met;
			continue;
		}
		s->mark.free = true;
		*at = s->mark.met;
		any = true;
	}
	return any;
}

static void
free_all(struct search *search)
{
	/* Who was met last stands at the end of a chain of waits, and frees the others one by one. */
	while (search->looks > 0 && free_some(search))
		continue;
}

/* ---- the way back ---- */

static bool
step_to(struct search *search, struct session *keeper, const struct waiter *w, bool ahead)
{
	const struct leg leg = {search->at, w, ahead};

	if (!session_stuck(search, keeper))
		return false;
	if (keeper == search->target) {
		search->last = leg;
		search->closed = true;
		return true;
	}
	if (keeper->mark.leg.from == NULL) {
		keeper->mark.leg = leg;
		search_put(search, keeper);
	}
	return false;
}

static bool
find_way_back(struct search *search, const struct waiter *w)
{
	const struct conn *conn;

	search->at = w->session;
	if (each_keeper(search, w, step_to))
		return true;
	while ((search->at = search_take(search)) != NULL) {
		TAILQ_FOREACH (conn, &search->at->conns, in_session) {
			if (each_keeper(search, conn_wait(conn), step_to))
				return true;
		}
	}
	return false;
}

/* ---- the circle in words ---- */

/* Escaped, and cut where it is too long. */
static const char *
write_text(char *out, size_t room, struct slice text)
{
	if (escape_length(text, ESCAPE_PLAIN) < room) {
		(void)escape_text(out, room, text, ESCAPE_PLAIN);
		return out;
	}
	strcpy(out + escape_text(out, room - 2, text, ESCAPE_PLAIN), "..");
	return out;
}

static const char *
write_who(char out[WHO_MAX], const struct session *s)
{
	char label[LABEL_MAX];
	unsigned long long id = s->id;

	if (s->peer.name[0] == '\0')
		(void)snprintf(out, WHO_MAX, "session %llu", id);
	else
		(void)snprintf(out, WHO_MAX, "session %llu (%s)", id,
			write_text(label, sizeof(label), slice_of(s->peer.name)));
	return out;
}

static const char *
write_leg(char out[LEG_MAX], const struct leg *leg, const struct session *to)
{
	char name[NAME_MAX], who[WHO_MAX];

	(void)snprintf(out, LEG_MAX, " waits for %s, %s %s",
		write_text(name, sizeof(name), resource_name(leg->wait->resource)),
		leg->ahead ? "behind" : "held by", write_who(who, to));
	return out;
}

/* The legs of the way were found from its end; links the sessions in its order, and counts them. */
static struct session *
turn_round(const struct search *search, size_t *count)
{
	struct session *first = NULL;

	*count = 0;
	for (struct session *s = search->last.from; s != search->target; s = s->mark.leg.from) {
		s->mark.next = first;
		first = s;
		++*count;
	}
	return first;
}

/* "session 1 waits for b, held by session 2, which waits for a, held by session 1". Of a long circle the
 * middle is left out. */
static void
name_circle(const struct search *search, struct reply *out)
{
	char text[REPLY_TEXT_MAX], leg[LEG_MAX], last[LEG_MAX], who[WHO_MAX];
	const char *which = "";
	size_t left, most = sizeof(text) - strlen(write_leg(last, &search->last, search->target));
	const struct session *s = turn_round(search, &left);
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", write_who(who, search->target));

	for (; s != NULL; s = s->mark.next, left--) {
		size_t gap = left > 1 ? GAP_MAX : 0;

		if (n + strlen(write_leg(leg, &s->mark.leg, s)) + 2 * sizeof(", which") + gap > most) {
			(void)snprintf(text + n, sizeof(text) - n, ", ... %zu more ...", left);
			which = ", which";
			break;
		}
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", which, leg);
		which = ", which";
	}
	reply_error(out, CODE_DEADLOCK, "%s%s%s%s", text, which, last,
		search->last.from == search->target ? ": no connection is left to unlock it" : "");
}

/* The text has to outlive the step. */
struct last_words {
	struct grave grave;
	_Alignas(8) char text[REPLY_TEXT_MAX]; /* behind what its grave takes */
};

static void
note_circle(struct core *core, const struct waiter *w, const struct reply *refusal)
{
	struct last_words *words = grave_new(core, sizeof(*words));

	if (words != NULL) {
		memcpy(words->text, refusal->text, sizeof(words->text));
		grave_bury(core, &words->grave);
	}
	emit_note(core, NOTE_DEADLOCK, w->resource, w->session, 0, -1, words == NULL ? NULL : words->text);
}

/* Whether anybody may wait for what a session has: else no way leads back to it. Of one that has much only a
 * search can tell. */
static bool
session_is_awaited(const struct session *s)
{
	size_t looks = LOOKS_FEW;
	const struct grant *g;
	const struct waiter *w;

	LIST_FOREACH (g, &s->grants, in_session) {
		if (g->lease->resource->queue->count > 0 || --looks == 0)
			return true;
	}
	LIST_FOREACH (w, &s->waiters, in_session) {
		if ((w->async && w->resource->queue->count > 1) || --looks == 0)
			return true;
	}
	return false;
}

/* Whether a session stands, and will for ever for all that is known. */
static bool
search_finds_stuck(struct search *search, struct core *core, struct session *s)
{
	*search = (struct search){.core = core, .id = ++core->searches, .looks = LOOKS_MAX, .target = s};
	search->end = &search->next;
	if (!session_stands(search, s))
		return false;
	meet_all(search, s);
	free_all(search);
	return !s->mark.free;
}

/* Whether this wait of it is one reason. Who was passed for another one is no way back for this one either.
 */
static bool
search_closes(struct search *search, struct core *core, const struct waiter *w, struct reply *out)
{
	if (!find_way_back(search, w) || search->looks == 0)
		return false;
	name_circle(search, out);
	note_circle(core, w, out);
	return true;
}

bool
deadlock_closes(struct core *core, const struct waiter *w, struct reply *out)
{
	struct session *s = w->session;
	struct search search;

	if (w->async || w->once || !session_is_awaited(s))
		return false;
	return search_finds_stuck(&search, core, s) && search_closes(&search, core, w, out);
}

/* One search for all its waits: they may be as many as its connections, and it is called for each that goes.
 */
void
deadlock_look(struct core *core, struct session *s)
{
	struct search search;
	struct reply refusal;
	struct waiter *w;

	if (!session_is_awaited(s) || !search_finds_stuck(&search, core, s))
		return;
	LIST_FOREACH (w, &s->waiters, in_session) {
		if (w->conn == NULL || w->async || w->once || !search_closes(&search, core, w, &refusal))
			continue;
		queue_answer(core, w, &refusal);
		return;
	}
}
