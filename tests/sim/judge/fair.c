/* fair: see fair.h. */
#include "tests/sim/judge/fair.h"

#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define WANTED_US 2500000 /* less than LEASE_WANT_MS of the core, by any clock */
#define DOUBTS_US 3500000 /* more than that; then a renewal asks whether it is so */

static struct fair *
fair_of(struct host *h, struct slice name)
{
	return &h->world->fair[h->index][checker_name_of(name)];
}

/* What its daemon knows before the event. */
static void
remember(struct host *h, struct fair *f, struct slice name)
{
	struct resource_view view;
	bool known = core_view_resource(h->core, host_ms(h), name, &view);
	f->wanted = known && view.wanted;
	f->shared = known && view.kind == KIND_SHARED && view.holds > 0;
}

/* What it is about; n == 0: nothing is looked at. The queue of a server that has left the set is over. */
static struct slice
name_in(const struct host *h, const struct event *event)
{
	const struct vote *v = event->vote;
	bool about = event->type == EVENT_VOTE &&
		     (v->op == CALL_ACQUIRE || v->op == CALL_RENEW || v->op == CALL_ADOPT);
	if (event->type == EVENT_WANT && event->master < core_members(h->core))
		return event->name;
	return about ? v->name : (struct slice){NULL, 0};
}

/* The answer to a round that it gave up unanswered says nothing of whether it can be had in the next. */
static void
answered(struct host *h, struct fair *f, const struct vote *v)
{
	const struct asking *a = &h->world->progress.asking[h->index][checker_name_of(v->name)];
	bool taken = (v->outcome == OUTCOME_BUSY || v->outcome == OUTCOME_NO) && v->attempt == a->attempt &&
		     !orphan_is_given(h, v->attempt);
	f->taken_us = taken ? h->world->now_us : 0;
	f->began = a->began;
}

/* An answer to a round that its daemon has given up tells nothing of the lease that it gets by another one.
 */
static bool
grants_last(struct host *h, const struct vote *v)
{
	return v->op == CALL_ACQUIRE && v->outcome == OUTCOME_YES &&
	       v->attempt == h->world->progress.asking[h->index][checker_name_of(v->name)].attempt;
}

static bool
keeps(enum call_op op)
{
	return op == CALL_ACQUIRE || op == CALL_RENEW || op == CALL_ADOPT || op == CALL_RECLAIM;
}

void
fair_call(struct host *h, const struct call *call)
{
	if (!keeps(call->op))
		return;
	struct fair *f = fair_of(h, call->name);
	f->asking++;
	f->asked = call->kind;
}

void
fair_before(struct host *h, const struct event *event)
{
	struct slice name = name_in(h, event);
	if (event->type == EVENT_VOTE && keeps(event->vote->op) && fair_of(h, event->vote->name)->asking > 0)
		fair_of(h, event->vote->name)->asking--;
	if (name.n == 0)
		return;
	struct fair *f = fair_of(h, name);
	const struct vote *v = event->vote;
	f->hears = true;
	remember(h, f, name);
	if (event->type == EVENT_VOTE && v->op == CALL_ACQUIRE &&
		(v->outcome == OUTCOME_BUSY || v->outcome == OUTCOME_NO))
		f->said_us = h->world->now_us;
	if (event->type == EVENT_VOTE && v->op == CALL_ACQUIRE && h->world->plan.masters == 1 &&
		h->world->plan.replicas == 0)
		answered(h, f, v);
	if (event->type == EVENT_WANT) {
		f->message_us = h->world->now_us;
	} else if (grants_last(h, v)) {
		f->told = (f->told && f->attempt == v->attempt) || v->position > 0;
		f->teller = v->position > 0 ? v->master : f->teller;
		f->attempt = v->attempt;
	}
}

/* Readers elsewhere are no reason to forget a writer, nor are masters that have no queue: it says again that
 * it waits, and counts until it has not for a while (3.19). A lease that becomes shared begins anew: readers
 * elsewhere had asked for what they get now. */
static void
check_remembers(
	struct host *h, const struct fair *f, const struct event *event, const struct resource_view *view)
{
	bool renewed =
		event->type == EVENT_VOTE && (event->vote->op == CALL_RENEW || event->vote->op == CALL_ADOPT);
	if (renewed && f->wanted && f->shared && !view->wanted && view->kind == KIND_SHARED &&
		view->holds > 0 && strcmp(view->lease, "held") == 0 && f->leased_us < f->message_us &&
		h->world->now_us - f->message_us < WANTED_US)
		world_fail(h->world, "order: d%u forgets by a renewal of %.*s that a writer waits elsewhere",
			h->index, (int)view->name.n, view->name.p);
}

void
fair_after(struct host *h, const struct event *event)
{
	struct slice name = h->alive ? name_in(h, event) : (struct slice){NULL, 0};
	if (name.n == 0)
		return;
	struct fair *f = fair_of(h, name);
	struct resource_view view;
	f->hears = false;
	/* A daemon that wakes may give the round up before it hears the answer. */
	if (event->type == EVENT_VOTE && f->taken_us == h->world->now_us &&
		orphan_is_given(h, event->vote->attempt))
		f->taken_us = 0;
	if (!core_view_resource(h->core, host_ms(h), name, &view))
		return;
	if (!f->wanted && view.wanted)
		f->wanted_us = h->world->now_us;
	check_remembers(h, f, event, &view);
	if (event->type == EVENT_WANT && !view.wanted && view.holds > 0 && view.kind == KIND_EXCLUSIVE &&
		strcmp(view.lease, "held") == 0)
		world_fail(h->world,
			"order: d%u is told that another daemon waits for %.*s, and does not know", h->index,
			(int)name.n, name.p);
}

/* Whoever wins it knows at once that others wait, whichever master said so (6.1). */
static void
leased(struct host *h, struct fair *f, struct slice name)
{
	struct resource_view view;
	struct master_view teller;
	f->leased_us = f->wanted_us = h->world->now_us;
	f->taken_us = 0;
	f->fresh++;
	if (!f->told || !core_view_resource(h->core, host_ms(h), name, &view))
		return;
	/* What a master says whose clock leapt does not count. */
	core_view_master(h->core, host_ms(h), f->teller, &teller);
	if (teller.state == MASTER_ADMITTED && teller.guard_ms == 0 && strcmp(view.lease, "held") == 0 &&
		view.kind == KIND_EXCLUSIVE && view.holds > 0 && !view.wanted)
		world_fail(h->world,
			"order: d%u gets %.*s, is told that another daemon waits for it, and does not know",
			h->index, (int)name.n, name.p);
}

static void
unleased(struct host *h, struct fair *f, struct slice name)
{
	struct resource_view view;
	f->taken_us = 0;
	if (!core_view_resource(h->core, host_ms(h), name, &view) || strcmp(view.lease, "held") != 0)
		f->fresh = 0;
}

void
fair_note(struct host *h, const struct note *n)
{
	if (n->type == NOTE_UNLEASED)
		unleased(h, fair_of(h, n->name), n->name);
	/* Readers come in together (3.19). */
	if (n->type == NOTE_GRANTED)
		fair_of(h, n->name)->freed = true;
	if (n->type == NOTE_RELEASED || n->type == NOTE_LOST)
		fair_of(h, n->name)->back_us = h->world->now_us;
	if (n->type == NOTE_LEASED)
		leased(h, fair_of(h, n->name), n->name);
}

void
fair_granted(struct world *w, const struct wait *v)
{
	struct host *h = v->conn->host;
	struct fair *f = &w->fair[h->index][v->name];
	struct resource_view view;
	bool there = core_view_resource(h->core, host_ms(h), slice_of(checker_name(v->name)), &view);
	int64_t wanted_us = f->hears && !f->wanted ? w->now_us : f->wanted_us;
	/* To a daemon whose host stood still no time has passed meanwhile, by its own clock, which may be
	 * slow. */
	int64_t still_us = clock_error_gained_us(&h->still, wanted_us, w->now_us) * 101 / 100;
	if (v->kind == KIND_SHARED && there && view.wanted && v->since_us > wanted_us + 1000 + still_us &&
		view.kind == KIND_SHARED && f->leased_us < w->now_us)
		world_fail(w,
			"order: c%u reads %s, and came %" PRId64
			" us after d%u was told that a writer waits elsewhere",
			v->conn->client->index, checker_name(v->name), v->since_us - wanted_us, h->index);
	if (v->kind == KIND_PERMITS && f->fresh == 0 && f->leased_us < f->message_us &&
		f->message_us < w->now_us)
		world_fail(w,
			"order: c%u gets permits of %s that came back at d%u, which another daemon waits for",
			v->conn->client->index, checker_name(v->name), h->index);
	/* What came back in this step goes on, or is withheld no longer; a fresh lease may have to wait for
	 * its tokens. */
	f->fresh -= f->fresh > 0 && f->back_us != w->now_us && !withheld_ends(w, h, v->name);
}

bool
fair_taken(const struct world *w, const struct wait *v)
{
	unsigned host = v->conn->host->index;
	const struct fair *f = &w->fair[host][v->name];
	const struct asking *a = &w->progress.asking[host][v->name];
	/* A round since then that came to nothing leaves no word. */
	bool stands = a->began == f->began ||
		      (a->began == f->began + 1 && !orphan_is_given(v->conn->host, a->attempt));
	return f->taken_us > v->since_us && f->taken_us < w->now_us && stands;
}

bool
fair_said(const struct world *w, const struct wait *v)
{
	return w->fair[v->conn->host->index][v->name].said_us >= v->since_us;
}

void
fair_freed(struct host *h, unsigned name)
{
	h->world->fair[h->index][name].freed = true;
}

static bool
first_waiter(void *arg, const struct waiter_view *view)
{
	*(enum kind *)arg = view->kind;
	return false;
}

/* So many masters are in full use, on so many links each at least, that it may grant what is new. */
static bool
has_masters(const struct host *h, unsigned links)
{
	unsigned n = 0;
	for (unsigned i = 0; i < core_members(h->core); i++) {
		struct master_view master;
		core_view_master(h->core, host_ms(h), i, &master);
		n += master.state == MASTER_ADMITTED && master.guard_ms == 0 && !master.down &&
		     master.links_up >= links;
	}
	return n >= plan_majority(&h->world->plan);
}

/* Nothing is in the way of the first that waits: a good lease with a token, nobody else who waits, and no
 * hold, or readers for one that reads. */
static void
check_served(struct host *h, unsigned name, int64_t now_ms)
{
	struct resource_view view;
	struct masterset_view set;
	enum kind first = KIND_PERMITS;
	if (!core_view_resource(h->core, now_ms, slice_of(checker_name(name)), &view) || view.waiters == 0 ||
		view.limit > 0 || strcmp(view.lease, "held") != 0 || view.wanted || view.tokens_left <= 0 ||
		view.votes < plan_majority(&h->world->plan) || view.lease_ms < host_lease_ms(h, name) * 3 / 4)
		return;
	core_view_masterset(h->core, &set);
	core_each_waiter(h->core, now_ms, slice_of(checker_name(name)), first_waiter, &first);
	bool readers = view.holds > 0 && view.held && view.hold.kind == KIND_SHARED;
	if (has_masters(h, 0) && strcmp(set.word, "refused") != 0 &&
		(view.holds == 0 || (readers && first == KIND_SHARED)))
		world_fail(h->world, "order: d%u can grant %s to the first that waits, and does not",
			h->index, checker_name(name));
}

/* Readers elsewhere need not wait for readers here: who shares a lease for them tells the masters at once,
 * unless they are being asked about it (3.21), or the link of the name is down. */
static void
check_shared(struct host *h, unsigned name, int64_t now_ms)
{
	struct fair *f = &h->world->fair[h->index][name];
	struct resource_view view;
	bool held = core_view_resource(h->core, now_ms, slice_of(checker_name(name)), &view) &&
		    view.limit == 0 && strcmp(view.lease, "held") == 0;
	if (held && f->waited && !view.wanted && view.holds > 0 && view.kind == KIND_SHARED &&
		f->asked != KIND_SHARED && f->asking == 0 && has_masters(h, 0) &&
		has_masters(h, h->world->plan.links))
		world_fail(h->world, "order: d%u shares %s with readers elsewhere, and tells no master",
			h->index, checker_name(name));
	f->waited = held && view.wanted;
}

void
fair_step(struct host *h, int64_t now_ms)
{
	for (unsigned i = 0; i < h->world->plan.names; i++) {
		struct fair *f = &h->world->fair[h->index][i];
		check_shared(h, i, now_ms);
		if (f->freed && !h->draining)
			check_served(h, i, now_ms);
		f->freed = false;
	}
}

int64_t
fair_wanted_us(const struct world *w, const struct host *h, unsigned name)
{
	return w->fair[h->index][name].wanted_us;
}

/* Somebody stands in a queue of it at a master, who may have gone. */
static bool
is_queued(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	struct slice daemon, me = slice_of(h->call_settings.daemon_id);
	bool queued = false;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		const struct server *s = &w->servers[i];
		struct store *store = master_store(s->master);
		for (size_t k = 0; store_member(store, server_wall_us(s), server_queue_key(name), k, &daemon);
			k++)
			queued |= !slice_equal(daemon, me);
	}
	return queued;
}

static bool
is_wanted_elsewhere(const struct host *h, unsigned name)
{
	const struct world *w = h->world;
	bool wanted = foreign_client_locks(w, name) || plan_keyed(&w->plan, name) || is_queued(h, name);
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		wanted |= v->conn->host != h && v->name == name;
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		wanted |= v->conn->host != h;
	return wanted;
}

/* Readers stay outside for a writer elsewhere, and there has been none for so long that renewals must have
 * told so. */
static void
look_at_belief(struct host *h, unsigned name)
{
	struct world *w = h->world;
	struct fair *f = &w->fair[h->index][name];
	struct resource_view view;
	int64_t most_us = DOUBTS_US + w->plan.lease_ms * 1000;
	if (!h->alive || h->paused_until_us + 50000 > w->now_us || is_wanted_elsewhere(h, name) ||
		!core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) ||
		view.kind != KIND_SHARED || strcmp(view.lease, "held") != 0 || !view.wanted) {
		f->stale_us = w->now_us;
		return;
	}
	if (w->now_us - f->stale_us > most_us && fault_free_keeps(w, h, name, most_us))
		world_fail(w,
			"order: d%u lets no reader have %s for a writer elsewhere, and nobody has waited for "
			"it "
			"for %" PRId64 " ms",
			h->index, checker_name(name), (w->now_us - f->stale_us) / 1000);
}

void
fair_look(struct host *h)
{
	for (unsigned i = 0; i < h->world->plan.names; i++)
		look_at_belief(h, i);
}
