/* picture: see picture.h. */
#include "tests/sim/world/picture.h"

#include "tests/sim/world/keys.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ID_SHOWN 6 /* first digits of a daemon-id, as traces have them */

/* ---- daemons ---- */

static void
print_session(const struct host *h, session_id session)
{
	const struct conn *c;
	printf("session %" PRIu64, session);
	LIST_FOREACH (c, &h->world->conns.open[h->index], in_place)
		if (conn_session(c) == session)
			printf(" c%u", c->client->index);
}

static bool
print_hold(void *arg, const struct hold_view *v)
{
	const struct host *h = arg;
	printf("; held by ");
	print_session(h, v->session);
	printf(" token %" PRId64 "%s, %s", v->token, v->withheld ? " withheld" : "", kind_word(v->kind));
	if (v->permits > 0)
		printf(" %" PRId64, v->permits);
	if (v->owner.n > 0)
		printf(" OWNER %.*s", (int)v->owner.n, v->owner.p);
	printf(", sure for %" PRId64 " ms", v->valid_ms);
	return true;
}

static bool
print_waiter(void *arg, const struct waiter_view *v)
{
	const struct host *h = arg;
	printf("; waits: ");
	print_session(h, v->session);
	printf(" %s, since %" PRId64 " ms", kind_word(v->kind), v->age_ms);
	if (v->left_ms >= 0)
		printf(", %" PRId64 " left", v->left_ms);
	return true;
}

static void
print_name(struct host *h, unsigned name)
{
	struct resource_view v;
	struct slice text = slice_of(checker_name(name));
	const struct last_note *last = &h->world->last_notes[h->index][name];
	char why[REPLY_TEXT_MAX];
	if (!core_view_resource(h->core, host_ms(h), text, &v))
		return;
	printf("  d%u %s: lease %s", h->index, checker_name(name), v.lease);
	if (v.lease_ms > 0)
		printf(" for %" PRId64 " ms by %u votes", v.lease_ms, v.votes);
	if (v.foreign.n > 0)
		printf(", another's: %.*s", (int)v.foreign.n, v.foreign.p);
	if (v.position > 0)
		printf(", place %" PRId64 " in the queue", v.position);
	if (v.wanted)
		printf(", wanted");
	core_each_hold(h->core, host_ms(h), text, print_hold, h);
	core_each_waiter(h->core, host_ms(h), text, print_waiter, h);
	if (core_view_reason(h->core, host_ms(h), text, why, sizeof(why)))
		printf("; not granted: %s", why);
	if (last->event != NULL)
		printf("; last %s at %" PRId64 ".%03d", last->event, last->at_us / 1000,
			(int)(last->at_us % 1000));
	if (last->event != NULL && last->ms >= 0)
		printf(" for %" PRId64 " ms", last->ms);
	printf("\n");
}

static void
print_host(struct host *h)
{
	struct world *w = h->world;
	if (!h->alive) {
		printf("  d%u is dead\n", h->index);
		return;
	}
	printf("  d%u %.*s", h->index, ID_SHOWN, h->call_settings.daemon_id);
	if (h->paused_until_us > w->now_us)
		printf(" stands still");
	if (core_draining(h->core))
		printf(" drains");
	for (unsigned i = 0; i < core_masters(h->core); i++) {
		struct master_view v;
		core_view_master(h->core, host_ms(h), i, &v);
		bool known = w->plan.replicas > 0 || h->place[i] < PLAN_MASTERS_MAX;
		printf(", m%d %s", known ? (int)host_way(h, i)->server->index : -1, v.condition);
		if (v.guard_ms > 0)
			printf(" for %" PRId64 " ms", v.guard_ms);
		if (v.reason[0] != '\0')
			printf(" (%s)", v.reason);
	}
	if (h->timer_us != INT64_MAX)
		printf(", timer due at %" PRId64 ".%03d", h->timer_us / 1000, (int)(h->timer_us % 1000));
	printf("\n");
	for (unsigned i = 0; i < w->plan.names; i++)
		print_name(h, i);
}

/* ---- masters ---- */

static int64_t
left_ms(const struct keys *k, int64_t till_us)
{
	return till_us == KEYS_NEVER ? -1 : (till_us - k->now_us) / 1000;
}

static void
print_key(struct server *s, unsigned name)
{
	struct keys k;
	keys_read(&k, s, name);
	printf("  m%u %s:", s->index, checker_name(name));
	if (k.lock == KEYS_FREE)
		printf(" free;");
	if (k.lock == KEYS_STRANGE)
		printf(" not holdfast's");
	for (unsigned i = 0; i < k.n; i++)
		if (keys_lives(&k, &k.members[i]))
			printf(" %s %.40s for %" PRId64 " ms;", k.lock == KEYS_ALONE ? "exclusive" : k.kind,
				k.members[i].owner, left_ms(&k, k.members[i].till_us));
	for (unsigned i = 0; i < k.places_n; i++)
		printf(" %u. in the queue %.*s for %" PRId64 " ms;", i + 1, ID_SHOWN, k.places[i].daemon,
			left_ms(&k, k.places[i].till_us));
	if (k.claim[0] != '\0')
		printf(" kept for %.*s", ID_SHOWN, k.claim);
	printf("\n");
}

/* ---- the judge ---- */

static void
print_judged(const struct world *w)
{
	for (const struct hold *h = w->checker.holds; h != NULL; h = h->next) {
		int64_t until_us = held_until_us(h);
		if (h->host_life != h->host->life || h->ended_us <= w->now_us)
			continue;
		printf("  judge: %s is held by session %" PRIu64 " of d%u, token %" PRId64 ", %" PRId64
		       " times%s%s%s",
			checker_name(h->name), h->session, h->host->index, h->token, h->count,
			h->owner[0] != '\0' ? ", OWNER " : "", h->owner, h->lost ? ", lost" : "");
		if (until_us > w->now_us)
			printf(", relied on until %" PRId64 ".%03d\n", until_us / 1000,
				(int)(until_us % 1000));
		else
			printf(", no longer relied on\n");
	}
	for (const struct wait *v = w->checker.waits; v != NULL; v = v->next)
		printf("  judge: %s is waited for by c%u at d%u since %" PRId64 ".%03d\n",
			checker_name(v->name), v->conn->client->index, v->conn->host->index,
			v->since_us / 1000, (int)(v->since_us % 1000));
}

void
picture_print(struct world *w)
{
	printf("What each has at the end, by its own clock (-1: without end), and what the judge knows:\n");
	for (unsigned i = 0; i < w->plan.hosts; i++)
		print_host(&w->hosts[i]);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		for (unsigned name = 0; name < w->plan.names && w->servers[i].up; name++)
			print_key(&w->servers[i], name);
	print_judged(w);
}
