/*
 * reason: see reason.h. It reads what the schedulers decide by, and decides nothing.
 */
#include "daemon/core/lock/reason.h"

#include "daemon/core/base/base.h"
#include "daemon/core/base/emit.h"
#include "daemon/core/lease/lease.h"
#include "daemon/core/lease/lease_vote.h"
#include "daemon/core/lease/resource.h"
#include "daemon/core/lock/grant.h"
#include "daemon/core/lock/queue.h"
#include "daemon/core/lock/scheduler.h"
#include "daemon/core/lock/share.h"
#include "daemon/core/session/notes.h"
#include "proto/name.h"
#include "proto/reply.h"
#include "proto/slice.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WHY_MAX   65 /* bytes of a WHY in the text, NUL included */
#define OWNER_MAX 81 /* bytes of another daemon's owner text, likewise */

/* "held by session 7 (deploy) for 61000 ms: release 42" */
static void
write_hold(const struct grant *g, int64_t now_ms, char *out, size_t room)
{
	char who[EMIT_WHO_MAX], why[WHY_MAX];
	long long held_ms = now_ms - grant_since_ms(g), left_ms = grant_ends_ms(g) - now_ms;
	bool says = g->why_n > 0;

	assert(held_ms >= 0);
	emit_text(why, sizeof(why), grant_why(g));
	if (g->session == NULL)
		(void)snprintf(out, room, "withheld after its holder has gone: free in %lld ms at the latest",
			left_ms > 0 ? left_ms : 0);
	else
		(void)snprintf(out, room, "held by %s for %lld ms%s%s", emit_who(who, g->session), held_ms,
			says ? ": " : "", says ? why : "");
}

/* What the masters, or their absence, say. */
static void
write_refusal(const struct core *core, const struct waiter *w, char *out, size_t room)
{
	const struct lease *l = resource_asking(w->resource);
	struct slice foreign = l == NULL ? (struct slice){NULL, 0} : round_foreign(l);
	char owner[OWNER_MAX];
	struct reply refusal;

	schedule_refusal(core, w, &refusal);
	if (refusal.type == REPLY_ERROR)
		(void)snprintf(out, room, "%s: %.190s", code_word(refusal.code), refusal.text);
	else if (foreign.n > 0)
		(void)snprintf(out, room, "held through another daemon: %s",
			emit_text(owner, sizeof(owner), foreign));
	else
		(void)snprintf(out, room, "a master has refused it: another daemon holds it or is first");
}

/* Whether the holds of this daemon leave room for what it wants. */
static bool
fits_beside(const struct waiter *w, const struct grant *g)
{
	const struct resource *r = w->resource;

	if (r->limit > 0)
		return r->permit_leases.taken + w->permits <= r->limit;
	return w->kind == KIND_SHARED && g->kind == KIND_SHARED;
}

/* No hold here is in the way, and this daemon may not grant the lock: a waiter of another one came before. */
static bool
other_is_next(const struct core *core, const struct waiter *w)
{
	const struct lease *l = &w->resource->lease;

	return w->resource->limit == 0 && l->state == LEASE_HELD && lease_wanted(l) &&
	       !lease_open(core, l, w);
}

void
wait_reason(const struct core *core, const struct waiter *w, int64_t now_ms, char *out, size_t room)
{
	const struct grant *g = resource_next_grant(w->resource, NULL);
	bool first = w == TAILQ_FIRST(&queue_of(w->resource)->waiters);

	if (g != NULL && !fits_beside(w, g))
		write_hold(g, now_ms, out, room);
	else if (!first && g != NULL)
		(void)snprintf(out, room, "behind a waiter that came before it");
	else if (first && other_is_next(core, w))
		(void)snprintf(out, room, "this daemon has had its turn: a waiter of another daemon is next");
	else
		write_refusal(core, w, out, room);
}
