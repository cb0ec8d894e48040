/* answers: see answers.h. */
#include "tests/sim/judge/answers.h"

#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <string.h>

#define LOOK_MOST_MS 1000 /* with RETRIES: as often as a name that is held here is looked at */

static bool
waits_by_nature(enum verb verb)
{
	return verb == VERB_LOCK || verb == VERB_MLOCK || latches_verb(verb);
}

void
answers_command(struct world *w, const struct conn *c)
{
	const struct request *r = &c->current;
	const struct hold *h;
	/* A daemon that has found itself a copy ends in this very instant. */
	if (!c->open || c->ending || !c->host->alive || c->host->ending || c->host->life != c->host_life)
		return;
	if (c->busy && !waits_by_nature(r->verb))
		world_fail(w, "at once: c%u is not answered", c->client->index);
	if (r->verb != VERB_LOCK || !(c->busy || c->queued) || waits_find(w, c, r->id) == NULL)
		return;
	h = held_by(w, (struct conn *)c, r->name, r->owner);
	if (h != NULL && held_surely(w, h))
		world_fail(w, "at once: c%u asks for %s, which its session holds, and has to wait",
			c->client->index, checker_name(r->name));
}

/* So often at least it is looked at before RETRIES are over, while somebody has it here all the time. */
static int64_t
tried_ms(const struct world *w, const struct wait *v)
{
	const struct host *host = v->conn->host;
	int64_t third_ms = host->least_lease_ms[v->name] / 3;
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next)
		if (h->host == host && h->host_life == host->life && h->name == v->name &&
			h->kind == KIND_EXCLUSIVE && held_surely(w, h) && h->withheld_us == 0 &&
			h->ended_us > w->now_us && h->since_us < v->since_us)
			return (v->tries - 1) * (third_ms < LOOK_MOST_MS ? third_ms : LOOK_MOST_MS);
	return 0;
}

/* No more than so many attempts were refused since: each is a round, the one of then included, or, while a
 * hold of this daemon is in the way, its coming and each look at that (3.29). */
static int64_t
refusals_most(const struct world *w, const struct wait *v)
{
	const struct host *h = v->conn->host;
	int64_t third_ms = h->least_lease_ms[v->name] / 3;
	int64_t look_ms = third_ms < LOOK_MOST_MS ? third_ms : LOOK_MOST_MS;
	uint64_t rounds = w->progress.asking[h->index][v->name].began - v->began;
	/* By its own clock, in whole ms. */
	int64_t for_ms = (w->now_us - v->since_us) * 101 / 100000 + 2;
	int64_t looks = 1 + for_ms / (look_ms > 0 ? look_ms : 1);
	return (int64_t)rounds + v->asking + (v->had ? looks : 0);
}

void
answers_refused(struct world *w, const struct wait *v, enum code code)
{
	int64_t left_ms = v->until_ms - host_ms(v->conn->host);
	bool away = code == CODE_NOMASTER || code == CODE_GUARD || code == CODE_MASTERERR;
	if (v->once || left_ms <= 0 || v->stray || (code != CODE_COUNT && !away))
		return;
	if (v->tries == 0)
		world_fail(w, "in time: c%u is told before its WAIT for %s is over that it does not get it",
			v->conn->client->index, checker_name(v->name));
	else if (v->tries > refusals_most(w, v))
		world_fail(w,
			"in time: c%u is told that %s was refused %" PRId64 " times, of %" PRId64 " at most",
			v->conn->client->index, checker_name(v->name), v->tries, refusals_most(w, v));
	else if (code == CODE_COUNT && (w->now_us - v->since_us) * 101 / 100000 + 2 < tried_ms(w, v))
		world_fail(w,
			"in time: c%u is told after %" PRId64 " ms that %s was refused %" PRId64 " times",
			v->conn->client->index, (w->now_us - v->since_us) / 1000, checker_name(v->name),
			v->tries);
}

/* ---- what is told of a hold ---- */

struct sought {
	int64_t token;
	bool found;
	int64_t valid_ms;
};

static bool
seek(void *arg, const struct hold_view *view)
{
	struct sought *s = arg;
	if (view->token == s->token && !view->withheld) {
		s->found = true;
		s->valid_ms = view->valid_ms;
	}
	return !s->found;
}

void
answers_told(struct world *w, const struct conn *c, const struct hold *h, int64_t ms)
{
	struct sought s = {.token = h->token};
	struct resource_view view;
	int64_t now_ms = host_ms(c->host), most_ms, least_ms;
	core_each_hold(c->host->core, now_ms, slice_of(checker_name(h->name)), seek, &s);
	/* Within the same step another part of it may have ended the hold. */
	if (!s.found)
		return;
	most_ms = s.valid_ms - s.valid_ms / 100 - 1;
	least_ms = s.valid_ms - s.valid_ms / 50 - 4;
	if (ms > 0 && ms > most_ms)
		world_fail(w, "told: c%u is told that %s is good for %" PRId64 " ms, of %" PRId64,
			c->client->index, checker_name(h->name), ms, s.valid_ms);
	if (ms < least_ms || ms < 0)
		world_fail(w, "told: c%u is told that %s is good for %" PRId64 " ms only, of %" PRId64,
			c->client->index, checker_name(h->name), ms, s.valid_ms);
	if (ms > 0 && h->kind != KIND_PERMITS &&
		core_view_resource(c->host->core, now_ms, slice_of(checker_name(h->name)), &view) &&
		strcmp(view.lease, "held") == 0 && ms > view.lease_ms - view.lease_ms / 100 - 1)
		world_fail(w, "told: c%u is told that %s is good for %" PRId64 " ms, of a lease of %" PRId64,
			c->client->index, checker_name(h->name), ms, view.lease_ms);
	if (ms > 0 && ms > h->ends_ms - now_ms)
		world_fail(w, "told: c%u is told that %s is good for %" PRId64 " ms beyond its end",
			c->client->index, checker_name(h->name), ms - (h->ends_ms - now_ms));
}

/* ---- BREAK ---- */

void
answers_break(struct world *w, const struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	const struct hold *h = held_with(w, c->host, r->name, r->token);
	if (h == NULL || h->unannounced || !promised(w, PROMISE_HOLD, h->name))
		return;
	if (reply->type == REPLY_ERROR && held_surely(w, h) && h->ended_us > w->now_us &&
		!clock_jumps_noted(c->host))
		world_fail(w, "break: the hold of %s with token %" PRId64 " is there and is not found",
			checker_name(r->name), r->token);
	if (reply->type != REPLY_INT)
		return;
	if (!h->lost && held_surely(w, h) && h->withheld_us == 0)
		world_fail(w, "break: the hold of %s with token %" PRId64 " goes on", checker_name(r->name),
			r->token);
	if (h->ended_us > w->now_us && !clock_jumps_noted(c->host) &&
		reply->n * 1000 + 5000 + reply->n * 5 < h->told_us - w->now_us)
		world_fail(w,
			"break: %s is withheld for %" PRId64 " ms, and was told for %" PRId64 " us more",
			checker_name(r->name), reply->n, h->told_us - w->now_us);
}
