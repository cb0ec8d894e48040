/* parts: see the header. They only note; mlock.c decides. */
#include "daemon/core/families/parts.h"

#include "daemon/core/base/base.h"
#include "daemon/core/families/families.h"
#include "daemon/core/families/mlock.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/family.h"
#include "daemon/core/lock/part.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/refusal.h"
#include "daemon/core/session/conn.h"
#include "daemon/core/session/user.h"
#include "proto/reply.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>

static void
part_set_dirty(struct core *core, const struct part *p)
{
	struct mlock *b = p->mlock;

	if (b->dirty)
		return;
	b->dirty = true;
	TAILQ_INSERT_TAIL(&core->families->mlocks, b, in_dirty);
}

void
part_join(struct part *p)
{
	p->mlock->apart++;
	user_take(p->mlock->conn->session, 1);
	assert(p->mlock->apart <= p->mlock->count);
}

void
part_leave(struct part *p)
{
	assert(p->mlock->apart > 0);
	p->mlock->apart--;
	user_give(p->mlock->conn->session, 1);
}

void
part_hold(struct part *p, struct grant *g)
{
	assert(p->grant == NULL || p->grant == g);
	assert(g->session == p->mlock->conn->session);
	assert(g->terms->part == NULL);
	p->grant = g;
	g->terms->part = p;
	g->lease->resource->parts = true;
}

static void
part_granted(struct core *core, struct waiter *w, struct grant *g)
{
	struct part *p = w->part;

	assert(p->waiter == w);
	p->mlock->lock.retries = w->retries;
	p->waiter = NULL;
	assert(p->grant == NULL);
	part_hold(p, g);
	part_set_dirty(core, p);
}

static void
part_refused(struct core *core, struct part *p, const struct reply *reply)
{
	struct mlock *b = p->mlock;

	assert(p->waiter != NULL && p->grant == NULL);
	assert(reply->type == REPLY_NULL || reply->type == REPLY_ERROR);
	p->waiter = NULL;
	part_join(p);
	if (!b->refused || !refusal_may_pass(reply))
		b->refusal = *reply;
	b->refused = true;
	part_set_dirty(core, p);
}

void
part_release(struct part *p)
{
	assert(p->grant->terms->part == p);
	p->grant->terms->part = NULL;
	p->grant = NULL;
}

static void
part_lost(struct core *core, struct part *p)
{
	assert(p->waiter == NULL && p->grant != NULL);
	part_release(p);
	part_join(p);
	part_set_dirty(core, p);
}

static void
parts_check(struct core *core, struct resource *r)
{
	const struct grant *g;

	/* No MLOCK takes permits. */
	assert(r->limit == 0);
	r->parts = false;
	for (g = r->lease.grants; g != NULL; g = g->after) {
		if (part_of(g) == NULL)
			continue;
		r->parts = true;
		part_set_dirty(core, part_of(g));
	}
}

const struct waiter *
part_waited(const struct mlock *b)
{
	for (size_t i = 0; b->ordered && i < b->count; i++) {
		if (b->parts[i].waiter != NULL)
			return b->parts[i].waiter;
	}
	return NULL;
}

const struct lock_family parts_family = {
	.check = parts_check,
	.won = part_granted,
	.refused = part_refused,
	.lost = part_lost,
	.finish = mlock_conn_finish,
	.close = mlock_conn_close,
	.clear = mlock_conn_close,
};
