/* progress: see progress.h. */
#include "tests/sim/judge/progress.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY_US     25000
#define LOOK_MOST_US 1300000
#define CALLS_MOST   1500 /* in a second, for one name at all masters, */
#define CALLS_EACH   60   /* and more for each message, LOCK and grant */
#define PASSED_MOST  4    /* by one daemon: its turn, one begun before, and what a claim window may cost */

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A session whose process keeps it came back from a crash with a hold that its client was not told of, or has
 * given back in the step in which its daemon died. */
static bool
unsent(const struct world *w, const struct host *h, unsigned name, int64_t token)
{
	const struct hold *hold = held_with(w, h, name, token);
	return hold != NULL && (hold->unsent || hold->ended_us <= h->recovery.at_us);
}

/* Abandoned by its holder, who may be gone by now without his daemon knowing that, or kept for one who may
 * come back. */
static bool
withheld(const struct world *w, unsigned name)
{
	for (unsigned i = 0; i < w->plan.hosts; i++) {
		const struct host *h = &w->hosts[i];
		struct resource_view view;
		if (h->alive &&
			core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) &&
			view.held &&
			(view.hold.withheld || session_terms_of(w, h, view.hold.session) != NULL ||
				view.hold.session <= h->recovery.strange ||
				unsent(w, h, name, view.hold.token)))
			return true;
	}
	return false;
}

/* Nobody has it, and nobody keeps it for somebody who may come back. */
static bool
is_free(const struct world *w, unsigned name)
{
	return held_longest_us(w, name) <= w->now_us && !foreign_client_holds(w, name) &&
	       !withheld(w, name) && !bundles_keep(w, name);
}

/* A look of each waiter, a lease that is kept in vain, and the ways. */
static int64_t
most_us(const struct world *w)
{
	return LOOK_MOST_US + w->plan.retain_ms * 1000 + 8 * (2 * w->plan.network_us + w->plan.spread_us);
}

static void
look_at_name(struct world *w, unsigned name)
{
	struct progress *p = &w->progress;
	if (!world_calm(w) || !promised(w, PROMISE_PROGRESS, name) || !waits_alive(w, name) ||
		!is_free(w, name)) {
		p->free_us[name] = w->now_us;
		return;
	}
	int64_t for_us = w->now_us - p->free_us[name];
	p->worst_us = later(p->worst_us, for_us);
	if (for_us > most_us(w))
		world_fail(w, "progress: %s is free for %" PRId64 " ms, somebody waits, and nothing is wrong",
			checker_name(name), for_us / 1000);
}

/* Order is promised among daemons that see the same masters, which answer, and hear their messages. */
static void
look_at_places(struct world *w, unsigned name)
{
	bool judged = w->away < 0 && world_calm(w) && promised(w, PROMISE_ORDER, name);
	for (unsigned i = 0; i < w->plan.hosts && !judged; i++)
		progress_queued(&w->hosts[i], name, false);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (unsigned i = 0; i < w->plan.names; i++) {
		look_at_name(w, i);
		look_at_places(w, i);
	}
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
progress_watch(struct world *w)
{
	for (unsigned i = 0; i < w->plan.names; i++) {
		look_at_places(w, i);
		progress_passed(w, i);
	}
	w->progress.watched = true;
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
progress_told(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->reasons++;
}

/* Whatever goes wrong, and whoever has the lease. */
void
progress_called(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (h->world->now_us - a->calls_us >= 1000000) {
		a->calls_us = h->world->now_us;
		a->calls = a->reasons = 0;
	}
	if (++a->calls > CALLS_MOST + a->reasons * CALLS_EACH)
		world_fail(h->world, "polling: d%u has made %u calls for %s within a second", h->index,
			a->calls, checker_name(name));
}

void
progress_passed(struct world *w, unsigned name)
{
	w->progress.free_us[name] = w->now_us;
}

void
progress_begins(struct host *h)
{
	for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
		h->world->progress.asking[h->index][i].streak = 0;
}

/* It may have heard of the other one within the step in which it granted. */
static void
look_at_streak(struct host *h, unsigned name, enum kind kind)
{
	struct world *w = h->world;
	struct asking *a = &w->progress.asking[h->index][name];
	struct resource_view view;
	bool wanted =
		core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) && view.wanted;
	a->streak = wanted && kind == KIND_EXCLUSIVE ? a->streak + 1 : 0;
	if (a->streak > w->plan.streak + 1)
		world_fail(w,
			"order: d%u has granted %s %" PRId64 " times while it knew that another daemon waits",
			h->index, checker_name(name), a->streak);
}

void
progress_granted(struct host *h, unsigned name, enum kind kind)
{
	struct world *w = h->world;
	progress_passed(w, name);
	look_at_streak(h, name, kind);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		progress_told(&w->hosts[i], name);
}

void
progress_queued(struct host *h, unsigned name, bool queued)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (a->queued == queued)
		return;
	a->queued = queued;
	a->queued_us = h->world->now_us;
	memset(a->passed, 0, sizeof(a->passed));
}

void
progress_answered(struct host *h, const struct vote *v)
{
	unsigned name = checker_name_of(v->name);
	struct asking *a = &h->world->progress.asking[h->index][name];
	if (v->outcome == OUTCOME_BUSY && v->position > 0 && progress_stands(h, name, v->attempt)) {
		progress_queued(h, name, true);
		a->home = v->master;
	}
	if (v->master == a->home && v->outcome == OUTCOME_YES)
		a->granted = v->attempt;
}

/* Somebody else gets the lease that it waits for. With a failover places are gone. */
static void
pass_over(const struct host *passed, const struct host *by, unsigned name)
{
	struct world *w = by->world;
	struct asking *a = &w->progress.asking[passed->index][name];
	if (!a->queued || w->plan.replicas > 0)
		return;
	if (++a->passed[by->index] > PASSED_MOST)
		world_fail(w, "order: d%u has got %s %d times while d%u stood in the queue for it", by->index,
			checker_name(name), a->passed[by->index], passed->index);
}

void
progress_leased(struct host *h, unsigned name)
{
	struct world *w = h->world;
	w->progress.asking[h->index][name].streak = 0;
	w->progress.asking[h->index][name].leased_us = w->now_us;
	progress_queued(h, name, false);
	look_at_places(w, name);
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (&w->hosts[i] != h)
			pass_over(&w->hosts[i], h, name);
}

void
progress_left(struct host *h, unsigned name)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->left = a->attempt;
	progress_queued(h, name, false);
}

void
progress_released(struct host *h, const struct call *call)
{
	unsigned name = checker_name_of(call->name);
	struct asking *a = &h->world->progress.asking[h->index][name];
	/* With what its queue master granted it had left its place there, and does not take that again. */
	if (call->master == a->home && call->attempt == a->granted && call->queue_ms == 0)
		progress_queued(h, name, false);
}

bool
progress_stands(const struct host *h, unsigned name, uint64_t attempt)
{
	const struct asking *a = &h->world->progress.asking[h->index][name];
	return attempt == a->attempt && attempt != a->left;
}

void
progress_asked(struct host *h, unsigned name, uint64_t attempt)
{
	struct asking *a = &h->world->progress.asking[h->index][name];
	a->began += attempt != a->attempt;
	a->asked_us = h->world->now_us;
	a->attempt = attempt;
}
