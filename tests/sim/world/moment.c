/* moment: see moment.h. */
#include "tests/sim/world/moment.h"

#include "tests/sim/world/request.h"
#include "tests/sim/world/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const events[] = {
	[EVENT_OPEN] = "a connection opens",
	[EVENT_RETURN] = "a connection returns",
	[EVENT_PEER] = "a client is named",
	[EVENT_NO_PUSH] = "a client changes RESP",
	[EVENT_FINISH] = "no more requests",
	[EVENT_CLOSE] = "a connection closes",
	[EVENT_COMMAND] = "a request",
	[EVENT_ALIVE] = "a sign of life",
	[EVENT_BREAK] = "a BREAK of another daemon",
	[EVENT_ELSEWHERE] = "another daemon holds it for the id",
	[EVENT_BIND] = "SESSION BIND",
	[EVENT_MASTERS] = "MASTERS",
	[EVENT_EXIT] = "a process ends",
	[EVENT_UNSEEN] = "a process cannot be seen",
	[EVENT_LINK_UP] = "a link is up",
	[EVENT_LINK_DOWN] = "a link is down",
	[EVENT_SUBSCRIBED] = "an inbox listens",
	[EVENT_FLUSHED] = "a flush",
	[EVENT_VOTE] = "a vote",
	[EVENT_WAKE] = "a wake-up",
	[EVENT_WANT] = "another daemon wants a lease",
	[EVENT_LATCH] = "a latch has changed",
	[EVENT_TIMER] = "its timer",
	[EVENT_DRAIN] = "DRAIN",
};

static void
note_name(struct moment *m, struct slice name)
{
	snprintf(m->name, sizeof(m->name), "%.*s", (int)name.n, name.n > 0 ? name.p : "");
}

void
moment_step(struct world *w, struct host *h, const struct event *event)
{
	struct moment *m = &w->moment;
	m->host = h;
	m->event = event->type;
	m->told = NULL;
	m->server = NULL;
	note_name(m, event->name);
	if (event->type != EVENT_VOTE)
		return;
	bool there = w->plan.replicas > 0 || h->place[event->vote->master] < PLAN_MASTERS_MAX;
	m->server = there ? host_way(h, event->vote->master)->server : NULL;
	m->op = event->vote->op;
	note_name(m, event->vote->name);
}

void
moment_runs(struct server *s, const struct call *call)
{
	struct moment *m = &s->world->moment;
	*m = (struct moment){.server = s, .op = call->op};
	note_name(m, call->name);
}

struct line {
	char *out;
	size_t size;
	size_t at;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
add(struct line *l, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vsnprintf(l->out + l->at, l->size - l->at, format, list);
	va_end(list);
	l->at += (size_t)n < l->size - l->at ? (size_t)n : l->size - l->at - 1;
}

/* A client, its session and its request that is asked or answered; it may have none. */
static void
add_client(struct line *l, const struct conn *c)
{
	char asked[160];
	request_text(&c->current, asked, sizeof(asked));
	add(l, " c%u, session %" PRIu64 " of d%u", c->client->index, conn_session(c), c->host->index);
	if (c->id_client.as[0] != '\0')
		add(l, ", AS %s", c->id_client.as);
	if (c->busy || c->queued)
		add(l, ", %s", asked);
}

void
moment_text(const struct world *w, char *out, size_t size)
{
	const struct moment *m = &w->moment;
	struct line l = {out, size, 0};
	add(&l, "%" PRId64 ".%03d", w->now_us / 1000, (int)(w->now_us % 1000));
	if (m->host != NULL)
		add(&l, ", d%u at %" PRId64 " ms of its clock: %s", m->host->index, host_ms(m->host),
			events[m->event]);
	if (m->server != NULL && m->host == NULL)
		add(&l, ", m%u runs", m->server->index);
	if (m->server != NULL && m->host != NULL)
		add(&l, " of m%u for", m->server->index);
	if (m->server != NULL)
		add(&l, " %s", scripts[m->op].name);
	if (m->name[0] != '\0')
		add(&l, " %s", m->name);
	if (m->asks != NULL) {
		add(&l, " of");
		add_client(&l, m->asks);
	}
	if (m->told != NULL && m->told != m->asks) {
		add(&l, "; it tells");
		add_client(&l, m->told);
	}
	if (m->host == NULL && m->server == NULL)
		add(&l, ", at a look of the judge, in no step of a daemon");
}
