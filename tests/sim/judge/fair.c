/* fair: see fair.h. */
#include "tests/sim/judge/fair.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

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

void
fair_before(struct host *h, const struct event *event)
{
	struct slice name = name_in(h, event);
	if (name.n == 0)
		return;
	struct fair *f = fair_of(h, name);
	const struct vote *v = event->vote;
	f->hears = true;
	remember(h, f, name);
	if (event->type == EVENT_VOTE && v->op == CALL_ACQUIRE &&
		(v->outcome == OUTCOME_BUSY || v->outcome == OUTCOME_NO))
		f->said_us = h->world->now_us;
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
	if (!core_view_resource(h->core, host_ms(h), name, &view))
		return;
	if (!f->wanted && view.wanted)
		f->wanted_us = h->world->now_us;
}

void
fair_note(struct host *h, const struct note *n)
{
	if (n->type == NOTE_LEASED)
		fair_of(h, n->name)->leased_us = fair_of(h, n->name)->wanted_us = h->world->now_us;
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
}

bool
fair_said(const struct world *w, const struct wait *v)
{
	return w->fair[v->conn->host->index][v->name].said_us >= v->since_us;
}

int64_t
fair_wanted_us(const struct world *w, const struct host *h, unsigned name)
{
	return w->fair[h->index][name].wanted_us;
}
