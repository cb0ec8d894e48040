#include "daemon/core/timers.h"

#include <assert.h>
#include <stddef.h>

static int
timer_order(const struct timer *a, const struct timer *b)
{
	if (a->at_ms != b->at_ms)
		return a->at_ms < b->at_ms ? -1 : 1;
	if (a->serial != b->serial)
		return a->serial < b->serial ? -1 : 1;
	return 0;
}

/* Not the static forms: those define functions nobody uses, and say so. */
RB_PROTOTYPE(timer_tree, timer, link, timer_order)
RB_GENERATE(timer_tree, timer, link, timer_order)

void
timers_init(struct timers *t)
{
	RB_INIT(&t->tree);
	t->serial = 0;
}

void
timer_init(struct timer *timer, enum timer_kind kind)
{
	timer->kind = kind;
	timer->at_ms = TIMER_NEVER;
}

void
timer_cancel(struct timers *t, struct timer *timer)
{
	if (timer->at_ms == TIMER_NEVER)
		return;
	RB_REMOVE(timer_tree, &t->tree, timer);
	timer->at_ms = TIMER_NEVER;
}

void
timer_arm(struct timers *t, struct timer *timer, int64_t at_ms)
{
	assert(timer->kind != TIMER_NONE);
	if (timer->at_ms == at_ms)
		return;
	timer_cancel(t, timer);
	if (at_ms == TIMER_NEVER)
		return;
	timer->at_ms = at_ms;
	timer->serial = ++t->serial;
	RB_INSERT(timer_tree, &t->tree, timer);
}

int64_t
timers_first(const struct timers *t)
{
	/* RB_MIN does not change the tree; its declaration just lacks the const. */
	const struct timer *first = RB_MIN(timer_tree, (struct timer_tree *)(uintptr_t)&t->tree);

	return first == NULL ? TIMER_NEVER : first->at_ms;
}

struct timer *
timers_due(struct timers *t, int64_t now_ms)
{
	struct timer *first = RB_MIN(timer_tree, &t->tree);

	if (first == NULL || first->at_ms > now_ms)
		return NULL;
	timer_cancel(t, first);
	return first;
}
