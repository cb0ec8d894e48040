/*
 * reenter: see reenter.h.
 */
#include "daemon/core/reenter.h"

#include "daemon/core/grant.h"
#include "daemon/core/mode.h"
#include "daemon/core/part.h"
#include "daemon/core/queue.h"
#include "daemon/core/state.h"

/* What is asked, by a LOCK or by a waiter. */
struct reentry {
	enum kind kind;
	int64_t permits;
	bool tagged;
	bool validity;
};

static void
reenter(struct core *core, struct grant *g, const struct reentry *reentry, struct reply *out)
{
	/* If its client was not told of the grant, this LOCK is not another entry. */
	bool untold = grant_claim(g) && g->kind == reentry->kind && g->lease->permits == reentry->permits;
	long long token = g->token;

	if (g->kind == KIND_SHARED && reentry->kind == KIND_EXCLUSIVE) {
		reply_error(out, CODE_UPGRADE,
			"this session holds it shared, token %lld: UNLOCK first, others may read it too",
			token);
	} else if (!reentry->tagged && !untold) {
		reply_error(out, CODE_HELD,
			"this session holds it already, token %lld: use OWNER tags to re-enter", token);
	} else if (reentry->permits > g->lease->permits) {
		reply_error(out, CODE_UPGRADE,
			"this OWNER holds %lld permits and asks for %lld: UNLOCK first, or take another "
			"OWNER",
			(long long)g->lease->permits, (long long)reentry->permits);
	} else if (g->count == UINT32_MAX && !untold) {
		reply_error(out, CODE_LIMIT, "this OWNER holds it %lu times, and not more: UNLOCK first",
			(unsigned long)g->count);
	} else {
		g->count += !untold;
		*out = (struct reply){.type = REPLY_INT, .code = CODE_COUNT, .n = token};
		if (reentry->validity) {
			out->type = REPLY_VALIDITY;
			out->ms = grant_told_ms(core, g);
		}
	}
}

void
reenter_lock(struct core *core, struct grant *g, const struct command *c, struct reply *out)
{
	const struct reentry reentry = {c->kind, c->permits, c->owner.n > 0, c->validity};

	if (!mode_refuses(g->lease->resource, c, out))
		reenter(core, g, &reentry, out);
}

bool
reenter_waiter(struct core *core, struct waiter *w)
{
	const struct reentry reentry = {w->kind, w->permits, w->owner_n > 0, w->validity};
	struct grant *g = grant_any(core, w->resource, w->session, waiter_owner(w));
	struct reply reply;

	if (g == NULL)
		return false;
	if (w->conn == NULL) {
		queue_remove(core, w);
		return true;
	}
	if (part_of(g) != NULL || w->part != NULL)
		reply_error(&reply, CODE_HELD, "this session holds it already, or is taking it by an MLOCK");
	else
		reenter(core, g, &reentry, &reply);
	queue_answer(core, w, &reply);
	return true;
}
