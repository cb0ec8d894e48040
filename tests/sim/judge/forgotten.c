/* forgotten: see forgotten.h. */
#include "tests/sim/judge/forgotten.h"

#include "tests/sim/world/world.h"

#include <string.h>

static struct forgotten *
forgotten_of(const struct host *h, unsigned latch)
{
	return &h->world->latches.forgotten[h->index][latch];
}

void
forgotten_voted(struct host *h, const struct vote *v)
{
	if (v->op != CALL_LATCH || h->world->plan.masters > 1 ||
		(v->outcome != OUTCOME_YES && v->outcome != OUTCOME_NO))
		return;
	for (unsigned i = 0; i < PLAN_LATCHES_MAX; i++) {
		struct forgotten *f = forgotten_of(h, i);
		if (!slice_equal(v->name, slice_of(latches_name(PLAN_NAMES_MAX + i))))
			continue;
		if (v->latch.id != 0)
			f->until_ms = host_ms(h) + v->latch.ttl_ms;
		if (v->outcome == OUTCOME_YES)
			f->told = false;
	}
}

void
forgotten_reply(struct conn *c, const struct reply *r)
{
	const struct host *h = c->host;
	const struct request *asked = &c->current;
	struct forgotten *f = forgotten_of(h, asked->name - PLAN_NAMES_MAX);
	bool error = r->type == REPLY_ERROR;
	bool none = (asked->verb == VERB_LATCH_COUNT && r->type == REPLY_NULL) ||
		    (asked->verb == VERB_LATCH_DOWN && error && r->code == CODE_ERR);
	if (h->world->plan.masters > 1)
		return;
	if (none && f->told && host_ms(h) < f->until_ms)
		world_fail(h->world,
			"latch: c%u is told that there is no latch %s, which is known to be forgotten",
			c->client->index, latches_name(asked->name));
	f->told |= error && r->code == CODE_LOST && strncmp(r->text, "forgotten", 9) == 0;
}
