/* waits: see waits.h. */
#include "tests/sim/judge/waits.h"

#include "tests/sim/fault/handover.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONCE_MS 4001 /* WAIT 0 takes as long as a master takes, and no longer */

static bool
is_at(const struct wait *v, const struct host *host)
{
	return v->conn->host == host && v->conn->host_life == host->life;
}

struct wait *
waits_find(struct world *w, const struct conn *c, const char *id)
{
	struct wait *v = w->checker.waits;
	while (v != NULL && !(v->conn == c && !v->stray && strcmp(v->id, id) == 0))
		v = v->next;
	return v;
}

struct wait *
waits_find_async(struct world *w, const struct conn *c)
{
	struct wait *found = NULL;
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (is_at(v, c->host) && strcmp(v->id, c->current.id) == 0 &&
			(v->stray ? v->session : conn_session(v->conn)) == conn_session(c) &&
			(found == NULL || found->stray))
			found = v;
	return found;
}

struct wait *
waits_find_asked(struct world *w, const struct conn *c)
{
	struct wait *v = w->checker.waits;
	while (v != NULL && !(v->conn == c && !v->stray && v->serial == c->current.serial))
		v = v->next;
	return v;
}

struct wait *
waits_find_stray(
	struct world *w, const struct host *host, session_id session, unsigned name, struct slice owner)
{
	struct wait *v = w->checker.waits;
	while (v != NULL && !(v->stray && is_at(v, host) && v->session == session && v->name == name &&
				    slice_equal(slice_of(v->owner), owner)))
		v = v->next;
	return v;
}

struct wait *
waits_next_stray(const struct wait *of, struct slice owner)
{
	struct wait *v = of->next;
	while (v != NULL && !(v->stray && is_at(v, of->conn->host) && v->session == of->session &&
				    v->name == of->name && slice_equal(slice_of(v->owner), owner)))
		v = v->next;
	return v;
}

void
waits_end(struct world *w, struct wait *wait)
{
	struct wait **at = &w->checker.waits;
	while (*at != wait)
		at = &(*at)->next;
	*at = wait->next;
	free(wait->was);
	free(wait);
}

void
waits_answered(struct world *w, struct wait *wait)
{
	struct wait *was = wait->was, *next = wait->next;
	if (was == NULL) {
		waits_end(w, wait);
		return;
	}
	*wait = *was;
	wait->next = next;
	wait->loose = true;
	free(was);
}

/* What a stray is, before a LOCK comes back to it. */
static struct wait *
copy_of(const struct wait *stray)
{
	struct wait *was = malloc(sizeof(*was));
	assert(was != NULL);
	free(stray->was);
	*was = *stray;
	was->was = NULL;
	return was;
}

/* What the same LOCK has waited for already, over a connection that is lost. */
static struct wait *
find_repeated(struct world *w, const struct conn *c)
{
	const struct request *r = &c->current;
	struct wait *v = w->checker.waits;
	while (v != NULL && !(v->stray && is_at(v, c->host) && v->conn->tag == c->tag && v->name == r->name &&
				    v->kind == r->kind && v->permits == r->permits &&
				    strcmp(v->owner, r->owner) == 0 && strcmp(v->id, r->id) == 0))
		v = v->next;
	return v;
}

bool
waits_repeats(struct world *w, const struct conn *c)
{
	return find_repeated(w, c) != NULL;
}

/* A lost connection's wait ends with the grace of its session, or before that with its own WAIT, which runs
 * on. */
static bool
is_over(const struct wait *v, const struct host *host)
{
	int64_t now_ms = host_ms(host);
	return now_ms >= v->kept_ms || now_ms >= v->until_ms;
}

bool
waits_has_place(struct world *w, const struct conn *c)
{
	const struct wait *v = find_repeated(w, c);
	return v != NULL && !v->loose && v->limit == c->current.limit && !is_over(v, c->host);
}

static struct wait *
add(struct world *w)
{
	struct wait *v = calloc(1, sizeof(*v)), **at = &w->checker.waits;
	assert(v != NULL);
	v->since_us = w->now_us;
	while (*at != NULL)
		at = &(*at)->next;
	*at = v;
	return v;
}

/* Which attempts its daemon may have made without a round that began since it came (3.29). */
static void
look_at_tries(struct wait *v, bool comes)
{
	struct resource_view view;
	const struct host *h = v->conn->host;
	bool known = core_view_resource(h->core, host_ms(h), slice_of(checker_name(v->name)), &view);
	v->had |= known && view.held;
	/* A round may go on that began for others, and what its daemon was told before then stands. */
	v->alone = comes && !(known && (view.held || view.waiters > 0 || strcmp(view.lease, "held") == 0 ||
					       strcmp(view.lease, "acquiring") == 0));
	/* Of a semaphore it is not the lease of a hold that asks. */
	v->asking |= comes && known && (v->limit > 0 || strcmp(view.lease, "acquiring") == 0);
}

void
waits_begin(struct world *w, struct conn *c)
{
	const struct request *r = &c->current;
	struct wait *v = find_repeated(w, c);
	int64_t wait_ms = r->wait_ms == COMMAND_WAIT_RULE ? host_rule(c->host, r->name)->wait_ms : r->wait_ms;
	bool free = wait_ms == 0 && v == NULL && fault_free_free(w, r->name);
	if (v == NULL) {
		v = add(w);
	} else {
		v->was = copy_of(v);
		v->loose |= is_over(v, c->host);
	}
	fault_free_touched(c->host, r->name);
	v->free_us = free ? w->well.free_us[r->name] : 0;
	v->touched = w->well.touched[r->name];
	v->here = w->well.here[c->host->index][r->name];
	v->conn = c;
	v->serial = r->serial;
	v->stray = false;
	v->name = r->name;
	memcpy(v->owner, r->owner, sizeof(v->owner));
	v->kind = r->kind;
	v->limit = r->limit;
	v->permits = r->permits;
	v->lease_ms = r->lease_ms;
	v->max_hold_ms = r->max_hold_ms;
	v->claim_ms = r->claim_ms;
	memcpy(v->id, r->id, sizeof(v->id));
	v->sent_us = r->sent_us;
	v->validity = r->validity;
	v->tries = r->tries;
	v->asking = v->had = false;
	look_at_tries(v, true);
	v->began = w->progress.asking[c->host->index][r->name].began;
	v->once = wait_ms == 0 || r->tries == 1;
	v->until_ms = INT64_MAX;
	if (wait_ms > 0)
		v->until_ms = host_ms(c->host) + wait_ms;
	if (v->once && v->until_ms > host_ms(c->host) + ONCE_MS)
		v->until_ms = host_ms(c->host) + ONCE_MS;
}

/* Whether nobody behind it may be served before it. */
static bool
has_its_place(const struct wait *v, const struct host *host)
{
	return is_at(v, host) && !v->conn->closing && !v->conn->ending && !v->loose &&
	       !(v->stray && is_over(v, host));
}

void
waits_check_order(struct world *w, const struct wait *granted)
{
	const struct wait *v = w->checker.waits;
	const struct host *host = granted->conn->host;
	fair_granted(w, granted);
	if (granted->loose)
		return;
	while (v != granted && !(v->name == granted->name && has_its_place(v, host)))
		v = v->next;
	if (v != granted)
		world_fail(w, "order: c%u is granted %s before c%u, who waits for longer",
			granted->conn->client->index, checker_name(granted->name), v->conn->client->index);
}

void
waits_finish(struct world *w, const struct conn *c)
{
	int64_t until_ms = host_ms(c->host) + ONCE_MS;
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		if (v->conn != c || v->stray)
			continue;
		v->once = true;
		if (v->until_ms > until_ms)
			v->until_ms = until_ms;
	}
}

void
waits_close(struct world *w, const struct conn *c)
{
	for (struct wait *v = w->checker.waits, *next; v != NULL; v = next) {
		next = v->next;
		if (v->conn == c && !v->stray)
			waits_end(w, v);
	}
}

void
waits_forget(struct world *w, const struct conn *c)
{
	for (struct wait *v = w->checker.waits, *next; v != NULL; v = next) {
		next = v->next;
		if (v->conn == c)
			waits_end(w, v);
	}
}

/* Of what cannot be had all who wait are told, also who is not there; how long the daemon believes it is its
 * own affair. */
static bool
is_refused(const struct world *w, const struct wait *v)
{
	return w->checker.refused[v->name][v->conn->host->index] == v->conn->host_life;
}

void
waits_refuse(struct world *w, const struct host *host, unsigned name)
{
	w->checker.refused[name][host->index] = host->life;
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next)
		v->loose |= v->stray && v->name == name && is_at(v, host);
}

void
waits_cut(struct world *w, const struct host *host, session_id session, int64_t kept_ms)
{
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (v->stray && v->session == session && is_at(v, host) && v->kept_ms > kept_ms)
			v->kept_ms = kept_ms;
}

void
waits_stray(struct world *w, const struct conn *c, session_id session, int64_t kept_ms)
{
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		if (v->conn != c || v->once || v->stray)
			continue;
		v->stray = true;
		/* Nobody is told that its RETRIES are over. */
		v->loose |= is_refused(w, v) || v->tries > 0;
		v->session = session;
		v->kept_ms = kept_ms;
	}
}

void
waits_had(struct world *w, const struct host *host, session_id session, unsigned name, const char *owner)
{
	for (struct wait *v = w->checker.waits; v != NULL; v = v->next)
		v->loose |= v->stray && is_at(v, host) && v->session == session && v->name == name &&
			    strcmp(v->owner, owner) == 0;
}

void
waits_drop(struct world *w, const struct host *host, session_id session)
{
	for (struct wait *v = w->checker.waits, *next; v != NULL; v = next) {
		next = v->next;
		if (v->stray && v->conn->host == host && v->session == session)
			waits_end(w, v);
	}
}

struct sought {
	session_id session;
	bool found;
};

static bool
seek(void *arg, const struct waiter_view *view)
{
	struct sought *sought = arg;
	sought->found |= view->session == sought->session;
	return !sought->found;
}

/* Whether the place is still there, when its time is over. */
static bool
is_kept(const struct wait *v, const struct host *host, int64_t now_ms)
{
	struct sought sought = {.session = v->session};
	if (now_ms < v->kept_ms)
		return true;
	core_each_waiter(host->core, now_ms, slice_of(checker_name(v->name)), seek, &sought);
	return sought.found;
}

void
waits_step(struct world *w, const struct host *host, int64_t now_ms)
{
	for (struct wait *v = w->checker.waits, *next; v != NULL; v = next) {
		next = v->next;
		if (!is_at(v, host))
			continue;
		bool over = v->until_ms <= now_ms && !handover_excuses(host);
		if (v->tries > 0)
			look_at_tries(v, false);
		if (v->stray && (over || !is_kept(v, host, now_ms)))
			waits_end(w, v);
		else if (over)
			world_fail(w, "in time: c%u waits for %s %" PRId64 " ms longer than it wants",
				v->conn->client->index, checker_name(v->name), now_ms - v->until_ms);
	}
}

bool
waits_since(const struct world *w, int64_t before_us)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (!v->stray && v->since_us < before_us)
			return true;
	return false;
}

bool
waits_for(const struct world *w, unsigned name)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		if (!v->stray && v->name == name)
			return true;
	return false;
}

bool
waits_alive(const struct world *w, unsigned name)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		const struct host *h = v->conn->host;
		if (!v->stray && v->name == name && h->alive && v->conn->host_life == h->life &&
			!v->conn->closing)
			return true;
	}
	return false;
}

void
waits_check_progress(struct world *w, int64_t since_us, int64_t most_us)
{
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next) {
		int64_t from = v->since_us > since_us ? v->since_us : since_us;
		if (v->stray || w->now_us - from <= most_us)
			continue;
		world_fail(w, "progress: c%u waits for %s at d%u for %" PRId64 " ms, while nothing is wrong",
			v->conn->client->index, checker_name(v->name), v->conn->host->index,
			(w->now_us - from) / 1000);
		return;
	}
}

void
waits_free(struct world *w)
{
	while (w->checker.waits != NULL)
		waits_end(w, w->checker.waits);
}
