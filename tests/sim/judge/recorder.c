/* recorder: see recorder.h. */
#include "tests/sim/judge/recorder.h"

#include "tests/sim/judge/verdict.h"
#include "tests/sim/world/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLION     INT64_C(1000000)
#define LINE_BYTES  200
#define WITHOUT_END INT64_C(9999999999) /* a WAIT that is not limited, or by a rule */
#define WHO_BYTES   48
#define AS_BYTES    40

/* A client of the history: what a session asks with one tag, or without. */
struct recorded_client {
	struct recorded_client *next;
	char who[WHO_BYTES];
	char owner[8];
	char *text;
	size_t n;
	size_t room;
	uint64_t grants;  /* that it has read, */
	uint64_t answers; /* and answers */
	bool late;        /* its question is written when it is answered otherwise than by what it has */
	struct has {
		int64_t token;  /* that it was told; 0: it has nothing to do with the name */
		bool unclaimed; /* a CLAIM runs: to enter is to claim it, perhaps */
		bool asked;     /* a LOCK or MLOCK has no answer, */
		bool cut;       /* and had none when a connection ended */
	} of[PLAN_NAMES_MAX];
};

struct recorded_session {
	struct recorded_session *next;
	uint64_t number;
	bool shared;
	bool graced;
	bool bound;
	bool gone;
	bool over; /* the process that it was bound to has ended: what is asked then is not written */
	const char *onloss; /* NULL: not chosen */
	struct recorded_client *clients;
};

/* ---- lines ---- */

__attribute__((format(printf, 3, 4))) static void
line(struct recorded_client *t, int64_t at_us, const char *form, ...)
{
	va_list list;
	if (t->n + LINE_BYTES > t->room) {
		t->room = 2 * t->room + 4 * LINE_BYTES;
		t->text = realloc(t->text, t->room);
		assert(t->text != NULL);
	}
	t->n += (size_t)snprintf(t->text + t->n, LINE_BYTES, "%" PRId64 " ", at_us * 1000);
	va_start(list, form);
	int n = vsnprintf(t->text + t->n, LINE_BYTES - 32, form, list);
	va_end(list);
	assert(n > 0 && n < LINE_BYTES - 32);
	t->n += (size_t)n;
	t->text[t->n++] = '\n';
	t->text[t->n] = '\0';
}

static void
all(const struct recorded_session *s, int64_t at_us, const char *text)
{
	for (struct recorded_client *t = s->clients; t != NULL; t = t->next)
		line(t, at_us, "%s", text);
}

static bool
is_kept(const struct conn *c)
{
	return c->recorded != NULL && !c->recorded->over && !c->client->chaos.on;
}

/* ---- clients ---- */

static void
opens(const struct conn *c, struct recorded_client *t)
{
	line(t, c->world->now_us, "open %s d%u.%" PRIu64, c->local ? "unix" : "tcp", c->host->index,
		c->host_life);
}

static struct recorded_client *
recorded_client_find(const struct conn *c, const char *owner)
{
	struct recorded_client *t = c->recorded->clients;
	while (t != NULL && strcmp(t->owner, owner) != 0)
		t = t->next;
	return t;
}

static struct recorded_client *
recorded_client_of(const struct conn *c, const char *owner)
{
	int64_t now_us = c->world->now_us;
	struct recorded_session *s = c->recorded;
	struct recorded_client *t = recorded_client_find(c, owner);
	if (t != NULL)
		return t;
	t = calloc(1, sizeof(*t));
	assert(t != NULL);
	snprintf(t->who, sizeof(t->who), "c%u.%" PRIu64 "%s%s", c->client->index, s->number,
		owner[0] != '\0' ? "/" : "", owner);
	snprintf(t->owner, sizeof(t->owner), "%s", owner);
	t->next = s->clients;
	s->clients = t;
	opens(c, t);
	if (s->onloss != NULL)
		line(t, now_us, "onloss %s", s->onloss);
	if (s->graced) {
		line(t, now_us, "grace 1");
		line(t, now_us, "graced");
	}
	if (s->bound) {
		line(t, now_us, "bind");
		line(t, now_us, "bound 0");
	}
	return t;
}

static struct recorded_session *
recorded_session_new(struct world *w)
{
	struct recorded_session *s = calloc(1, sizeof(*s));
	assert(s != NULL);
	s->number = ++w->recorder.count;
	s->next = w->recorder.sessions;
	w->recorder.sessions = s;
	return s;
}

void
recorder_opens(struct conn *c)
{
	if (c->client->lost.returning && c->client->recorded != NULL) {
		c->recorded = c->client->recorded;
		for (struct recorded_client *t = c->recorded->clients; t != NULL; t = t->next)
			opens(c, t);
		return;
	}
	c->recorded = c->client->recorded = recorded_session_new(c->world);
}

/* ---- clocks ---- */

/* What a time that runs by the client's clock is in true time, and at most what runs by its daemon's. */
static int64_t
relied_ms(const struct conn *c, int64_t ms)
{
	return ms > 0 ? ms * MILLION / (MILLION + (c->local ? c->host->ppm : c->client->ppm)) : 0;
}

static int64_t
kept_ms(const struct conn *c, int64_t ms)
{
	return ms > 0 ? ms * MILLION / (MILLION + c->host->ppm) + 1 : 0;
}

/* ---- questions ---- */

static int64_t
wait_of(const struct request *r)
{
	return r->wait_ms >= 0 ? r->wait_ms : WITHOUT_END;
}

static const char *
form_of(const struct request *r, char *form, size_t size)
{
	if (r->kind == KIND_PERMITS)
		snprintf(form, size, "p%" PRId64 "/%" PRId64, r->permits, r->limit);
	else
		snprintf(form, size, "%s", r->kind == KIND_SHARED ? "s" : "x");
	return form;
}

/* ` as ID`, or nothing. At another daemon it is another session (5.11). */
static const char *
as_of(const struct conn *c, char *as, size_t size)
{
	as[0] = '\0';
	if (id_client_is(c))
		snprintf(as, size, " as %s@d%u.%" PRIu64, c->id_client.as, c->host->index, c->host_life);
	return as;
}

static void
terms(const struct conn *c, struct recorded_client *t, const struct request *r)
{
	if (r->lease_ms > 0 || r->max_hold_ms > 0 || r->claim_ms > 0)
		line(t, c->world->now_us, "terms %" PRId64 " %" PRId64 " %" PRId64, kept_ms(c, r->lease_ms),
			kept_ms(c, r->max_hold_ms), kept_ms(c, r->claim_ms));
}

static void
asks_lock(const struct conn *c, struct recorded_client *t, const struct request *r)
{
	struct has *has = &t->of[r->name];
	const char *name = checker_name(r->name);
	char form[32], as[2 * AS_BYTES];
	int64_t now_us = c->world->now_us;
	form_of(r, form, sizeof(form));
	as_of(c, as, sizeof(as));
	t->late = has->token != 0 && has->unclaimed && r->id[0] == '\0';
	if (!t->late)
		terms(c, t, r);
	if (r->id[0] != '\0')
		line(t, now_us, "queue %s %s %" PRId64 " %s", r->id, name, wait_of(r), form);
	else if (has->token != 0 && !t->late)
		line(t, now_us, "enter %s %s%s", name, form, as);
	else if (has->asked && !t->late)
		line(t, now_us, "again %s %" PRId64 " %s%s", name, wait_of(r), form, as);
	else if (!t->late)
		line(t, now_us, "ask %s %" PRId64 " %s%s", name, wait_of(r), form, as);
	has->asked = true;
}

static void
asks_several(const struct conn *c, struct recorded_client *t, const struct request *r)
{
	char names[64] = "", form[32];
	size_t n = 0;
	terms(c, t, r);
	for (unsigned i = 0; i < r->count; i++) {
		n += (size_t)snprintf(names + n, sizeof(names) - n, " %s", checker_name(r->names[i]));
		t->of[r->names[i]].asked |= r->verb == VERB_MLOCK;
	}
	if (r->verb == VERB_MLOCK)
		line(t, c->world->now_us, "mlock %" PRId64 " %s%s", wait_of(r),
			form_of(r, form, sizeof(form)), names);
	else
		line(t, c->world->now_us, "munlock%s", names);
}

/* Nobody heeds its answer, or it is about what nobody can have. */
static bool
is_left_out(const struct world *w, const struct request *r)
{
	bool takes = r->verb == VERB_LOCK || r->verb == VERB_MLOCK, other = false;
	if (r->verb == VERB_LOCK)
		other = plan_first(&w->plan, r->name) != r->name;
	for (unsigned i = 0; i < r->count; i++)
		other |= plan_first(&w->plan, r->names[i]) != r->names[i];
	return r->verb == VERB_BREAK || r->astray || r->token == CLIENT_WRONG_TOKEN || (takes && other);
}

void
recorder_asks(struct conn *c, const struct request *r)
{
	struct world *w = c->world;
	const char *name = checker_name(r->name), *owner = r->owner;
	char as[2 * AS_BYTES];
	if (!is_kept(c))
		return;
	as_of(c, as, sizeof(as));
	if (r->verb == VERB_SESSION_RESUME && c->client->lost.returning)
		all(c->recorded, w->now_us, "resume");
	if (r->verb == VERB_SESSION_GRACE && r->ms == 0) {
		all(c->recorded, w->now_us, "grace 0");
		c->recorded->graced = false;
	}
	if (latches_verb(r->verb) || r->verb >= VERB_SESSION_ID || is_left_out(w, r))
		return;
	if (r->verb == VERB_CANCEL)
		owner = c->client->lock.owner;
	struct recorded_client *t = recorded_client_of(c, owner);
	switch (r->verb) {
	case VERB_LOCK:
		asks_lock(c, t, r);
		return;
	case VERB_MLOCK:
	case VERB_MUNLOCK:
		asks_several(c, t, r);
		return;
	case VERB_CHECK:
		line(t, w->now_us, "check %s%s", name, as);
		return;
	case VERB_EXTEND:
		line(t, w->now_us, "extend %s %" PRId64 "%s", name, kept_ms(c, r->extend_ms), as);
		return;
	case VERB_DOWNGRADE:
		line(t, w->now_us, "downgrade %s%s", name, as);
		return;
	case VERB_UNLOCK:
		if (r->token != 0)
			line(t, w->now_us, "unlock %s %" PRId64 "%s", name, r->token, as);
		else
			line(t, w->now_us, "unlock %s%s", name, as);
		return;
	case VERB_CANCEL:
		line(t, w->now_us, "cancel %s", r->id);
		return;
	default:
		return;
	}
}

/* ---- answers ---- */

static void
has_it(struct recorded_client *t, const struct request *r, unsigned name, int64_t token)
{
	bool again = t->of[name].token == token;
	t->of[name] = (struct has){.token = token, .unclaimed = r->claim_ms > 0 && !again};
}

static void
reads_lock(
	const struct conn *c, struct recorded_client *t, const struct request *r, const struct reply *reply)
{
	int64_t now_us = c->world->now_us;
	struct has *has = &t->of[r->name];
	const char *name = checker_name(r->name);
	char as[2 * AS_BYTES];
	char form[32];
	bool granted = reply->type == REPLY_INT || reply->type == REPLY_VALIDITY;
	if (t->late && (granted ? reply->n != has->token : reply->type == REPLY_NULL)) {
		line(t, r->sent_us, "enter %s %s%s", name, form_of(r, form, sizeof(form)),
			as_of(c, as, sizeof(as)));
		t->late = false;
	}
	/* It may still have what it asked for before its connection was cut, or get it. */
	has->asked = reply->type == REPLY_QUEUED || has->cut;
	if (granted) {
		if (!t->late)
			line(t, now_us, "grant %s %" PRId64 " %" PRId64, name, reply->n,
				reply->type == REPLY_VALIDITY ? relied_ms(c, reply->ms) : 0);
		t->grants += !t->late;
		has_it(t, r, r->name, reply->n);
	} else if (reply->type == REPLY_NULL) {
		line(t, now_us, "null %s", name);
		*has = (struct has){.asked = has->cut, .cut = has->cut};
	} else if (reply->type == REPLY_QUEUED) {
		line(t, now_us, "queued %s", r->id);
	} else if (!t->late) {
		line(t, now_us, "error %s %s", r->id[0] != '\0' ? "ASYNC" : "LOCK", code_word(reply->code));
	}
	t->late = false;
}

static void
reads_several(
	const struct conn *c, struct recorded_client *t, const struct request *r, const struct reply *reply)
{
	int64_t now_us = c->world->now_us;
	char tokens[80] = "";
	size_t n = 0;
	for (size_t i = 0; reply->type == REPLY_TOKENS && i < reply->count; i++) {
		n += (size_t)snprintf(tokens + n, sizeof(tokens) - n, " %" PRId64, reply->tokens[i]);
		t->grants++;
		has_it(t, r, r->names[i], reply->tokens[i]);
	}
	if (reply->type == REPLY_TOKENS)
		line(t, now_us, "tokens%s", tokens);
	else if (reply->type == REPLY_NULL)
		line(t, now_us, "mnull");
	else if (reply->type == REPLY_INT)
		line(t, now_us, "munlocked %" PRId64, reply->n);
	else
		line(t, now_us, "error MLOCK %s", code_word(reply->code));
	for (unsigned i = 0; i < r->count; i++) {
		t->of[r->names[i]].asked = t->of[r->names[i]].cut;
		if (r->verb == VERB_MUNLOCK)
			t->of[r->names[i]] = (struct has){.token = 0};
	}
}

/* Of a hold. */
static void
reads_number(const struct conn *c, struct recorded_client *t, const struct request *r, int64_t n)
{
	int64_t now_us = c->world->now_us;
	const char *name = checker_name(r->name);
	t->of[r->name].unclaimed = false;
	if (r->verb == VERB_UNLOCK)
		line(t, now_us, "unlocked %s %" PRId64, name, n);
	else if (r->verb == VERB_CHECK)
		line(t, now_us, "valid %s %" PRId64, name, relied_ms(c, n));
	else if (r->verb == VERB_EXTEND)
		line(t, now_us, "extended %s %" PRId64, name, relied_ms(c, n));
	else if (r->verb == VERB_DOWNGRADE)
		line(t, now_us, "shared %s %" PRId64, name, n);
	else
		line(t, now_us, "cancelled %s %" PRId64, r->id, n);
	if (r->verb == VERB_CANCEL && n == 1)
		t->of[c->client->lock.name].asked = false;
	if (r->verb == VERB_UNLOCK && n == 0)
		t->of[r->name] = (struct has){.token = 0};
}

static void
reads_refusal(
	const struct conn *c, struct recorded_client *t, const struct request *r, const struct reply *reply)
{
	static const struct {
		enum verb verb;
		const char *word;
	} words[] = {{VERB_UNLOCK, "UNLOCK"}, {VERB_CHECK, "CHECK"}, {VERB_EXTEND, "EXTEND"},
		{VERB_DOWNGRADE, "DOWNGRADE"}};
	const char *word = "CANCEL";
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		word = words[i].verb == r->verb ? words[i].word : word;
	if (reply->type == REPLY_NULL)
		line(t, c->world->now_us, "none %s", checker_name(r->name));
	else
		line(t, c->world->now_us, "error %s %s", word, code_word(reply->code));
	if (reply->type == REPLY_ERROR && (reply->code == CODE_ERR || reply->code == CODE_WRONGKIND))
		t->of[r->name].unclaimed = false;
	if (r->verb == VERB_UNLOCK || reply->type == REPLY_NULL)
		t->of[r->name] = (struct has){.asked = t->of[r->name].cut, .cut = t->of[r->name].cut};
}

/* The name whose loss it tells: of several, the last word. */
static unsigned
lost_name(const struct request *r, const struct reply *reply)
{
	size_t text_n = strlen(reply->text);
	for (unsigned i = 0; i < r->count; i++) {
		char end[32];
		size_t n = (size_t)snprintf(end, sizeof(end), " of %s", checker_name(r->names[i]));
		if (text_n >= n && strcmp(reply->text + text_n - n, end) == 0)
			return r->names[i];
	}
	return r->name;
}

static void
reads_loss(
	const struct conn *c, struct recorded_client *t, const struct request *r, const struct reply *reply)
{
	unsigned name = lost_name(r, reply);
	char as[2 * AS_BYTES];
	/* An answer to what was written has the id of its question. */
	bool alone = t->late || r->token == CLIENT_WRONG_TOKEN;
	line(t, c->world->now_us, "lost %s%s", checker_name(name), alone ? as_of(c, as, sizeof(as)) : "");
	for (unsigned i = 0; i < r->count; i++)
		t->of[r->names[i]].asked = t->of[r->names[i]].cut;
	t->of[name] = (struct has){.token = 0};
	t->late = false;
}

/* Of the session, for all that speak for it. */
static void
reads_session(struct conn *c, const struct request *r, const struct reply *reply)
{
	struct recorded_session *s = c->recorded;
	int64_t now_us = c->world->now_us;
	char text[40];
	if (r->verb == VERB_SESSION_ONLOSS && reply->type == REPLY_OK) {
		s->onloss = r->onloss == ONLOSS_PUSH ? "push" : r->onloss == ONLOSS_NEXT ? "next" : "close";
		snprintf(text, sizeof(text), "onloss %s", s->onloss);
		all(s, now_us, text);
	} else if (r->verb == VERB_SESSION_BIND && reply->type == REPLY_INT) {
		s->bound = true;
		all(s, now_us, "bind");
		all(s, now_us, "bound 0");
	} else if (r->verb == VERB_SESSION_GRACE) {
		if (r->ms > 0 && reply->type == REPLY_TEXT) {
			all(s, now_us, "grace 1");
			s->graced = true;
		}
		if (r->ms == 0 || reply->type == REPLY_TEXT)
			all(s, now_us, reply->type == REPLY_TEXT ? "graced" : "error SESSION DRAINING");
	} else if (r->verb == VERB_SESSION_RESUME && c->client->lost.returning) {
		snprintf(text, sizeof(text), "resumed 0");
		if (reply->type != REPLY_INT)
			snprintf(text, sizeof(text), "error RESUME %s", code_word(reply->code));
		all(s, now_us, text);
		if (reply->type == REPLY_INT)
			return;
		recorder_gives_up(c->client);
		c->recorded = c->client->recorded = recorded_session_new(c->world);
	}
}

void
recorder_reads(struct conn *c, const struct request *r, const struct reply *reply)
{
	bool lost = reply->type == REPLY_ERROR && reply->code == CODE_LOST;
	if (!is_kept(c))
		return;
	if (r->verb >= VERB_SESSION_ID) {
		reads_session(c, r, reply);
		return;
	}
	if (latches_verb(r->verb) || (is_left_out(c->world, r) && !(lost && r->token == CLIENT_WRONG_TOKEN)))
		return;
	struct recorded_client *t =
		recorded_client_find(c, r->verb == VERB_CANCEL ? c->client->lock.owner : r->owner);
	if (t == NULL)
		return;
	size_t before = t->n;
	if (lost)
		reads_loss(c, t, r, reply);
	else if (r->verb == VERB_LOCK)
		reads_lock(c, t, r, reply);
	else if (r->verb == VERB_MLOCK || r->verb == VERB_MUNLOCK)
		reads_several(c, t, r, reply);
	else if (reply->type == REPLY_INT)
		reads_number(c, t, r, reply->n);
	else
		reads_refusal(c, t, r, reply);
	t->answers += t->n > before;
}

void
recorder_pushed(struct conn *c, enum push_type type, unsigned name, const char *id, int64_t token, int64_t ms,
	enum code code)
{
	const struct request *lock = &c->client->lock;
	int64_t now_us = c->world->now_us;
	char as[2 * AS_BYTES];
	if (!is_kept(c))
		return;
	if (type == PUSH_LOST) {
		for (struct recorded_client *t = c->recorded->clients; t != NULL; t = t->next)
			if (t->of[name].token == token) {
				line(t, now_us, "told %s %" PRId64 "%s", checker_name(name), token,
					as_of(c, as, sizeof(as)));
				t->of[name] = (struct has){.token = 0};
			}
		return;
	}
	struct recorded_client *t = strcmp(lock->id, id) == 0 ? recorded_client_find(c, lock->owner) : NULL;
	if (t == NULL)
		return;
	if (type == PUSH_FAILED) {
		t->of[lock->name].asked = false;
		line(t, now_us, "failed %s %s", id, code == CODE_COUNT ? "null" : code_word(code));
		return;
	}
	line(t, now_us, "pushed %s %" PRId64 " %" PRId64, id, token, relied_ms(c, ms));
	t->grants++;
	has_it(t, lock, lock->name, token);
}

/* ---- ends ---- */

void
recorder_quits(struct conn *c)
{
	char text[8 + 2 * AS_BYTES] = "quit";
	if (!is_kept(c))
		return;
	as_of(c, text + strlen(text), sizeof(text) - strlen(text));
	all(c->recorded, c->world->now_us, text);
}

void
recorder_ends(struct conn *c, bool peer)
{
	if (!is_kept(c))
		return;
	all(c->recorded, c->world->now_us, peer ? "end peer" : "end self");
	for (struct recorded_client *t = c->recorded->clients; t != NULL; t = t->next)
		for (unsigned i = 0; i < PLAN_NAMES_MAX; i++)
			t->of[i].cut |= t->of[i].asked;
}

void
recorder_forgets(struct client *client)
{
	const struct request *lock = &client->lock;
	struct conn *c = client->conn;
	struct recorded_client *t =
		is_kept(c) && lock->id[0] != '\0' ? recorded_client_find(c, lock->owner) : NULL;
	if (t != NULL)
		line(t, client->world->now_us, "gone %s", lock->id);
}

void
recorder_gives_up(struct client *client)
{
	struct recorded_session *s = client->recorded;
	if (s == NULL || s->gone || s->bound)
		return;
	s->gone = true;
	if (s->graced)
		all(s, client->world->now_us, "gone");
}

void
recorder_exits(struct conn *c)
{
	if (c->recorded == NULL || !c->recorded->bound)
		return;
	all(c->recorded, c->world->now_us, "killed");
	c->recorded->over = true;
}

void
recorder_waits(struct conn *c)
{
	const struct request *r = &c->current;
	if (!is_kept(c) || c->left || r->verb != VERB_LOCK || r->id[0] != '\0' || r->kind != KIND_EXCLUSIVE ||
		is_left_out(c->world, r))
		return;
	struct recorded_client *t = recorded_client_find(c, r->owner);
	if (t != NULL && !t->late)
		line(t, c->world->now_us, "waiting %s", checker_name(r->name));
}

void
recorder_joins(struct conn *c, uint64_t tag)
{
	struct conn *other;
	LIST_FOREACH (other, conns_tagged(&c->world->conns, tag), in_tag)
		if (other->tag == tag && other->recorded != c->recorded && other->recorded != NULL)
			other->recorded->shared = c->recorded->shared = true;
}

/* ---- the judge ---- */

/* A rule of the history, the rule of the simulator that it is, and the promise that decides whether it
 * counts; PROMISE_COUNT: it always does. */
static const struct {
	const char *of_history;
	const char *word;
	enum promise promise;
} known_rules[] = {{"exclusion", "exclusion", PROMISE_EXCLUSION}, {"repeats", "id", PROMISE_EXCLUSION},
	{"tokens", "tokens", PROMISE_TOKENS}, {"losses", "loss", PROMISE_HOLD},
	{"deadlines", "told", PROMISE_HOLD}, {"answers", "one answer", PROMISE_COUNT},
	{"re-entry", "re-entry", PROMISE_COUNT}, {"arrival", "order", PROMISE_COUNT}};

/* The name that `what` begins with, or any. */
static unsigned
name_of(const char *what)
{
	size_t n = strcspn(what, ":");
	unsigned name = 0;
	while (name < PLAN_ANY_NAME &&
		!(strlen(checker_name(name)) == n && memcmp(checker_name(name), what, n) == 0))
		name++;
	return name;
}

static void
found(void *arg, const char *rule, const char *what, const char *const *lines, size_t n)
{
	struct world *w = arg;
	size_t i = 0;
	while (strcmp(known_rules[i].of_history, rule) != 0)
		i++;
	enum promise promise = known_rules[i].promise;
	if (w->failed || (promise != PROMISE_COUNT && !promised(w, promise, name_of(what))))
		return;
	world_failed(w, "%s: %s, by the history: %s", known_rules[i].word, what, n > 0 ? lines[n - 1] : "");
	for (size_t k = 0; k < n; k++)
		trace_kept(&w->trace, w->now_us, "       %s", lines[k]);
}

/* Of who configures the daemons, and of who watches. */
static char *
terms_of(const struct world *w)
{
	const struct plan *p = &w->plan;
	struct recorded_client t = {.text = NULL};
	line(&t, 0, "lease %" PRId64, p->lease_ms);
	for (unsigned i = 0; i < p->names && p->max_hold_ms > 0; i++)
		if (!p->reloads && !p->fault[FAULT_RELOAD] && !p->rolls)
			line(&t, 0, "maxhold %s %" PRId64, checker_name(i),
				p->max_hold_ms + p->max_hold_ms / 100 + 1);
	/* waits.h and losses.h know for how long a daemon stood still. */
	line(&t, 0, "late %" PRId64, WITHOUT_END);
	line(&t, w->now_us, "until");
	return t.text;
}

/* All clients of the history, and who watches. The caller frees the array, and the lines of the first. */
static struct verdict_text *
texts_of(const struct world *w, size_t *n)
{
	struct verdict_text *texts;
	*n = 1;
	for (const struct recorded_session *s = w->recorder.sessions; s != NULL; s = s->next)
		for (const struct recorded_client *t = s->clients; t != NULL; t = t->next)
			++*n;
	texts = calloc(*n, sizeof(*texts));
	assert(texts != NULL);
	texts[0] = (struct verdict_text){"world", terms_of(w)};
	*n = 1;
	for (const struct recorded_session *s = w->recorder.sessions; s != NULL; s = s->next)
		for (const struct recorded_client *t = s->clients; t != NULL && !s->shared; t = t->next)
			texts[(*n)++] = (struct verdict_text){t->who, t->text};
	return texts;
}

static void
texts_free(struct verdict_text *texts)
{
	free(texts[0].lines);
	free(texts);
}

void
recorder_print(struct world *w)
{
	size_t n = 0;
	if (!w->recorder.print)
		return;
	struct verdict_text *texts = texts_of(w, &n);
	w->recorder.print = false;
	for (size_t i = 0; i < n; i++)
		printf("client %s\n%s", texts[i].client, texts[i].lines);
	texts_free(texts);
}

void
recorder_judge(struct world *w)
{
	size_t n = 0;
	char error[256];
	recorder_print(w);
	if (w->failed)
		return;
	for (const struct recorded_session *s = w->recorder.sessions; s != NULL; s = s->next)
		for (const struct recorded_client *t = s->clients; t != NULL && !s->shared; t = t->next) {
			w->recorder.judged.clients++;
			w->recorder.judged.grants += t->grants;
			w->recorder.judged.answers += t->answers;
		}
	struct verdict_text *texts = texts_of(w, &n);
	if (!verdict(texts, n, found, w, error, sizeof(error))) {
		fprintf(stderr, "no line of a history: %s\n", error);
		abort();
	}
	texts_free(texts);
}

void
recorder_done(struct world *w)
{
	for (struct recorded_session *s = w->recorder.sessions, *next; s != NULL; s = next) {
		next = s->next;
		for (struct recorded_client *t = s->clients, *after; t != NULL; t = after) {
			after = t->next;
			free(t->text);
			free(t);
		}
		free(s);
	}
	w->recorder = (struct recorder){.sessions = NULL};
}
