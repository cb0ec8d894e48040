/* replication: see replication.h. */
#include "tests/sim/world/replication.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEK_US 20000 /* a replica without connection tries again after about so long */

/* What a script has changed: its commands, one behind the other, each as the number of its words and these.
 */
struct change {
	unsigned users;
	int64_t wall_us;
	char *bytes;
	size_t n;
	size_t room;
};

/* A change, or a copy of everything, on its way to a replica. */
struct parcel {
	LIST_ENTRY(parcel) in_world;
	unsigned from;
	struct reach reach;
	struct change *change; /* or */
	struct store *copy;
};

/* ---- changes ---- */

static void
change_put(struct change *c, const void *bytes, size_t n)
{
	if (c->n + n > c->room) {
		c->room = 2 * (c->n + n) + 256;
		c->bytes = realloc(c->bytes, c->room);
		assert(c->bytes != NULL);
	}
	if (n > 0)
		memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
}

static size_t
change_size(const struct change *c, size_t *at)
{
	size_t n;
	memcpy(&n, c->bytes + *at, sizeof(n));
	*at += sizeof(n);
	return n;
}

static void
change_free(struct change *c)
{
	if (c == NULL || --c->users > 0)
		return;
	free(c->bytes);
	free(c);
}

static void
on_change(void *arg, size_t argc, const struct slice *argv)
{
	struct replication *r = &((struct server *)arg)->replication;
	if (r->open == NULL) {
		r->open = calloc(1, sizeof(*r->open));
		assert(r->open != NULL);
		r->open->users = 1;
	}
	change_put(r->open, &argc, sizeof(argc));
	for (size_t i = 0; i < argc; i++) {
		change_put(r->open, &argv[i].n, sizeof(argv[i].n));
		change_put(r->open, argv[i].p, argv[i].n);
	}
}

/* As its master did it, by its master's clock: the end of a key travels as a time. */
static void
change_apply(struct server *s, const struct change *c)
{
	bool written = false;
	const struct store_env env = {.wall_us = c->wall_us, .written = &written};
	for (size_t at = 0; at < c->n;) {
		size_t argc = change_size(c, &at);
		struct slice *argv = malloc(argc * sizeof(*argv));
		assert(argv != NULL);
		for (size_t i = 0; i < argc; i++) {
			argv[i].n = change_size(c, &at);
			argv[i].p = c->bytes + at;
			at += argv[i].n;
		}
		freeReplyObject(store_run(master_store(s->master), &env, argc, argv));
		free(argv);
	}
}

/* ---- on the way ---- */

static void
parcel_empty(struct parcel *p)
{
	change_free(p->change);
	store_free(p->copy);
}

static int64_t
delay_us(struct world *w)
{
	return rng_range(&w->rng, w->plan.network_us / 2, w->plan.network_us * 2);
}

/* Until when nothing gets from one to the other. */
static int64_t
cut_until_us(const struct server *a, const struct server *b)
{
	const struct world *w = a->world;
	int64_t until_us = w->apart_until_us[a->index][b->index];
	until_us = a->stopped_until_us > until_us ? a->stopped_until_us : until_us;
	return b->stopped_until_us > until_us ? b->stopped_until_us : until_us;
}

static void
ack_arrives(void *arg, uint64_t line, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	const struct parcel *p = data;
	struct server *master = &w->servers[p->from];
	int64_t until_us = cut_until_us(s, master);
	if (s->replication.line == line && until_us > w->now_us) {
		schedule_again(&w->schedule, until_us);
		return;
	}
	if (s->replication.line == line && master->replication.stream.reign == p->reach.reign) {
		master->replication.acked[s->index] = p->reach.offset;
		wires_look(master);
	}
	free(data);
}

/* It has come so far. */
static void
replica_reached(struct server *s, const struct parcel *p)
{
	struct replication *r = &s->replication;
	struct world *w = s->world;
	struct parcel *ack = malloc(sizeof(*ack));
	assert(ack != NULL);
	*ack = (struct parcel){.from = p->from, .reach = p->reach};
	if (r->most[p->from].reign != p->reach.reign || r->most[p->from].offset < p->reach.offset)
		r->most[p->from] = p->reach;
	int64_t at_us = w->now_us + delay_us(w);
	r->acks_us = at_us > r->acks_us ? at_us : r->acks_us;
	schedule_add(&w->schedule, r->acks_us, ack_arrives, s, r->line, ack);
}

static void
parcel_arrives(void *arg, uint64_t line, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	struct parcel *p = data;
	int64_t until_us = cut_until_us(s, &w->servers[p->from]);
	bool ours = s->replication.line == line && s->up;
	if (ours && until_us > w->now_us) {
		schedule_again(&w->schedule, until_us);
		return;
	}
	if (ours && p->copy != NULL) {
		master_take(s->master, p->copy);
		p->copy = NULL;
		memset(s->token, 0, sizeof(s->token));
		trace_line(&w->trace, w->now_us, "m%u     has all of m%u", s->index, p->from);
	} else if (ours) {
		change_apply(s, p->change);
	}
	if (ours)
		replica_reached(s, p);
	LIST_REMOVE(p, in_world);
	parcel_empty(p);
	free(p);
}

static void
parcel_send(struct server *s, struct parcel parcel)
{
	struct replication *r = &s->replication;
	struct world *w = s->world;
	struct parcel *p = malloc(sizeof(*p));
	assert(p != NULL);
	*p = parcel;
	if (p->change != NULL)
		p->change->users++;
	LIST_INSERT_HEAD(&w->parcels, p, in_world);
	int64_t at_us = w->now_us + delay_us(w);
	r->arrives_us = at_us > r->arrives_us ? at_us : r->arrives_us;
	schedule_add(&w->schedule, r->arrives_us, parcel_arrives, s, r->line, p);
}

/* ---- who follows whom ---- */

static void
line_cut(struct server *s)
{
	struct replication *r = &s->replication;
	struct world *w = s->world;
	if (r->linked)
		w->servers[r->follows].replication.acked[s->index] = -1;
	r->linked = false;
	r->line = ++w->serials;
	r->arrives_us = r->acks_us = w->now_us;
}

static void
line_open(struct server *s)
{
	struct replication *r = &s->replication;
	struct server *master = &s->world->servers[r->follows];
	r->linked = true;
	master->replication.acked[s->index] = 0;
	parcel_send(s, (struct parcel){.from = master->index,
			       .reach = master->replication.stream,
			       .copy = store_copy(master_store(master->master))});
}

static void
seek(void *arg, uint64_t line, void *data)
{
	struct server *s = arg;
	struct world *w = s->world;
	struct replication *r = &s->replication;
	(void)data;
	if (r->line != line || r->follows < 0 || r->linked)
		return;
	const struct server *master = &w->servers[r->follows];
	if (s->up && master->up && master->replication.follows < 0 && !master->replication.outside &&
		cut_until_us(s, master) <= w->now_us)
		line_open(s);
	else
		world_after(w, rng_range(&w->rng, SEEK_US / 2, SEEK_US * 2), seek, s, line, NULL);
}

static void
line_seek(struct server *s)
{
	line_cut(s);
	world_after(s->world, delay_us(s->world), seek, s, s->replication.line, NULL);
}

static void
reign_begin(struct server *s)
{
	struct replication *r = &s->replication;
	r->stream = (struct reach){.reign = ++s->world->serials, .offset = 1};
	for (unsigned i = 0; i < PLAN_MASTERS_MAX; i++)
		r->acked[i] = -1;
}

/* Those who follow it have to connect again. */
static void
followers_cut(struct server *s)
{
	struct world *w = s->world;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		if (w->servers[i].replication.follows == (int)s->index)
			line_seek(&w->servers[i]);
}

void
replication_begin(struct world *w)
{
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		struct server *s = &w->servers[i];
		master_on_change(s->master, on_change, s);
		s->replication.outside = i >= plan_servers(&w->plan) - w->plan.joins;
		s->replication.follows = i == 0 || s->replication.outside ? -1 : 0;
		reign_begin(s);
		master_health(s->master)->readonly = i > 0;
	}
	for (unsigned i = 1; i < plan_servers(&w->plan) - w->plan.joins; i++)
		line_seek(&w->servers[i]);
}

void
replication_done(struct world *w)
{
	struct parcel *p;
	LIST_FOREACH (p, &w->parcels, in_world)
		parcel_empty(p);
	for (unsigned i = 0; i < plan_servers(&w->plan); i++)
		change_free(w->servers[i].replication.open);
}

void
replication_follow(struct server *s, unsigned master)
{
	struct replication *r = &s->replication;
	bool was = r->follows < 0 && !r->outside;
	if (r->follows == (int)master)
		return;
	trace_line(&s->world->trace, s->world->now_us, "m%u     follows m%u", s->index, master);
	line_cut(s);
	r->follows = (int)master;
	master_health(s->master)->readonly = true;
	if (was)
		followers_cut(s);
	wires_look(s);
	line_seek(s);
}

void
replication_promote(struct server *s)
{
	struct replication *r = &s->replication;
	if (r->follows < 0 || r->outside)
		return;
	trace_line(&s->world->trace, s->world->now_us, "m%u     is promoted", s->index);
	line_cut(s);
	r->follows = -1;
	s->ended_us = s->world->now_us;
	reign_begin(s);
	master_promote(s->master, rng_next(&s->world->rng));
	master_health(s->master)->readonly = false;
}

void
replication_join(struct server *s, unsigned master)
{
	trace_line(&s->world->trace, s->world->now_us, "m%u     joins", s->index);
	s->replication.outside = false;
	replication_follow(s, master);
}

void
replication_leave(struct server *s)
{
	struct replication *r = &s->replication;
	trace_line(&s->world->trace, s->world->now_us, "m%u     leaves", s->index);
	line_cut(s);
	r->follows = -1;
	r->outside = true;
	master_take(s->master, store_new());
	memset(r->most, 0, sizeof(r->most));
	reign_begin(s);
	wires_look(s);
}

void
replication_crashed(struct server *s)
{
	struct replication *r = &s->replication;
	reign_begin(s);
	followers_cut(s);
	master_health(s->master)->readonly = r->follows >= 0 || r->outside;
	if (r->follows >= 0)
		line_seek(s);
}

void
replication_resync(struct server *s)
{
	if (s->replication.follows >= 0 && s->replication.linked)
		line_seek(s);
}

void
replication_commit(struct server *s)
{
	struct replication *r = &s->replication;
	struct world *w = s->world;
	struct change *c = r->open;
	if (c == NULL)
		return;
	r->open = NULL;
	c->wall_us = server_wall_us(s);
	++r->stream.offset;
	for (unsigned i = 0; i < plan_servers(&w->plan); i++) {
		struct server *to = &w->servers[i];
		if (to->replication.follows == (int)s->index && to->replication.linked)
			parcel_send(to, (struct parcel){.from = s->index, .reach = r->stream, .change = c});
	}
	change_free(c);
}

unsigned
replication_connected(const struct server *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < plan_servers(&s->world->plan); i++)
		n += s->replication.acked[i] >= 0;
	return n;
}

unsigned
replication_acked(const struct server *s, int64_t offset)
{
	unsigned n = 0;
	for (unsigned i = 0; i < plan_servers(&s->world->plan); i++)
		n += s->replication.acked[i] > 0 && s->replication.acked[i] >= offset;
	return n;
}

bool
replication_known(const struct server *s, const struct reach *reach)
{
	const struct world *w = s->world;
	struct slice members, owner;
	char name[16];
	unsigned n = 1, all = plan_servers(&w->plan), first = all - w->plan.joins;
	for (unsigned i = 0; i < all; i++) {
		const struct reach *most = &w->servers[i].replication.most[s->index];
		/* Of an earlier reign it is not remembered. */
		n += i != s->index && (most->reign > reach->reign ||
					      (most->reign == reach->reign && most->offset >= reach->offset));
	}
	/* Of the others a majority will do, unless it was the master itself when the group was stored. */
	snprintf(name, sizeof(name), "m%u:1", s->index);
	if (!store_field(master_store(s->master), SLICE("hf:node"), SLICE(REPLICAS_MEMBERS), &members) ||
		(roster_take(&members, &owner) && !slice_equal(owner, slice_of(name))))
		first--;
	return n > first / 2;
}
