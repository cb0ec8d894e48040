/* inbox: see inbox.h. */
#include "tests/sim/world/inbox.h"

#include "tests/sim/world/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
	enum event_type type;
	char name[FLIGHT_NAME_BYTES];
};

static void
inbox_message(void *arg, uint64_t life, void *data)
{
	struct inbox *inbox = arg;
	struct route *way = inbox->way;
	struct host *h = way->host;
	struct world *w = h->world;
	struct message *m = data;
	int64_t until =
		way->cut_back_until_us > h->paused_until_us ? way->cut_back_until_us : h->paused_until_us;
	if (!h->alive || inbox->life != life) {
		free(m);
		return;
	}
	if (until > w->now_us) {
		schedule_again(&w->schedule, until);
		return;
	}
	if (!route_aimed(way) || h->moving[route_master(way)]) {
		free(m);
		return;
	}
	if (m->type == EVENT_WAKE)
		progress_told(h, checker_name_of(slice_of(m->name)));
	trace_line(&w->trace, w->now_us, "m%u > d%u %s %s", way->server->index, h->index,
		m->type == EVENT_WAKE    ? "wake"
		: m->type == EVENT_WANT  ? "want"
		: m->type == EVENT_LATCH ? "latch"
					 : "flushed",
		m->name);
	struct event event = {.type = m->type, .master = route_master(way), .name = slice_of(m->name)};
	fair_before(h, &event);
	host_step(h, &event);
	fair_after(h, &event);
	free(m);
}

static bool
inbox_listens(const struct inbox *inbox)
{
	const struct server *s = inbox->way->server;
	return inbox->up && inbox->server_life == s->life && inbox->way->host->alive &&
	       s->world->now_us >= s->deaf_until_us;
}

static void
inbox_deliver(struct inbox *inbox, enum event_type type, struct slice name, int64_t delay_us)
{
	struct world *w = inbox->way->host->world;
	struct message *m = calloc(1, sizeof(*m));
	assert(m != NULL && name.n < sizeof(m->name));
	m->type = type;
	if (name.n > 0)
		memcpy(m->name, name.p, name.n);
	int64_t at = w->now_us + delay_us;
	if (at < inbox->arrives_us)
		at = inbox->arrives_us;
	inbox->arrives_us = at;
	schedule_add(&w->schedule, at, inbox_message, inbox, inbox->life, m);
}

/* And how long its word is, with the space. */
static enum event_type
message_type(struct slice message, size_t *word)
{
	static const struct {
		const char *word;
		enum event_type type;
	} types[] = {{"wake ", EVENT_WAKE}, {"want ", EVENT_WANT}, {"latch ", EVENT_LATCH}};
	size_t i = 0;
	while (message.n < strlen(types[i].word) ||
		memcmp(message.p, types[i].word, strlen(types[i].word)) != 0) {
		i++;
		assert(i < sizeof(types) / sizeof(types[0]));
	}
	*word = strlen(types[i].word);
	return types[i].type;
}

int
inbox_published(struct host *h, const struct server *s, struct slice channel, struct slice message)
{
	struct inbox *inbox = &h->ways[s->index].inbox;
	const char *id = h->call_settings.daemon_id;
	if (inbox_listens(inbox) && inbox->joined && slice_equal(channel, SLICE(SERVER_END_CHANNEL))) {
		inbox_deliver(inbox, EVENT_WAKE, slice_of(checker_name(2)), route_delay(inbox->way, false));
		return 1;
	}
	if (!inbox_listens(inbox) || channel.n < strlen(id) ||
		memcmp(channel.p + channel.n - strlen(id), id, strlen(id)) != 0)
		return 0;
	size_t word = 0;
	enum event_type type = message_type(message, &word);
	inbox_deliver(inbox, type, (struct slice){message.p + word, message.n - word},
		route_delay(inbox->way, false));
	return 1;
}

/* The answer to the subscription: what was published before has been missed. */
static void
inbox_joined(void *arg, uint64_t life, void *data)
{
	struct inbox *inbox = arg;
	(void)data;
	if (inbox->life != life || !inbox_listens(inbox) || !inbox->way->host->listens)
		return;
	inbox->joined = true;
	inbox_deliver(inbox, EVENT_WAKE, slice_of(checker_name(2)), route_delay(inbox->way, false));
}

void
inbox_listen(struct inbox *inbox, bool on)
{
	if (!on)
		inbox->joined = false;
	else if (inbox->up)
		world_after(inbox->way->host->world, route_delay(inbox->way, true), inbox_joined, inbox,
			inbox->life, NULL);
}

void
inbox_flushed(struct host *h, const struct server *s)
{
	struct inbox *inbox = &h->ways[s->index].inbox;
	struct rng *rng = &h->world->rng;
	if (!inbox_listens(inbox) || rng_percent(rng, 30))
		return;
	int64_t more_us = rng_percent(rng, 50) ? 0 : rng_range(rng, 0, h->world->plan.lease_ms * 300);
	inbox_deliver(
		inbox, EVENT_FLUSHED, (struct slice){NULL, 0}, route_delay(inbox->way, false) + more_us);
}

static void
inbox_connected(void *arg, uint64_t life, void *data)
{
	struct inbox *inbox = arg;
	struct route *way = inbox->way;
	struct host *h = way->host;
	struct world *w = h->world;
	(void)data;
	if (!h->alive || inbox->up || inbox->life != life || !route_aimed(way))
		return;
	if (h->handing || !route_opens(way) || (w->plan.changes && h->moving[route_master(way)])) {
		inbox_connect(inbox);
		return;
	}
	inbox->up = true;
	inbox->server_life = way->server->life;
	inbox->arrives_us = w->now_us;
	trace_line(&w->trace, w->now_us, "d%u     subscribed at m%u", h->index, way->server->index);
	if (h->listens)
		inbox_listen(inbox, true);
	bool quiet = wires_quiet(way);
	host_step(h, &(struct event){.type = EVENT_SUBSCRIBED, .master = route_master(way)});
	/* Where an answer is outstanding the master may be asked nothing else. */
	if (quiet && w->plan.masters == 1)
		checker_subscribed(w, h);
}

void
inbox_connect(struct inbox *inbox)
{
	struct world *w = inbox->way->host->world;
	if (!route_aimed(inbox->way))
		return;
	world_after(w, rng_range(&w->rng, 2 * w->plan.network_us, 100000), inbox_connected, inbox,
		inbox->life, NULL);
}

void
inbox_forget(struct inbox *inbox)
{
	inbox->up = false;
	inbox->joined = false;
	inbox->life++;
}

void
inbox_break(struct inbox *inbox)
{
	inbox_forget(inbox);
	inbox_connect(inbox);
}
