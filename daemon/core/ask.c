#include "daemon/core/ask.h"

#include "daemon/core/emit.h"
#include "daemon/core/grave.h"
#include "daemon/core/mint.h"
#include "daemon/core/queue.h"
#include "daemon/core/quorum.h"
#include "daemon/core/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- keeping ---- */

static enum ask_kind
kind_of(enum verb verb)
{
	switch (verb) {
	case VERB_LATCH_SET:
		return ASK_SET;
	case VERB_LATCH_DOWN:
		return ASK_DOWN;
	case VERB_LATCH_AWAIT:
		return ASK_AWAIT;
	default:
		assert(verb == VERB_LATCH_COUNT);
		return ASK_COUNT;
	}
}

static bool
is_patient(const struct ask *a)
{
	return a->conn != NULL && !a->once;
}

static int64_t
until_ms(const struct core *core, const struct ask *a, int64_t wait_ms)
{
	if (a->once)
		return queue_once_until(core);
	return wait_ms < 0 ? TIMER_NEVER : core->now.ms + wait_ms;
}

struct ask *
ask_add(struct core *core, struct latch *l, struct conn *conn, const struct command *c, int64_t wait_ms)
{
	struct ask *a = grave_new(core, sizeof(*a) + c->owner.n);

	if (a == NULL)
		return NULL;
	a->id = kind_of(c->verb) == ASK_SET ? core_chance(core) | 1 : 0;
	a->ends_ms = c->lease_ms > 0 ? core->now.ms + c->lease_ms : TIMER_NEVER;
	if (a->id != 0 && !mint_begin(core, conn->session->user, a->id, c->steps, a->ends_ms)) {
		free(a);
		return NULL;
	}
	a->latch = l;
	a->conn = conn;
	a->kind = kind_of(c->verb);
	a->place = ASK_DUE;
	a->once = a->kind != ASK_AWAIT || wait_ms == 0;
	a->since = core->attempts;
	a->since_ms = core->now.ms;
	a->session = conn->session->id;
	a->steps = c->steps > 0 ? c->steps : 1;
	if (c->owner.n > 0)
		memcpy(a->bytes, c->owner.p, c->owner.n);
	a->tag = (struct slice){a->bytes, c->owner.n};
	timer_init(&a->timer, TIMER_ASK);
	timer_arm(&core->timers, &a->timer, until_ms(core, a, wait_ms));
	TAILQ_INSERT_TAIL(&l->asks[ASK_DUE], a, in_place);
	l->patient += is_patient(a);
	core->counts.asks++;
	conn->ask = a;
	return a;
}

static void
ask_move(struct ask *a, enum ask_place place)
{
	TAILQ_REMOVE(&a->latch->asks[a->place], a, in_place);
	a->place = place;
	TAILQ_INSERT_TAIL(&a->latch->asks[place], a, in_place);
}

static void
ask_end(struct core *core, struct ask *a)
{
	TAILQ_REMOVE(&a->latch->asks[a->place], a, in_place);
	grave_bury(core, &a->grave);
}

void
ask_forgo(struct core *core, const struct ask *a)
{
	if (a->kind == ASK_SET && !a->unsure)
		mint_forgo(core, a->id);
}

void
ask_leave(struct core *core, struct ask *a)
{
	timer_cancel(&core->timers, &a->timer);
	a->latch->patient -= is_patient(a);
	a->conn->ask = NULL;
	conn_heard(core, a->conn);
	a->conn = NULL;
	core->counts.asks--;
	if (a->place == ASK_SENT)
		return;
	ask_forgo(core, a);
	ask_end(core, a);
}

void
ask_make_once(struct core *core, struct ask *a)
{
	int64_t once_ms = queue_once_until(core);

	if (a->once)
		return;
	a->latch->patient--;
	a->once = true;
	a->since = core->attempts;
	ask_move(a, ASK_DUE);
	if (once_ms < timer_at(&core->timers, &a->timer))
		timer_arm(&core->timers, &a->timer, once_ms);
}

bool
ask_send(struct core *core, struct ask *a, uint64_t memory)
{
	assert(a->place == ASK_DUE && a->conn != NULL);
	a->attempt = core_attempt(core);
	a->memory = memory;
	if (!table_add_ask(core, a))
		return false;
	ask_move(a, ASK_SENT);
	return true;
}

struct ask *
ask_take(struct core *core, uint64_t attempt)
{
	struct ask *a = table_ask(core, attempt);

	if (a == NULL)
		return NULL;
	table_remove_ask(core, a);
	ask_move(a, ASK_DUE);
	if (a->conn == NULL)
		ask_end(core, a);
	return a;
}

bool
asks_none(const struct latch *l)
{
	return TAILQ_EMPTY(&l->asks[ASK_DUE]) && TAILQ_EMPTY(&l->asks[ASK_SENT]) &&
	       TAILQ_EMPTY(&l->asks[ASK_WAITS]);
}

void
asks_free(struct core *core, struct latch *l)
{
	struct ask *a;

	for (int place = 0; place < ASK_PLACE_COUNT; place++) {
		while ((a = TAILQ_FIRST(&l->asks[place])) != NULL) {
			TAILQ_REMOVE(&l->asks[place], a, in_place);
			if (place == ASK_SENT)
				table_remove_ask(core, a);
			free(a);
		}
	}
}

/* ---- answers ---- */

static void
ask_answer(struct core *core, struct ask *a, const struct reply *reply)
{
	assert(a->conn != NULL);
	emit_reply(core, a->conn->id, reply);
	ask_leave(core, a);
}

void
ask_answer_int(struct core *core, struct ask *a, int64_t n)
{
	ask_answer(core, a, &(struct reply){.type = REPLY_INT, .code = CODE_COUNT, .n = n});
}

static void
ask_answer_null(struct core *core, struct ask *a)
{
	ask_answer(core, a, &(struct reply){.type = REPLY_NULL, .code = CODE_COUNT});
}

static void ask_answer_error(struct core *core, struct ask *a, enum code code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void
ask_answer_error(struct core *core, struct ask *a, enum code code, const char *format, ...)
{
	struct reply reply;
	va_list args;

	va_start(args, format);
	reply_verror(&reply, code, format, args);
	va_end(args);
	ask_answer(core, a, &reply);
}

void
ask_answer_lost(struct core *core, struct ask *a, bool forgotten)
{
	if (forgotten)
		ask_answer_error(core, a, CODE_LOST,
			"forgotten the master restarted or was replaced, and may lack what was counted: "
			"set the latch again");
	else
		ask_answer_error(core, a, CODE_LOST, "lease the time of the latch was over, open or not");
}

void
ask_answer_verdict(struct core *core, struct ask *a)
{
	const struct latch *l = a->latch;
	struct reply why;

	if (!quorum_usable(core, l->link)) {
		quorum_verdict(core, l->link, &why);
		ask_answer(core, a, &why);
	} else if (l->trouble == TROUBLE_ERROR) {
		ask_answer_error(core, a, CODE_MASTERERR, "the master said: %s", core->masters[0].error);
	} else if (a->place == ASK_WAITS && l->trouble == TROUBLE_NONE) {
		ask_answer_null(core, a);
	} else if (a->place == ASK_SENT || a->unsure) {
		ask_answer_error(core, a, CODE_NOMASTER,
			"the master did not answer in time: it may have been done, and may be said again");
	} else {
		ask_answer_error(core, a, CODE_NOMASTER, "the master did not answer in time");
	}
}

/* ---- what is heard ---- */

static void
await_hear(struct core *core, struct ask *a)
{
	const struct latch *l = a->latch;

	if (a->id != 0 && a->id != l->id) {
		ask_answer_lost(core, a, a->memory != l->memory);
	} else if (l->left == 0) {
		ask_answer_int(core, a, 0);
	} else if (a->once) {
		ask_answer_null(core, a);
	} else {
		a->id = l->id;
		a->memory = l->memory;
		if (a->place != ASK_WAITS)
			ask_move(a, ASK_WAITS);
	}
}

void
asks_hear(struct core *core, struct latch *l, uint64_t attempt, bool news)
{
	struct ask *a, *next;

	/* Those first that wait already: others join them. */
	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_WAITS], in_place, next) {
		if (!news)
			break;
		await_hear(core, a);
	}
	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_DUE], in_place, next) {
		if (a->since >= attempt)
			continue;
		if (a->kind == ASK_AWAIT)
			await_hear(core, a);
		else if (a->kind == ASK_COUNT)
			ask_answer_int(core, a, l->left);
	}
}

static void
ask_hear_none(struct core *core, struct ask *a, bool forgotten)
{
	bool lost = forgotten || (a->id != 0 && (a->kind == ASK_AWAIT || a->unsure));

	if (a->kind == ASK_SET)
		return;
	if (lost)
		ask_answer_lost(core, a, forgotten);
	else if (a->kind == ASK_DOWN)
		ask_answer_error(core, a, CODE_ERR, "no such latch: LATCH name SET n first");
	else if (a->once)
		ask_answer_null(core, a);
	else
		ask_move(a, ASK_WAITS);
}

void
asks_hear_none(struct core *core, struct latch *l, uint64_t attempt, bool forgotten)
{
	struct ask *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_DUE], in_place, next) {
		if (a->since < attempt)
			ask_hear_none(core, a, forgotten);
	}
	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_WAITS], in_place, next) {
		if (forgotten || a->id != 0)
			ask_answer_lost(core, a, forgotten);
	}
}

void
asks_hear_wrong_kind(struct core *core, struct latch *l)
{
	static const char text[] = "the key of this latch at the master holds something that is no latch";
	struct reply reply;

	reply_error(&reply, CODE_WRONGKIND, "%s", text);
	asks_answer_all(core, l, &reply, true);
}

void
asks_refuse(struct core *core, struct latch *l)
{
	struct ask *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_DUE], in_place, next) {
		if (a->once && !a->unsure)
			ask_answer_verdict(core, a);
	}
}

void
asks_answer_all(struct core *core, struct latch *l, const struct reply *reply, bool unsure)
{
	struct ask *a, *next;

	TAILQ_FOREACH_SAFE (a, &l->asks[ASK_DUE], in_place, next) {
		if (unsure || !a->unsure)
			ask_answer(core, a, reply);
	}
	while ((a = TAILQ_FIRST(&l->asks[ASK_WAITS])) != NULL)
		ask_answer(core, a, reply);
}
