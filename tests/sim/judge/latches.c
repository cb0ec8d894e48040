/* latches: see latches.h. */
#include "tests/sim/judge/latches.h"

#include "daemon/redis/vote.h"
#include "tests/sim/fault/handover.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 25000

/* The first is a lock as well. */
static const char *const names[PLAN_LATCHES_MAX] = {"a", "l"};

const char *
latches_name(unsigned name)
{
	assert(name >= PLAN_NAMES_MAX && name < PLAN_NAMES_MAX + PLAN_LATCHES_MAX);
	return names[name - PLAN_NAMES_MAX];
}

bool
latches_verb(enum verb verb)
{
	return verb == VERB_LATCH_SET || verb == VERB_LATCH_DOWN || verb == VERB_LATCH_AWAIT ||
	       verb == VERB_LATCH_COUNT;
}

static struct latch_tale *
tale_of(struct server *s, struct slice name)
{
	unsigned i = 0;
	while (!slice_equal(name, slice_of(names[i]))) {
		i++;
		assert(i < PLAN_LATCHES_MAX);
	}
	return &s->world->latches.of[s->index][i];
}

void
latches_done(struct world *w)
{
	struct latches *l = &w->latches;
	for (unsigned i = 0; i < PLAN_MASTERS_MAX * PLAN_LATCHES_MAX; i++)
		free(l->of[i / PLAN_LATCHES_MAX][i % PLAN_LATCHES_MAX].words);
	for (struct latch_wait *v = l->waits, *next; v != NULL; v = next) {
		next = v->next;
		free(v);
	}
	*l = (struct latches){.waits = NULL};
}

/* ---- what the master says ---- */

static void
word_add(struct latch_tale *t, const struct latch_word *word)
{
	if (t->n == t->room) {
		t->room = t->room == 0 ? 64 : 2 * t->room;
		t->words = realloc(t->words, t->room * sizeof(*t->words));
		assert(t->words != NULL);
	}
	t->words[t->n++] = *word;
}

/* Of the i-th of n calls; who asked and his tag may be gone by now, what was sent is not. */
static void
word_by(struct latch_word *word, const struct call_command *command, size_t n, size_t i)
{
	int who = command->argc - (int)n + (int)i, daemon = 3 + (int)(n + 1) + 1;
	snprintf(word->by, sizeof(word->by), "%.*s:%.*s", (int)command->argvlen[daemon],
		command->argv[daemon], (int)command->argvlen[who], command->argv[who]);
}

static void
word_make(struct latch_word *word, const struct call *call, const struct vote *vote)
{
	word->op = call->latch_op;
	word->steps = call->steps;
	word->meant = call->latch;
	word->there = vote->outcome == OUTCOME_YES;
	word->state = vote->latch;
}

void
latches_ran(struct server *s, const struct flight *b)
{
	const struct host *h = b->wire->way->host;
	const struct call *calls = b->calls;
	struct world *w = s->world;
	size_t n = b->n;
	struct vote votes[CALL_GROUP_MAX];
	if (calls[0].op != CALL_LATCH)
		return;
	call_decode(b->reply, calls, n, votes);
	for (size_t i = 0; i < n; i++) {
		struct latch_word word = {.at_us = w->now_us,
			.host = h,
			.host_life = b->host_life,
			.server = s->index,
			.reach = b->reach};
		if (votes[i].outcome != OUTCOME_YES && votes[i].outcome != OUTCOME_NO)
			continue;
		word_make(&word, &calls[i], &votes[i]);
		if (calls[i].latch_op == LATCH_OP_DOWN)
			word_by(&word, &b->command, n, i);
		word_add(tale_of(s, calls[i].name), &word);
	}
}

/* ---- what daemons answer ---- */

static void
by_of(const struct conn *c, char *by)
{
	const struct request *r = &c->current;
	snprintf(by, LATCH_BY_BYTES, "%s:%" PRIu64 "%s%s", c->host->call_settings.daemon_id, conn_session(c),
		r->owner[0] != '\0' ? ":" : "", r->owner);
}

void
latches_command(struct world *w, struct conn *c)
{
	const struct request *r = &c->current;
	bool waits = r->verb == VERB_LATCH_AWAIT && r->wait_ms > 0;
	struct latch_wait *v = calloc(1, sizeof(*v));
	assert(v != NULL);
	*v = (struct latch_wait){.next = w->latches.waits,
		.conn = c,
		.name = r->name,
		.since_us = w->now_us,
		.after = w->latches.asked[c->host->index],
		.open_us = INT64_MAX,
		.until_ms = host_ms(c->host) + (waits ? r->wait_ms : 4001)};
	by_of(c, v->by);
	w->latches.waits = v;
}

static struct latch_wait **
wait_at(struct world *w, const struct conn *c)
{
	struct latch_wait **at = &w->latches.waits;
	while (*at != NULL && (*at)->conn != c)
		at = &(*at)->next;
	return at;
}

static void
wait_remove(struct latch_wait **at)
{
	struct latch_wait *v = *at;
	*at = v->next;
	free(v);
}

void
latches_finished(struct world *w, struct conn *c)
{
	struct latch_wait *v = *wait_at(w, c);
	int64_t until_ms = host_ms(c->host) + 4001;
	if (v == NULL)
		return;
	v->once = true;
	if (v->until_ms > until_ms)
		v->until_ms = until_ms;
}

void
latches_closed(struct world *w, const struct conn *c)
{
	struct latch_wait **at = wait_at(w, c);
	if (*at != NULL)
		wait_remove(at);
}

void
latches_called(struct host *h, const struct call *call)
{
	if (call->op == CALL_LATCH)
		h->world->latches.asked[h->index] = call->attempt;
}

void
latches_voted(struct host *h, const struct vote *vote)
{
	if (vote->op != CALL_LATCH || vote->outcome != OUTCOME_YES)
		return;
	for (struct latch_wait *v = h->world->latches.waits; v != NULL; v = v->next) {
		if (v->conn->host != h || v->conn->host_life != h->life || vote->attempt <= v->after ||
			v->conn->current.verb != VERB_LATCH_AWAIT ||
			!slice_equal(vote->name, slice_of(latches_name(v->name))))
			continue;
		if (v->first == 0)
			v->first = vote->latch.id;
	}
}

/* Whether what the master said is what this request is answered by. */
static bool
word_answers(const struct latch_word *word, const struct latch_wait *v, const struct reply *reply)
{
	const struct conn *c = v->conn;
	bool own = word->host == c->host && word->host_life == c->host_life;
	bool open = word->there && word->state.left == 0;
	int64_t steps = c->current.steps > 0 ? c->current.steps : 1;
	switch (c->current.verb) {
	case VERB_LATCH_SET:
		return own && word->op == LATCH_OP_SET && word->there && word->steps == c->current.steps &&
		       (word->meant == word->state.id) == (reply->n == 1);
	case VERB_LATCH_DOWN:
		return reply->type == REPLY_ERROR
			       ? !word->there
			       : own && word->op == LATCH_OP_DOWN && word->there &&
					 word->meant == word->state.id && word->state.left == reply->n &&
					 word->steps == steps && strcmp(word->by, v->by) == 0;
	case VERB_LATCH_AWAIT:
		return reply->type == REPLY_NULL ? !open
						 : open && (v->first == 0 || word->state.id == v->first);
	default:
		return reply->type == REPLY_NULL ? !word->there : word->there && word->state.left == reply->n;
	}
}

/* Whether it rests on nothing that a failover may lose, and that is unknown elsewhere. */
static bool
word_counts(const struct world *w, const struct latch_word *word)
{
	return w->plan.replicas == 0 || replication_known(&w->servers[word->server], &word->reach);
}

/* What the master said since the request came; of another memory than before, or of another latch. */
static bool
tale_answers(const struct world *w, const struct latch_tale *t, const struct latch_wait *v,
	const struct reply *reply)
{
	for (size_t i = t->n; i > 0 && t->words[i - 1].at_us >= v->since_us; i--)
		if (word_answers(&t->words[i - 1], v, reply) && word_counts(w, &t->words[i - 1]))
			return true;
	return false;
}

/* It has ended, or been forgotten, as far as the master said since. id: as another master said before; 0:
 * none has. */
static bool
tale_lost(const struct world *w, const struct latch_tale *t, const struct latch_wait *v, uint64_t *id)
{
	for (size_t i = t->n; i > 0 && t->words[i - 1].at_us >= v->since_us; i--) {
		const struct latch_word *word = &t->words[i - 1];
		if (!word_counts(w, word))
			continue;
		if (!word->there || (*id != 0 && word->state.id != *id) ||
			(word->op == LATCH_OP_DOWN && word->meant != word->state.id))
			return true;
		*id = word->state.id;
	}
	return false;
}

/* Whether any master has said what it is answered by. */
static bool
is_said(const struct world *w, const struct latch_wait *v, const struct reply *reply)
{
	bool lost = reply->type == REPLY_ERROR && reply->code == CODE_LOST;
	bool said = false;
	uint64_t id = 0;
	for (unsigned i = 0; i < plan_servers(&w->plan) && !said; i++) {
		const struct latch_tale *t = &w->latches.of[i][v->name - PLAN_NAMES_MAX];
		said = lost ? tale_lost(w, t, v, &id) : tale_answers(w, t, v, reply);
	}
	return said;
}

void
latches_reply(struct world *w, struct conn *c, const struct reply *reply)
{
	struct latch_wait **at = wait_at(w, c);
	const struct latch_wait *v = *at;
	if (v == NULL) {
		world_fail(w, "one answer: c%u is answered twice", c->client->index);
		return;
	}
	bool error = reply->type == REPLY_ERROR;
	bool fine = error;
	if (w->plan.masters > 1 && !(error && reply->code == CODE_ERR))
		world_fail(
			w, "latch: several masters answer c%u otherwise than by a refusal", c->client->index);
	else if (w->plan.masters == 1 && (!error || reply->code == CODE_ERR || reply->code == CODE_LOST))
		fine = is_said(w, v, reply);
	bool once = v->once || c->current.wait_ms == 0;
	if (c->current.verb == VERB_LATCH_AWAIT && reply->type == REPLY_NULL && !once &&
		v->until_ms > host_ms(c->host))
		world_fail(w, "in time: c%u is told before its WAIT is over that the latch %s is closed",
			c->client->index, latches_name(v->name));
	if (c->current.verb == VERB_LATCH_AWAIT && reply->type == REPLY_NULL)
		refusals_closed(w, c);
	if (!fine)
		world_fail(w, "latch: c%u is answered what the master has not said since it asked for %s",
			c->client->index, latches_name(v->name));
	wait_remove(at);
}

void
latches_step(struct world *w, const struct host *host, int64_t now_ms)
{
	for (const struct latch_wait *v = w->latches.waits; v != NULL; v = v->next)
		if (v->conn->host == host && v->conn->host_life == host->life && v->until_ms <= now_ms &&
			!handover_excuses(host))
			world_fail(w,
				"in time: c%u waits for the latch %s %" PRId64 " ms longer than it wants",
				v->conn->client->index, latches_name(v->name), now_ms - v->until_ms);
}

bool
latches_wait(const struct world *w)
{
	return w->latches.waits != NULL;
}

/* ---- who waits ---- */

/* Whether it is open at the master, now, for everybody who asks. */
static bool
is_open(const struct server *s, const char *name)
{
	struct store *store = master_store(s->master);
	struct slice memory, now, set, done;
	char text[32];
	snprintf(text, sizeof(text), "hf:{%s}:l", name);
	struct slice key = slice_of(text);
	return store_exists(store, server_wall_us(s), key) &&
	       store_field(store, key, SLICE("memory"), &memory) &&
	       store_field(store, SLICE("hf:node"), SLICE("incarnation"), &now) && slice_equal(memory, now) &&
	       store_field(store, key, SLICE("set"), &set) && store_field(store, key, SLICE("done"), &done) &&
	       strtoll(done.p, NULL, 10) >= strtoll(set.p, NULL, 10);
}

/* A look of each, and the ways there and back. */
static int64_t
most_us(const struct world *w)
{
	int64_t third_ms = w->plan.lease_ms / 3 < 1000 ? w->plan.lease_ms / 3 : 1000;
	return (third_ms + 300) * 1000 + 8 * (2 * w->plan.network_us + w->plan.spread_us) + 100000;
}

/* Whether nothing keeps it from being answered. */
static bool
can_be_answered(const struct world *w, const struct latch_wait *v)
{
	const struct conn *c = v->conn;
	const struct server *s = &w->servers[0];
	struct master_view master;
	if (c->current.verb != VERB_LATCH_AWAIT || c->host_life != c->host->life || c->closing || c->ending ||
		!host_sound_at(c->host, s) || !server_sound(s) || !is_open(s, latches_name(v->name)))
		return false;
	core_view_master(c->host->core, host_ms(c->host), 0, &master);
	return !master.down;
}

static void
look_at(struct world *w, struct latch_wait *v)
{
	if (!can_be_answered(w, v)) {
		v->open_us = INT64_MAX;
		return;
	}
	if (v->open_us == INT64_MAX)
		v->open_us = w->now_us;
	if (w->now_us - v->open_us > most_us(w))
		world_fail(w, "progress: c%u waits for the latch %s, which has been open for %" PRId64 " ms",
			v->conn->client->index, latches_name(v->name), (w->now_us - v->open_us) / 1000);
}

static void
look(void *arg, uint64_t a, void *data)
{
	struct world *w = arg;
	(void)a;
	(void)data;
	for (struct latch_wait *v = w->latches.waits; v != NULL; v = v->next)
		look_at(w, v);
	world_after(w, EVERY_US, look, w, 0, NULL);
}

void
latches_watch(struct world *w)
{
	if (w->plan.latches > 0 && w->plan.masters == 1 && w->plan.replicas == 0)
		world_after(w, EVERY_US, look, w, 0, NULL);
}
