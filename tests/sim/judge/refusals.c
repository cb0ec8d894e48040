/* refusals: see refusals.h. */
#include "tests/sim/judge/refusals.h"

#include "tests/sim/judge/withheld.h"
#include "tests/sim/world/id_client.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WAKING_US 1000 /* all that came while it stood still has been seen by then */

/* What a daemon thinks of its masters. */
static struct opinion
opinion(const struct host *h)
{
	struct masterset_view set;
	core_view_masterset(h->core, &set);
	struct opinion o = {.refused = strcmp(set.word, "refused") == 0};
	for (unsigned i = 0; i < h->masters; i++) {
		struct master_view view;
		core_view_master(h->core, host_ms(h), i, &view);
		bool admitted = view.state == MASTER_ADMITTED && view.guard_ms == 0;
		o.admitted += admitted;
		o.usable += admitted && !view.down && view.links_up == h->world->plan.links;
		o.guarded += view.state == MASTER_GUARDED || view.guard_ms > 0;
	}
	return o;
}

void
refusals_before(struct host *h)
{
	h->opinion = opinion(h);
}

bool
refusals_lacks(const struct host *h)
{
	return opinion(h).usable < plan_majority(&h->world->plan);
}

void
refusals_granted(struct host *h, const struct note *n)
{
	if (h->opinion.refused && opinion(h).refused)
		world_fail(h->world, "refusal: d%u grants %.*s, and the masters refuse its list of them",
			h->index, (int)n->name.n, n->name.p);
}

/* It has all it needs, before and after this step. */
static bool
surely_can(const struct host *h)
{
	unsigned need = plan_majority(&h->world->plan);
	return !h->opinion.changed && h->opinion.usable >= need && opinion(h).usable >= need;
}

static bool
surely_cannot(const struct host *h)
{
	unsigned need = plan_majority(&h->world->plan);
	return !h->opinion.changed && h->opinion.admitted < need && opinion(h).admitted < need;
}

static bool
starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* In one step it finds that a wait is over, and that its lease is, or that a round came to nothing. */
static bool
woke(const struct host *h)
{
	return h->paused_until_us > 0 && h->world->now_us - h->paused_until_us <= WAKING_US;
}

/* It is told of a master that has answered no HELLO for too long, as its daemon stood still. */
static bool
is_unheard(const struct host *h, const char *text)
{
	return strstr(text, "has answered no HELLO") != NULL && woke(h);
}

static bool
is_down(const struct host *h, unsigned master)
{
	bool down = !server_sound(&h->world->servers[master]);
	for (unsigned k = 0; k < h->world->plan.links; k++)
		down |= !h->ways[master].wires[k].up;
	return down;
}

static bool
all_are_up(const struct host *h)
{
	bool up = true;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		up = up && !is_down(h, i);
	return up;
}

/* Nothing has been wrong between it and this master for longer than any answer takes. What has happened since
 * somebody looked last shows in the step that runs: a master or a link that is down now, a memory that went
 * back or was lost, a clock that jumped. */
static bool
is_well(const struct host *h, unsigned master)
{
	const struct world *w = h->world;
	const struct server *s = &w->servers[master];
	int64_t since_us = w->well.since_us[h->index][master], most_us = (w->plan.lease_ms + 4000) * 1000;
	int64_t forgot_us = s->forgot_us > s->given_up_us ? s->forgot_us : s->given_up_us;
	return since_us != INT64_MAX && w->now_us - since_us > most_us && !is_down(h, master) &&
	       forgot_us < since_us && !clock_jumps_noted(h) && promised(w, PROMISE_REFUSAL, PLAN_ANY_NAME);
}

/* So many masters are well for it that it can serve whatever it is asked. */
static bool
enough_are_well(const struct host *h)
{
	unsigned n = 0;
	for (unsigned i = 0; i < h->world->plan.masters; i++)
		n += is_well(h, i);
	return n >= plan_majority(&h->world->plan);
}

/* No guard lasts longer than the longest lease and J, so no answer may name a longer time. */
static void
check_resume(struct world *w, const struct conn *c, const char *text)
{
	static const char words[] = "new leases resume in ";
	const struct plan *p = &w->plan;
	int64_t most_ms = p->lease_ms + p->lease_ms / 100 + 2 + p->margin_ms;
	for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words)) {
		int64_t ms = strtoll(at + strlen(words), NULL, 10);
		if (ms < 0 || ms > most_ms)
			world_fail(w,
				"refusal: c%u is told that new leases resume in %" PRId64
				" ms, and a guard lasts for %" PRId64,
				c->client->index, ms, most_ms);
	}
}

/* Whether one of its masters has another set of masters: it went back to where it had accepted one. */
static bool
has_other_set(const struct host *h)
{
	const struct world *w = h->world;
	struct masterset_view set;
	struct slice text;
	bool other = false;
	core_view_masterset(h->core, &set);
	for (unsigned i = 0; i < w->plan.masters; i++)
		other |= store_field(
				 master_store(w->servers[i].master), SLICE("hf:node"), SLICE("set"), &text) &&
			 !slice_equal(text, slice_of(set.set));
	return other && strcmp(set.word, "refused") == 0;
}

static void
check_masters(struct world *w, const struct conn *c, const struct wait *v, enum code code, const char *text)
{
	const struct host *h = c->host;
	check_resume(w, c, text);
	if (!world_alike(w))
		return;
	bool late = starts(text, "the master did not answer") || starts(text, "the master has not");
	bool said = starts(text, "the master said");
	bool other = starts(text, "belongs to another set") && has_other_set(h);
	if (code == CODE_GUARD &&
		((surely_can(h) && !is_unheard(h, text)) || h->opinion.guarded + opinion(h).guarded == 0))
		world_fail(w, "refusal: c%u is told that masters are guarded: %s", c->client->index, text);
	if (code == CODE_NOMASTER && surely_can(h) && !late && !other && !is_unheard(h, text))
		world_fail(w, "refusal: c%u is told that masters are missing: %s", c->client->index, text);
	/* One whose clock jumped is sent HELLO anew. */
	if (code == CODE_NOMASTER && w->plan.masters == 1 && !late && !h->opinion.changed &&
		h->opinion.guarded + opinion(h).guarded == 2 && !clock_jumps_noted(h))
		world_fail(
			w, "refusal: c%u is not told that the master is guarded: %s", c->client->index, text);
	if (said != (code == CODE_MASTERERR))
		world_fail(w, "refusal: c%u is told -%s for what the master said: %s", c->client->index,
			code_word(code), text);
	/* What was answered while it stood still is there, unread. A WAIT that is over is told what was
	 * before. */
	if (v != NULL && v->until_ms > host_ms(h) && starts(text, "the master did not answer") && woke(h) &&
		w->plan.replicas == 0 && all_are_up(h))
		world_fail(w, "refusal: c%u is told -%s %s by a daemon that has stood still until now",
			c->client->index, code_word(code), text);
	if (!late && !other && enough_are_well(h))
		world_fail(w, "refusal: c%u is told -%s %s, and nothing is wrong", c->client->index,
			code_word(code), text);
}

/* Somebody has it here. A lease that nobody has is no reason while the masters are missing. */
static bool
is_had(const struct host *h, unsigned name)
{
	struct resource_view view;
	return core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) && view.held;
}

/* Others read it here, and no writer waits, here or elsewhere: whoever would read, too, may enter. */
static bool
is_read(const struct host *h, unsigned name)
{
	struct resource_view view;
	return !h->world->lost_here[h->index] && !h->world->released_here[h->index] &&
	       core_view_resource(h->core, host_ms(h), slice_of(checker_name(name)), &view) && view.held &&
	       view.hold.kind == KIND_SHARED && !view.hold.withheld && !view.wanted && view.waiters == 0 &&
	       strcmp(view.lease, "held") == 0 && view.lease_ms > h->world->plan.lease_ms * 2 / 3;
}

/* Nobody has had it or wanted it, from long before this was asked until now. */
static bool
was_free(const struct world *w, const struct wait *v)
{
	return v->free_us > 0 &&
	       v->since_us - v->free_us > (w->plan.lease_ms + w->plan.retain_ms + 1000) * 1000 &&
	       w->well.touched[v->name] == v->touched;
}

/* Whether it is a semaphore, has a key by its rule, or may be what another program wrote. */
static bool
may_be_other(struct world *w, unsigned name)
{
	return (name == 1 && w->plan.permits > 0) || (name < 2 && w->plan.mixed) ||
	       plan_keyed(&w->plan, name) || !promised(w, PROMISE_REFUSAL, name);
}

/* Whether a link that the next process has made is lost again, or text tells of one that has fallen silent.
 */
static bool
lost_a_link_since(const struct host *h, int64_t us, const char *text)
{
	bool lost = strstr(text, "does not answer") != NULL;
	for (unsigned i = 0; i < plan_servers(&h->world->plan); i++)
		lost |= h->ways[i].broke_us > us;
	return lost;
}

void
refusals_refused(struct world *w, const struct wait *v, enum code code, const char *text)
{
	const struct host *h = v->conn->host;
	if (code == CODE_NOMASTER || code == CODE_GUARD || code == CODE_MASTERERR)
		check_masters(w, v->conn, v, code, text);
	if (code == CODE_NOMASTER && !h->refusing && w->now_us < h->unread_until_us &&
		v->conn->current.wait_ms > 0 && v->until_ms <= host_ms(h) &&
		!lost_a_link_since(h, h->handed_us, text) && !h->lacked)
		world_fail(w, "handed over: c%u is told that the masters for %s are missing",
			v->conn->client->index, checker_name(v->name));
	if (code == CODE_WRONGKIND && !may_be_other(w, v->name))
		world_fail(w, "refusal: c%u is told that %s is of another kind: %s", v->conn->client->index,
			checker_name(v->name), text);
	if (code != CODE_COUNT || !world_alike(w))
		return;
	/* Who waits for permits is told of the masters also while others here have some. */
	if (surely_cannot(h) && (v->kind == KIND_PERMITS || !is_had(h, v->name)) && !w->lost_here[h->index] &&
		!w->released_here[h->index] && !withheld_ends(w, h, v->name) && !woke(h))
		world_fail(w, "refusal: c%u is not told that the masters for %s are missing",
			v->conn->client->index, checker_name(v->name));
	if (v->alone && v->here == w->well.here[h->index][v->name] && !fair_said(w, v))
		world_fail(w, "refusal: c%u is told that somebody has %s, and no master has said so",
			v->conn->client->index, checker_name(v->name));
	if (v->once && v->kind == KIND_SHARED && is_read(h, v->name))
		world_fail(w, "refusal: c%u is refused a share of %s, which others read",
			v->conn->client->index, checker_name(v->name));
	if (v->once && was_free(w, v) && enough_are_well(h))
		world_fail(w, "refusal: c%u is refused %s, which nobody has", v->conn->client->index,
			checker_name(v->name));
}

void
refusals_closed(struct world *w, const struct conn *c)
{
	/* The master may have gone behind the answer that tells so. */
	if (c->host->answers == NULL && surely_cannot(c->host) && !woke(c->host))
		world_fail(w,
			"refusal: c%u is told that a latch is closed, and not that the master is missing",
			c->client->index);
}

/* ---- what is held ---- */

static const struct hold *
any_hold(struct world *w, const struct conn *c, const char *owner)
{
	const struct request *r = &c->current;
	const struct hold *h = r->count == 0 ? held_by(w, c, r->name, owner) : NULL;
	for (unsigned i = 0; i < r->count && h == NULL; i++)
		h = held_by(w, c, r->names[i], owner);
	return h;
}

static bool
session_takes(const struct world *w, const struct conn *c)
{
	for (const struct bundle_wait *v = w->checker.bundles; v != NULL; v = v->next)
		if (v->conn->host == c->host && conn_session(v->conn) == conn_session(c))
			return true;
	return false;
}

static void
check_kind(struct world *w, const struct conn *c, const char *text)
{
	const struct request *r = &c->current;
	bool other = r->verb == VERB_DOWNGRADE || (r->count == 0 && may_be_other(w, r->name));
	for (unsigned i = 0; i < r->count; i++)
		other |= may_be_other(w, r->names[i]);
	if (!other)
		world_fail(w, "refusal: c%u is told that there is another kind of lock: %s", c->client->index,
			text);
}

void
refusals_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	const struct request *r = &c->current;
	if (reply->type != REPLY_ERROR)
		return;
	const struct hold *h = any_hold(w, c, r->owner);
	switch (reply->code) {
	case CODE_DRAINING:
		if (!c->host->refusing)
			world_fail(
				w, "refusal: c%u is told that d%u stops", c->client->index, c->host->index);
		return;
	case CODE_HELD:
		if (h == NULL && !session_takes(w, c))
			world_fail(
				w, "refusal: c%u is told that it holds what it does not", c->client->index);
		return;
	case CODE_UPGRADE:
		if (h == NULL || (h->kind != KIND_SHARED && h->permits >= r->permits))
			world_fail(w, "refusal: c%u is told that it has less of it", c->client->index);
		return;
	case CODE_WRONGKIND:
		if (r->verb != VERB_LOCK)
			check_kind(w, c, reply->text);
		return;
	case CODE_NOTHELD:
		if (r->verb != VERB_BREAK && h != NULL && held_surely(w, h) && h->ended_us >= w->now_us &&
			(r->token == 0 || r->token == h->token))
			world_fail(w, "refusal: c%u is told that it does not hold %s", c->client->index,
				checker_name(r->name));
		return;
	case CODE_ERR:
		if (r->verb == VERB_EXTEND && h != NULL && h->leased &&
			(r->token == h->token || !id_client_is(c)))
			world_fail(w, "refusal: c%u is told that its hold has no LEASE", c->client->index);
		return;
	case CODE_NOMASTER:
	case CODE_GUARD:
	case CODE_MASTERERR:
		if (r->verb == VERB_MLOCK)
			check_masters(w, c, NULL, reply->code, reply->text);
		else
			check_resume(w, c, reply->text);
		return;
	default:
		return;
	}
}
