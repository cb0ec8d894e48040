/*
 * masters: see masters.h.
 */
#include "daemon/masters.h"

#include <assert.h>
#include <stdlib.h>

struct member {
	struct masters *masters;
	unsigned index;
	struct pool *pool;
};

struct masters {
	masters_event *event;
	void *arg;
	bool called; /* since they were flushed */
	unsigned count;
	struct member list[];
};

static void
on_link_up(void *arg, unsigned link)
{
	const struct member *m = arg;
	m->masters->event(
		m->masters->arg, &(struct event){.type = EVENT_LINK_UP, .master = m->index, .link = link});
}

static void
on_link_down(void *arg, unsigned link, const char *why)
{
	const struct member *m = arg;
	m->masters->event(m->masters->arg,
		&(struct event){
			.type = EVENT_LINK_DOWN, .master = m->index, .link = link, .text = slice_of(why)});
}

static void
on_subscribed(void *arg)
{
	const struct member *m = arg;
	m->masters->event(m->masters->arg, &(struct event){.type = EVENT_SUBSCRIBED, .master = m->index});
}

static void
on_wake(void *arg, struct slice name)
{
	const struct member *m = arg;
	m->masters->event(
		m->masters->arg, &(struct event){.type = EVENT_WAKE, .master = m->index, .name = name});
}

static void
on_want(void *arg, struct slice name)
{
	const struct member *m = arg;
	m->masters->event(
		m->masters->arg, &(struct event){.type = EVENT_WANT, .master = m->index, .name = name});
}

static void
on_latch(void *arg, struct slice name)
{
	const struct member *m = arg;
	m->masters->event(
		m->masters->arg, &(struct event){.type = EVENT_LATCH, .master = m->index, .name = name});
}

static void
on_flushed(void *arg)
{
	const struct member *m = arg;
	m->masters->event(m->masters->arg, &(struct event){.type = EVENT_FLUSHED, .master = m->index});
}

static void
on_vote(void *arg, const struct vote *vote)
{
	const struct member *m = arg;
	assert(vote->master == m->index);
	m->masters->event(
		m->masters->arg, &(struct event){.type = EVENT_VOTE, .master = m->index, .vote = vote});
}

static const struct pool_hooks pool_hooks = {
	.link_up = on_link_up,
	.link_down = on_link_down,
	.subscribed = on_subscribed,
	.wake = on_wake,
	.want = on_want,
	.latch = on_latch,
	.flushed = on_flushed,
	.vote = on_vote,
};

struct masters *
masters_new(struct event_base *base, const struct pool_settings *settings, unsigned count,
	masters_event *event, void *arg, struct log *log, struct stats *stats)
{
	struct masters *masters = calloc(1, sizeof *masters + count * sizeof masters->list[0]);
	if (!masters) {
		return NULL;
	}
	masters->event = event;
	masters->arg = arg;
	for (unsigned i = 0; i < count; i++) {
		struct member *m = &masters->list[i];
		*m = (struct member){.masters = masters, .index = i};
		masters->count++;
		m->pool = pool_new(base, &settings[i], &pool_hooks, m, log, stats);
		if (!m->pool) {
			masters_free(masters);
			return NULL;
		}
	}
	return masters;
}

void
masters_free(struct masters *masters)
{
	if (!masters) {
		return;
	}
	for (unsigned i = 0; i < masters->count; i++) {
		pool_free(masters->list[i].pool);
	}
	free(masters);
}

void
masters_call(struct masters *masters, const struct call *call)
{
	assert(call->master < masters->count);
	masters->called = true;
	pool_call(masters->list[call->master].pool, call);
}

void
masters_listen(struct masters *masters, struct slice name, bool on)
{
	for (unsigned i = 0; i < masters->count; i++)
		pool_listen(masters->list[i].pool, name, on);
}

void
masters_flush(struct masters *masters)
{
	for (unsigned i = 0; masters->called && i < masters->count; i++) {
		pool_flush(masters->list[i].pool);
	}
	masters->called = false;
}

unsigned
masters_count(const struct masters *masters)
{
	return masters->count;
}

const char *
masters_where(const struct masters *masters, unsigned master)
{
	assert(master < masters->count);
	return pool_where(masters->list[master].pool);
}

void
masters_see_pool(const struct masters *masters, unsigned master, struct pool_view *out)
{
	assert(master < masters->count);
	pool_see(masters->list[master].pool, out);
}

/* The states in the order of what they allow, the least first. One that does not answer allows nothing,
 * whatever it was; with a single master its state says more than that. */
static unsigned
view_rank(const struct master_view *view, bool alone)
{
	static const unsigned ranks[MASTER_STATE_COUNT] = {
		[MASTER_AWAY] = 0,
		[MASTER_REFUSED] = 1,
		[MASTER_GREETING] = 2,
		[MASTER_GUARDED] = 3,
		[MASTER_ADMITTED] = 4,
	};
	return view->down && !alone ? 0 : ranks[view->state];
}

void
masters_see(const struct masters *masters, const struct core *core, int64_t now_ms, struct masters_sum *out)
{
	const char *words[MASTER_STATE_COUNT] = {"away"};
	unsigned with[MASTER_STATE_COUNT] = {0};
	unsigned sum = 0;
	*out = (struct masters_sum){.majority = masters->count / 2 + 1, .word = words[0]};
	for (unsigned i = 0; i < masters->count; i++) {
		struct master_view view;
		core_view_master(core, now_ms, i, &view);
		unsigned rank = view_rank(&view, masters->count == 1);
		with[rank]++;
		words[rank] = rank > 0 ? view.word : words[0];
		out->usable += view.state == MASTER_ADMITTED && !view.down;
	}
	for (unsigned rank = MASTER_STATE_COUNT; rank-- > 0;) {
		sum += with[rank];
		if (sum >= out->majority) {
			out->word = words[rank];
			return;
		}
	}
}
