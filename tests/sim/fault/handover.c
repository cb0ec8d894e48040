/* handover: see handover.h. */
#include "tests/sim/fault/handover.h"

#include "proto/record.h"
#include "tests/sim/fault/rollout.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define STATE_BYTES_MAX ((size_t)1 << 24)
#define EXCUSED_MS      250    /* so long after that a WAIT without masters may be answered late */
#define SERVES_US       400000 /* from then on it reads, whether or not masters are usable */
#define REST_US         1000
#define EARLY_US        50000 /* after a start: some masters have not been reached by then */

void
handover_draw(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 23};
	plan->fault[FAULT_HANDOVER] = rng_percent(&rng, 30);
}

/* ---- the state ---- */

static void
state_save(struct core *core, struct buffer *out)
{
	struct record r;
	buffer_init(out, STATE_BYTES_MAX);
	record_save(&r, out);
	core_save(core, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
}

static struct core *
state_load(struct host *h, struct now now, const struct buffer *in)
{
	struct world *w = h->world;
	struct record r;
	struct core *core = NULL;
	if (record_load(&r, (struct slice){buffer_bytes(in), buffer_length(in)}))
		core = core_load(&h->settings, now, &r);
	if (core == NULL)
		world_fail(w, "handed over: d%u cannot read what it saved: %s", h->index, r.why);
	else if (r.type != RECORD_END)
		world_fail(w, "handed over: d%u has read up to a record of type %u", h->index, r.type);
	return core;
}

/* Names the first record that is not the same: proto/record.def has the file that describes it. */
static void
state_differs(const struct host *h, struct slice before, struct slice after)
{
	struct record was, is;
	bool both = record_load(&was, before) && record_load(&is, after);
	assert(both);
	while (record_next(&was) == record_next(&is) && was.type != RECORD_END && was.body.n == is.body.n &&
		memcmp(was.body.p, is.body.p, was.body.n) == 0)
		continue;
	size_t at = 0, n = was.body.n < is.body.n ? was.body.n : is.body.n;
	while (at < n && was.body.p[at] == is.body.p[at])
		at++;
	world_fail(h->world,
		"handed over: what d%u loads is not what it saved: from byte %zu on, record %u of %zu "
		"bytes is now record %u of %zu (proto/record.def)",
		h->index, at, was.type, was.body.n, is.type, is.body.n);
}

/* What is loaded is what was saved: then it is saved as the same bytes. */
static void
state_pass(struct host *h)
{
	struct now now = host_now(h);
	struct buffer before, after;
	struct core *core;
	core_check(h->core, now.ms);
	state_save(h->core, &before);
	core = state_load(h, now, &before);
	if (core != NULL) {
		core_check(core, now.ms);
		state_save(core, &after);
		if (buffer_length(&before) != buffer_length(&after) ||
			memcmp(buffer_bytes(&before), buffer_bytes(&after), buffer_length(&before)) != 0)
			state_differs(h, (struct slice){buffer_bytes(&before), buffer_length(&before)},
				(struct slice){buffer_bytes(&after), buffer_length(&after)});
		buffer_done(&after);
		core_free(core);
	}
	buffer_done(&h->state);
	h->state = before;
}

/* ---- the two processes ---- */

static bool
goes_on(const struct host *h, uint64_t life)
{
	return h->alive && h->life == life && h->handing && !h->refusing && !h->ending &&
	       !core_ended(h->core);
}

static void
links_down(struct host *h)
{
	struct world *w = h->world;
	uint64_t life = h->life;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		for (unsigned k = 0; k < w->plan.links && goes_on(h, life); k++)
			wire_break(&h->ways[i].wires[k], "the daemon hands over");
	/* An adapter that has not found a master yet has no link of it that could be reported as down. */
	if (goes_on(h, life) && rng_percent(&w->rng, 50)) {
		host_step(h, &(struct event){.type = EVENT_TIMER});
		return;
	}
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		for (unsigned k = 0; k < w->plan.links && goes_on(h, life); k++)
			host_step(h, &(struct event){.type = EVENT_LINK_DOWN,
					     .master = i,
					     .link = k,
					     .text = SLICE("the daemon hands over")});
}

static void
links_up(struct host *h)
{
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
		inbox_break(&h->ways[i].inbox);
}

static bool
slots_move(const struct host *h)
{
	bool moves = false;
	for (unsigned i = 0; i < CORE_SLOTS_MAX; i++)
		moves |= h->moving[i];
	return moves;
}

static void
again(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	(void)data;
	if (h->alive && h->life == life && h->world->phase == PHASE_FAULTS)
		handover_begin(h);
}

/* The next process is up: for it, all that has come meanwhile comes now. */
static void
come_up(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	struct core *core;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us > w->now_us)
		h->paused_until_us = w->now_us;
	rollout_pass(h);
	core = state_load(h, host_now(h), &h->state);
	if (core == NULL)
		return;
	core_free(h->core);
	h->core = core;
	h->handing = false;
	ledgers_passed(h);
	links_up(h);
	host_step(h, &(struct event){.type = EVENT_TIMER});
	if (h->alive && h->life == life && rng_percent(&w->rng, 25))
		world_after(w, rng_range(&w->rng, 0, SERVES_US), again, h, life, NULL);
}

static void
pass(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || h->life != life)
		return;
	if (h->paused_until_us > w->now_us) {
		schedule_again(&w->schedule, h->paused_until_us);
		return;
	}
	if (goes_on(h, life))
		links_down(h);
	if (h->alive && h->life == life && !goes_on(h, life))
		h->handing = false; /* it ends, and goes on until then */
	if (!goes_on(h, life))
		return;
	if (slots_move(h) || !core_rests(h->core)) {
		world_after(w, REST_US, pass, h, life, NULL);
		return;
	}
	trace_line(&w->trace, w->now_us, "d%u     is handed over", h->index);
	h->listens = false;
	h->handed_us = w->now_us;
	state_pass(h);
	if (w->failed)
		return;
	if (h->slow_us > 0) {
		/* Before anything that waits until then. */
		h->paused_until_us = w->now_us + h->slow_us;
		world_after(w, h->slow_us - 1, come_up, h, life, NULL);
	} else {
		come_up(h, life, NULL);
	}
}

static bool
quiet(const struct host *h)
{
	bool all = true;
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
		all = all && wires_quiet(&h->ways[i]);
	return all;
}

/* Looks whether all calls are answered by now. */
static void
look(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || h->life != life || !h->handing)
		return;
	if (!quiet(h) && w->now_us < h->gives_up_us)
		world_after(w, REST_US, look, h, life, NULL);
	else
		pass(h, life, NULL);
}

/* It reads its clients again, unless it has been handed over once more since. */
static void
reads(void *arg, uint64_t life, void *data)
{
	struct host *h = arg;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || h->life != life || w->now_us < h->unread_until_us)
		return;
	if (h->paused_until_us > w->now_us) {
		schedule_again(&w->schedule, h->paused_until_us);
		return;
	}
	h->unread_until_ms = host_ms(h);
	core_unread(h->core, h->unread_until_ms);
}

void
handover_begin(struct host *h)
{
	struct world *w = h->world;
	int64_t waits_us = rng_percent(&w->rng, 30) ? 0 : rng_range(&w->rng, 1000, 500000);
	if (!h->alive || h->refusing || h->draining || h->ending || h->handing ||
		h->paused_until_us > w->now_us)
		return;
	trace_line(&w->trace, w->now_us, "d%u     hands over", h->index);
	h->handing = true;
	h->lacked = refusals_lacks(h);
	h->gives_up_us = w->now_us + waits_us;
	h->slow_us = rng_percent(&w->rng, 70) ? 0 : rng_range(&w->rng, 2, 2000 * w->plan.lease_ms);
	if (h->gives_up_us + h->slow_us + SERVES_US > h->unread_until_us)
		h->unread_until_us = h->gives_up_us + h->slow_us + SERVES_US;
	h->unread_until_ms = host_ms(h) + (h->unread_until_us - w->now_us) * 101 / 100000 + 1;
	core_unread(h->core, h->unread_until_ms);
	world_after(w, h->unread_until_us - w->now_us, reads, h, h->life, NULL);
	world_after(w, 0, look, h, h->life, NULL);
}

void
handover_note(const struct host *h, const struct note *n)
{
	bool ends = n->type == NOTE_SILENT || n->type == NOTE_EXPIRED;
	/* No client can come back to a daemon that drains. */
	if (ends && !h->refusing && h->world->now_us < h->unread_until_us)
		world_fail(h->world, "handed over: d%u ends a session whose requests it does not read",
			h->index);
}

bool
handover_excuses(const struct host *h)
{
	return h->unread_until_us > 0 && host_ms(h) < h->unread_until_ms + EXCUSED_MS;
}

void
handover_started(struct host *h)
{
	struct world *w = h->world;
	if (w->plan.fault[FAULT_HANDOVER] && rng_percent(&w->rng, 20))
		world_after(w, rng_range(&w->rng, 0, EARLY_US), again, h, h->life, NULL);
}

static void
handover_turn(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	if (w->phase != PHASE_FAULTS)
		return;
	handover_begin(&w->hosts[rng_range(&w->rng, 0, w->plan.hosts - 1)]);
	world_after(w, rng_range(&w->rng, 0, 4000 * w->plan.lease_ms), handover_turn, w, 0, NULL);
}

void
handover_watch(struct world *w)
{
	if (w->plan.fault[FAULT_HANDOVER])
		world_after(w, rng_range(&w->rng, 0, 2000 * w->plan.lease_ms), handover_turn, w, 0, NULL);
}
