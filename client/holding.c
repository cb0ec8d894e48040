/*
 * holding: CHECK, and the push `lost name owner token reason`.
 */
#include "client/holding.h"

#include "daemon/base/clock.h"
#include "proto/escape.h"
#include "proto/number.h"

#include <stdio.h>
#include <string.h>

/* The lock is given back by the end of the session, too; so nobody waits long for a daemon that hangs. */
#define RELEASE_MS 2000

void
holding_start(struct holding *h, struct wire *wire, const char *name, const struct grant *g, int64_t grace_ms)
{
	int64_t now = clock_ms();

	memset(h, 0, sizeof(*h));
	h->wire = wire;
	h->name = name;
	h->token = g->token;
	deadline_start(&h->deadline, now, g->expire_ms > now ? g->expire_ms - now : 0, grace_ms);
}

static void
holding_lose(struct holding *h, struct slice why)
{
	if (!h->lost) {
		h->lost = true;
		(void)escape_text(h->why, sizeof(h->why), why, ESCAPE_PLAIN);
	}
	deadline_silence(&h->deadline);
}

static void
holding_silence(struct holding *h)
{
	if (!h->lost && !h->gone) {
		(void)snprintf(h->why, sizeof(h->why), "%s", h->wire->why);
	}
	h->gone = true;
	deadline_silence(&h->deadline);
}

static void
push_read(struct holding *h, const struct answer *push)
{
	if (answer_is_push(push, "lost", 5) && slice_equal(push->items[1].text, slice_of(h->name)) &&
		push->items[3].n == h->token) {
		holding_lose(h, push->items[4].text);
	}
}

static void
check_read(struct holding *h, const struct answer *answer)
{
	struct slice rest;
	enum code code;

	if (h->deadline.sent_ms == 0) {
		return;
	}
	if (answer->type == ANSWER_INT) {
		deadline_told(&h->deadline, answer->n);
		return;
	}
	if (answer->type == ANSWER_NULL) {
		holding_lose(h, SLICE("the daemon does not know of it any more"));
		return;
	}
	code = answer->type == ANSWER_ERROR ? answer_code(answer, &rest) : CODE_COUNT;
	if (code == CODE_LOST || code == CODE_NOTHELD) {
		holding_lose(h, rest);
		return;
	}
	/* Whatever that is, it is no promise. */
	(void)snprintf(h->wire->why, sizeof(h->wire->why), "the daemon answered %.*s", (int)answer->text.n,
		answer->text.p == NULL ? "" : answer->text.p);
	holding_silence(h);
}

void
holding_read(struct holding *h)
{
	const struct answer *answer;
	bool more = wire_fill(h->wire);

	while ((answer = wire_next(h->wire)) != NULL) {
		if (answer->type == ANSWER_PUSH) {
			push_read(h, answer);
		} else {
			check_read(h, answer);
		}
	}
	if (!more || h->wire->ended) {
		holding_silence(h);
	}
}

static void
holding_ask(struct holding *h)
{
	char token[NUMBER_TEXT_MAX];
	int64_t now = clock_ms();

	token[number_print(token, h->token)] = '\0';
	wire_ask(h->wire, "CHECK", h->name, "TOKEN", token);
	deadline_asked(&h->deadline, now);
	if (!wire_flush(h->wire)) {
		holding_silence(h);
	}
}

/* Found over without an answer outstanding: nobody looked at the clock in time. */
static void
holding_overslept(struct holding *h)
{
	if (h->why[0] == '\0' && h->deadline.sent_ms == 0) {
		(void)snprintf(h->why, sizeof(h->why),
			"this host or process slept for longer than the lock was surely good");
	}
}

enum deadline_step
holding_step(struct holding *h)
{
	enum deadline_step step = deadline_step(&h->deadline, clock_ms());

	if (step == DEADLINE_ASK) {
		holding_ask(h);
		step = deadline_step(&h->deadline, clock_ms());
	}
	if (step == DEADLINE_EXPIRE) {
		holding_overslept(h);
	}
	return step == DEADLINE_ASK ? DEADLINE_WAIT : step;
}

int64_t
holding_next(const struct holding *h)
{
	return deadline_next(&h->deadline, clock_ms());
}

bool
holding_release(struct holding *h)
{
	const struct answer *answer;
	struct slice rest;
	char token[NUMBER_TEXT_MAX];
	int64_t until_ms = clock_ms() + RELEASE_MS;

	if (h->gone || h->lost) {
		return !h->lost;
	}
	token[number_print(token, h->token)] = '\0';
	wire_ask(h->wire, "UNLOCK", h->name, "TOKEN", token);
	(void)wire_flush(h->wire);
	answer = wire_wait(h->wire, until_ms);
	if (answer != NULL && h->deadline.sent_ms > 0) {
		/* That was the answer to the CHECK on its way. */
		answer = wire_wait(h->wire, until_ms);
	}
	if (answer != NULL && answer->type == ANSWER_ERROR && answer_code(answer, &rest) == CODE_LOST) {
		holding_lose(h, rest);
		return false;
	}
	return true;
}
