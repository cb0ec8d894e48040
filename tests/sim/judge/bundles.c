/* bundles: see bundles.h. */
#include "tests/sim/judge/bundles.h"

#include "tests/sim/fault/handover.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ONCE_MS 4001 /* as waits.c */

static struct bundle_wait **
wait_at(struct world *w, const struct conn *c)
{
	struct bundle_wait **at = &w->checker.bundles;
	while (*at != NULL && (*at)->conn != c)
		at = &(*at)->next;
	return at;
}

static void
wait_remove(struct bundle_wait **at)
{
	struct bundle_wait *v = *at;
	*at = v->next;
	free(v);
}

void
bundles_free(struct world *w)
{
	while (w->checker.bundles != NULL)
		wait_remove(&w->checker.bundles);
}

/* Without a WAIT the longest of the rules of its names; -1: for ever. */
static int64_t
rule_wait_ms(const struct conn *c)
{
	const struct request *r = &c->current;
	int64_t wait_ms = 0;
	if (r->wait_ms != COMMAND_WAIT_RULE)
		return r->wait_ms;
	for (unsigned i = 0; i < r->count && wait_ms >= 0; i++) {
		int64_t ruled_ms = host_rule(c->host, r->names[i])->wait_ms;
		wait_ms = ruled_ms < 0 || ruled_ms > wait_ms ? ruled_ms : wait_ms;
	}
	return wait_ms;
}

void
bundles_command(struct world *w, struct conn *c)
{
	const struct request *r = &c->current;
	struct bundle_wait *v;
	if (r->verb != VERB_MLOCK)
		return;
	v = calloc(1, sizeof(*v));
	assert(v != NULL && *wait_at(w, c) == NULL);
	*v = (struct bundle_wait){.next = w->checker.bundles, .conn = c, .since_us = w->now_us};
	int64_t wait_ms = rule_wait_ms(c);
	v->counted = r->tries > 0;
	v->once = wait_ms == 0 || r->tries == 1;
	v->until_ms = wait_ms < 0 ? INT64_MAX : host_ms(c->host) + wait_ms;
	if (v->once && (wait_ms <= 0 || wait_ms > ONCE_MS))
		v->until_ms = host_ms(c->host) + ONCE_MS;
	w->checker.bundles = v;
	for (unsigned i = 0; i < r->count; i++) {
		progress_told(c->host, r->names[i]);
		fault_free_touched(c->host, r->names[i]);
	}
}

void
bundles_finished(struct world *w, const struct conn *c)
{
	struct bundle_wait *v = *wait_at(w, c);
	int64_t until_ms = host_ms(c->host) + ONCE_MS;
	if (v == NULL)
		return;
	v->once = true;
	if (v->until_ms > until_ms)
		v->until_ms = until_ms;
}

void
bundles_closed(struct world *w, const struct conn *c)
{
	struct bundle_wait **at = wait_at(w, c);
	if (*at != NULL)
		wait_remove(at);
}

/* ---- who holds what ---- */

/* What a daemon holds and nobody has been told of; what is withheld belongs to nobody, and a session that
 * ends has no client. */
static bool
is_kept(const struct world *w, const struct host *host, unsigned name, struct resource_view *view)
{
	if (!host->alive ||
		!core_view_resource(host->core, host_ms(host), slice_of(checker_name(name)), view) ||
		!view->held || view->hold.withheld || view->hold.ends)
		return false;
	return held_with(w, host, name, view->hold.token) == NULL;
}

bool
bundles_of(const struct world *w, const struct host *host, session_id session)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life &&
			conn_session(v->conn) == session)
			return true;
	return false;
}

/* Whether it waits in an MLOCK for this name, too. */
static bool
is_part(const struct bundle_wait *v, unsigned name, struct slice owner)
{
	const struct request *r = &v->conn->current;
	bool part = false;
	for (unsigned i = 0; i < r->count; i++)
		part |= r->names[i] == name;
	return part && slice_equal(slice_of(r->owner), owner);
}

bool
bundles_take(
	const struct world *w, const struct host *host, session_id session, unsigned name, struct slice owner)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life &&
			conn_session(v->conn) == session && is_part(v, name, owner))
			return true;
	return false;
}

bool
bundles_keep(const struct world *w, unsigned name)
{
	struct resource_view view;
	for (unsigned i = 0; i < w->plan.hosts; i++)
		if (is_kept(w, &w->hosts[i], name, &view))
			return true;
	return false;
}

static void
check_kept(struct world *w, const struct host *host, unsigned name)
{
	struct resource_view view;
	if (!promised(w, PROMISE_HOLD, name))
		return;
	if (is_kept(w, host, name, &view) && !bundles_of(w, host, view.hold.session))
		world_fail(w,
			"all or none: d%u holds %s with token %" PRId64 " for session %" PRIu64
			", which does not know",
			host->index, checker_name(name), view.hold.token, view.hold.session);
}

/* ---- answers ---- */

static void
mlock_granted(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	if (reply->count != r->count) {
		world_fail(w, "all or none: c%u gets %zu tokens for %u names", c->client->index, reply->count,
			r->count);
		return;
	}
	for (unsigned i = 0; i < r->count; i++)
		grants_part(w, c, r->names[i], r->owner, reply->tokens[i]);
}

/* Its WAIT is over, or it asked for no wait. */
static void
check_early(struct world *w, const struct bundle_wait *v, const struct reply *reply)
{
	bool away =
		reply->type == REPLY_ERROR &&
		(reply->code == CODE_NOMASTER || reply->code == CODE_GUARD || reply->code == CODE_MASTERERR);
	if ((reply->type == REPLY_NULL || away) && !v->once && !v->counted &&
		v->until_ms > host_ms(v->conn->host))
		world_fail(w,
			"in time: c%u is told before the WAIT of its MLOCK is over that it does not get all",
			v->conn->client->index);
}

static void
mlock_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	struct bundle_wait **at = wait_at(w, c);
	if (*at == NULL) {
		world_fail(w, "one answer: c%u is answered twice", c->client->index);
		return;
	}
	check_early(w, *at, reply);
	wait_remove(at);
	if (reply->type == REPLY_TOKENS)
		mlock_granted(w, c, reply);
}

/* So many are given back as the daemon holds, lost ones aside. */
static void
munlock_answered(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	int64_t known = 0, sure = 0;
	for (unsigned i = 0; i < r->count; i++) {
		struct hold *h = held_by(w, c, r->names[i], r->owner);
		if (h == NULL)
			continue;
		known++;
		sure += !h->lost && promised(w, PROMISE_HOLD, h->name) && h->valid_us > w->now_us;
		held_given_back(w, h);
	}
	if (reply->n < sure || reply->n > known)
		world_fail(w,
			"owner only: MUNLOCK of c%u gives back %" PRId64 " names, of %" PRId64
			" that it held for sure and %" PRId64 " at most",
			c->client->index, reply->n, sure, known);
}

void
bundles_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	if (c->current.verb == VERB_MLOCK)
		mlock_answered(w, c, reply);
	else if (c->current.verb == VERB_MUNLOCK)
		munlock_answered(w, c, reply);
}

void
bundles_step(struct world *w, const struct host *host, int64_t now_ms)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life && v->until_ms <= now_ms &&
			!handover_excuses(host))
			world_fail(w, "in time: c%u waits in an MLOCK %" PRId64 " ms longer than it wants",
				v->conn->client->index, now_ms - v->until_ms);
	for (unsigned i = 0; i < w->plan.names; i++)
		check_kept(w, host, i);
}

bool
bundles_since(const struct world *w, int64_t before_us)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->since_us < before_us)
			return true;
	return false;
}

void
bundles_check_progress(struct world *w, int64_t since_us, int64_t most_us)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next) {
		int64_t from = v->since_us > since_us ? v->since_us : since_us;
		if (w->now_us - from > most_us)
			world_fail(w,
				"progress: c%u waits in an MLOCK at d%u for %" PRId64
				" ms, while nothing is wrong",
				v->conn->client->index, v->conn->host->index, (w->now_us - from) / 1000);
	}
}
