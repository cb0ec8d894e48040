/* request: see request.h. */
#include "tests/sim/world/request.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>

#define CROWD                                                                                                \
	100 /* permits beyond which a master does not look at each of them every time (lua/group.inc)        \
	     */

void
request_choose_kind(struct world *w, struct request *r)
{
	struct rng *rng = &w->rng;
	if (plan_counts(&w->plan, r->name) && (!w->plan.mixed || rng_percent(rng, 50))) {
		r->kind = KIND_PERMITS;
		r->limit = w->plan.permits;
		if (w->plan.limits > 1 && rng_percent(rng, 30))
			r->limit++;
		bool few = rng_percent(rng, w->plan.permits > CROWD ? 20 : 70);
		r->permits = few ? 1 : rng_range(rng, 1, w->plan.most_permits);
	} else if (!plan_keyed(&w->plan, r->name) && rng_percent(rng, w->plan.shared_percent)) {
		r->kind = KIND_SHARED;
	}
}

void
request_text(const struct request *r, char *out, size_t size)
{
	const struct command_info *info = command_info(r->verb);
	int n = snprintf(out, size, "%s%s%s", info->word.p, info->sub.n > 0 ? " " : "", info->sub.p);
	size_t at = (size_t)n;
	for (unsigned i = 0; i < r->count; i++)
		at += (size_t)snprintf(out + at, size - at, " %s", checker_name(r->names[i]));
	if (r->verb < VERB_SESSION_ID && r->verb != VERB_CANCEL && r->count == 0)
		at += (size_t)snprintf(out + at, size - at, " %s", checker_name(r->name));
	if (r->kind == KIND_SHARED)
		at += (size_t)snprintf(out + at, size - at, " SHARED");
	if (r->permits > 0)
		at += (size_t)snprintf(
			out + at, size - at, " LIMIT %" PRId64 " PERMITS %" PRId64, r->limit, r->permits);
	if (r->owner[0] != '\0')
		at += (size_t)snprintf(out + at, size - at, " OWNER %s", r->owner);
	if (r->id[0] != '\0')
		at += (size_t)snprintf(out + at, size - at, " ID %s", r->id);
	if (r->verb == VERB_LOCK || r->verb == VERB_MLOCK)
		at += (size_t)snprintf(out + at, size - at,
			" WAIT %" PRId64 " LEASE %" PRId64 " MAXHOLD %" PRId64, r->wait_ms, r->lease_ms,
			r->max_hold_ms);
	if (r->claim_ms > 0)
		at += (size_t)snprintf(out + at, size - at, " CLAIM %" PRId64, r->claim_ms);
	if (r->tries > 0)
		at += (size_t)snprintf(out + at, size - at, " RETRIES %" PRId64, r->tries - 1);
	if (r->ms > 0)
		at += (size_t)snprintf(out + at, size - at, " %" PRId64, r->ms);
	if (latches_verb(r->verb))
		at += (size_t)snprintf(out + at, size - at, " %" PRId64 " WAIT %" PRId64 " LEASE %" PRId64,
			r->steps, r->wait_ms, r->lease_ms);
	if (r->extend_ms > 0)
		at += (size_t)snprintf(out + at, size - at, " %" PRId64, r->extend_ms);
	if (r->token > 0)
		snprintf(out + at, size - at, " TOKEN %" PRId64, r->token);
}
