/*
 * holding: sends CHECK, reads its answers and the push `lost name owner token reason`, and comes back to the
 * session; and holdfast hold, which holds a lock until a signal.
 */
#include "client/job/holding.h"

#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/process.h"
#include "client/wire/deadline.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The end of the session also releases the lock, so do not wait long for a daemon that hangs. */
#define RELEASE_MS 2000

/* The part of --lease that may be used for stopping. */
#define LEASE_GRACE_PART 20

/* How much earlier than --lease a hold may seem to end, because the request is sent before the grant. */
#define LEASE_SLACK_MS 250

void
holding_start(
	struct holding *h, struct wire *wire, const struct taking *t, const struct grant *g, int64_t grace_ms)
{
	const struct options *o = t->o;
	int64_t now = clock_ms();

	memset(h, 0, sizeof(*h));
	h->wire = wire;
	session_start(&h->session, wire, t->a, t->label, g->secret, true);
	h->name = o->name;
	h->also = &o->also;
	h->grant = g;
	h->lease_ms = o->lease_ms;
	grace_ms = deadline_reserve_ms(g->expire_ms - now, grace_ms);
	if (h->lease_ms > 0 && grace_ms > h->lease_ms / LEASE_GRACE_PART) {
		grace_ms = h->lease_ms / LEASE_GRACE_PART;
	}
	deadline_start(&h->deadline, now, g->expire_ms > now ? g->expire_ms - now : 0, grace_ms);
}

#define UNKNOWN "the daemon was started anew, and does not know of it any more"

const struct answer *
holding_bind(struct holding *h, int pidfd)
{
	const struct answer *answer = NULL;
	enum session_news news = SESSION_BACK;

	while (answer == NULL && news == SESSION_BACK) {
		(void)wire_bind(h->wire, pidfd);
		answer = wire_answer(h->wire);
		if (answer == NULL && h->wire->away) {
			session_cut(&h->session, clock_ms());
			news = session_wait(&h->session, h->deadline.expire_ms);
		} else if (answer == NULL) {
			break;
		}
	}
	if (news == SESSION_UNKNOWN) {
		(void)snprintf(h->wire->why, sizeof(h->wire->why), "%s", UNKNOWN);
	}
	return answer;
}

static const char *
name_of(const struct holding *h, size_t i)
{
	return i == 0 ? h->name : h->also->names[i - 1];
}

static int64_t
token_of(const struct holding *h, size_t i)
{
	return i == 0 ? h->grant->token : h->grant->also_tokens[i - 1];
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

/* The daemon has announced the loss, by LOST or by the push. */
static void
holding_announced(struct holding *h, struct slice loss)
{
	char why[WIRE_TEXT_MAX];

	(void)take_loss(why, loss);
	if (!h->lost) {
		slice_text(h->word, sizeof(h->word), slice_word(&loss));
	}
	holding_lose(h, slice_of(why));
}

static void
holding_cut(struct holding *h)
{
	int64_t now = clock_ms();

	if (h->lost) {
		h->gone = true;
		return;
	}
	if (!h->away) {
		(void)snprintf(h->why, sizeof(h->why), "%s", h->wire->why);
	}
	h->away = true;
	h->due = 0;
	session_cut(&h->session, now);
	deadline_cut(&h->deadline, now);
}

static void
push_read(struct holding *h, const struct answer *push)
{
	for (size_t i = 0; answer_is_push(push, "lost", 5) && i <= h->also->count; i++) {
		if (slice_equal(push->items[1].text, slice_of(name_of(h, i))) &&
			push->items[3].n == token_of(h, i)) {
			holding_announced(h, push->items[4].text);
		}
	}
}

static void
check_read(struct holding *h, const struct answer *answer)
{
	struct slice rest;
	enum code code;

	if (h->due == 0) {
		return;
	}
	h->due--;
	if (answer_is_ms(answer)) {
		h->announced_ms = answer->n < h->announced_ms ? answer->n : h->announced_ms;
		if (h->due == 0 && h->deadline.sent_ms > 0) {
			deadline_announced(&h->deadline, h->announced_ms);
			h->away = false;
			h->why[0] = '\0';
		}
		return;
	}
	if (answer->type == ANSWER_NULL) {
		holding_lose(h, SLICE("the daemon does not know of it any more"));
		return;
	}
	code = answer_code(answer, &rest);
	if (code == CODE_LOST) {
		holding_announced(h, rest);
		return;
	}
	if (code == CODE_NOTHELD) {
		holding_lose(h, rest);
		return;
	}
	/* An answer of any other type promises nothing. */
	if (answer->type == ANSWER_INT) {
		(void)snprintf(h->wire->why, sizeof(h->wire->why), "the daemon answered %lld ms",
			(long long)answer->n);
	} else {
		(void)snprintf(h->wire->why, sizeof(h->wire->why), "the daemon answered %.*s",
			SLICE_ARG(answer->text));
	}
	holding_cut(h);
}

void
holding_watch(const struct holding *h, struct pollfd *p)
{
	session_watch(&h->session, p);
	p->fd = h->gone ? -1 : p->fd;
}

/* While the session is not there: an event, or the time for an attempt. */
static void
holding_return(struct holding *h, bool ready)
{
	int64_t now = clock_ms();

	switch (session_turn(&h->session, ready, now)) {
	case SESSION_NOTHING:
		break;
	case SESSION_BACK:
		deadline_back(&h->deadline, now);
		break;
	case SESSION_UNKNOWN:
		h->gone = true;
		deadline_silence(&h->deadline);
		(void)snprintf(h->why, sizeof(h->why), "%s", UNKNOWN);
		break;
	}
}

void
holding_read(struct holding *h)
{
	const struct answer *answer;
	bool more;

	if (h->session.state != SESSION_THERE) {
		holding_return(h, true);
		return;
	}
	more = wire_fill(h->wire);
	while (h->session.state == SESSION_THERE && (answer = wire_next(h->wire)) != NULL) {
		if (answer->type == ANSWER_PUSH) {
			push_read(h, answer);
		} else {
			check_read(h, answer);
		}
	}
	if (h->session.state == SESSION_THERE && (!more || h->wire->ended)) {
		holding_cut(h);
	}
}

void
holding_tell(struct holding *h)
{
	int64_t left = h->deadline.stop_ms - clock_ms();

	left = left > 0 ? left : 0;
	if (h->lost) {
		return;
	}
	if (h->gone && !h->reported_gone) {
		message("%s: the lock %s is good for %lld ms more", h->why, h->name, (long long)left);
		h->reported_gone = true;
	} else if (h->away && !h->gone && !h->reported_away) {
		message("%s: the lock %s is good for %lld ms more", h->why, h->name, (long long)left);
		h->reported_away = true;
	} else if (!h->away && h->reported_away) {
		message("the daemon is back: the lock %s is still held", h->name);
		h->reported_away = false;
	}
}

static void
ask_each(struct holding *h, const char *verb)
{
	char token[NUMBER_TEXT_MAX];

	for (size_t i = 0; i <= h->also->count; i++) {
		wire_ask(h->wire, verb, name_of(h, i), "TOKEN", number_text(token, token_of(h, i)));
	}
}

static void
holding_ask(struct holding *h)
{
	int64_t now = clock_ms();

	ask_each(h, "CHECK");
	h->due = h->also->count + 1;
	h->announced_ms = INT64_MAX;
	deadline_asked(&h->deadline, now);
	if (!wire_flush(h->wire)) {
		holding_cut(h);
	}
}

/* Whether the hold ends because of --lease. */
static bool
lease_ends(const struct holding *h)
{
	return h->lease_ms > 0 &&
	       h->grant->granted_ms + h->lease_ms - h->deadline.expire_ms <= LEASE_SLACK_MS;
}

const char *
holding_reason(const struct holding *h)
{
	if (h->word[0] != '\0') {
		return h->word;
	}
	if (h->lost || h->gone) {
		return "session";
	}
	if (h->away || h->deadline.sent_ms > 0) {
		return "unreachable";
	}
	return lease_ends(h) ? "lease" : "expired";
}

/* The hold is over, or nearly, and no answer is outstanding: the reason is not a silent daemon. */
static void
holding_runs_out(struct holding *h, enum deadline_step step)
{
	char duration[DURATION_TEXT_MAX];

	if (h->why[0] == '\0' && lease_ends(h)) {
		(void)snprintf(h->why, sizeof(h->why), "the %s of --lease are over",
			duration_text(duration, h->lease_ms));
	} else if (h->why[0] == '\0' && h->deadline.sent_ms == 0) {
		(void)snprintf(h->why, sizeof(h->why), "%s",
			step == DEADLINE_STOP ? "its time is nearly over, and the daemon has not renewed it"
					      : "its time is over, and the daemon has not renewed it");
	}
}

enum deadline_step
holding_step(struct holding *h)
{
	enum deadline_step step;

	if (h->session.state != SESSION_THERE && !h->gone && clock_ms() >= session_next(&h->session)) {
		holding_return(h, false);
	}
	step = deadline_step(&h->deadline, clock_ms());
	/* If this process was suspended, the answer may have arrived already. */
	if ((step == DEADLINE_STOP || step == DEADLINE_EXPIRE) && h->due > 0 &&
		h->session.state == SESSION_THERE) {
		holding_read(h);
		step = deadline_step(&h->deadline, clock_ms());
	}
	if (step == DEADLINE_ASK) {
		holding_ask(h);
		step = deadline_step(&h->deadline, clock_ms());
	}
	if (step == DEADLINE_STOP || step == DEADLINE_EXPIRE) {
		holding_runs_out(h, step);
	}
	return step == DEADLINE_ASK ? DEADLINE_WAIT : step;
}

int64_t
holding_next(const struct holding *h)
{
	int64_t due = deadline_next(&h->deadline, clock_ms());
	int64_t attempt = h->gone ? INT64_MAX : session_next(&h->session);

	return attempt < due ? attempt : due;
}

bool
holding_release(struct holding *h)
{
	const struct answer *answer;
	struct slice rest;
	int64_t until_ms = clock_ms() + RELEASE_MS;

	/* On a Unix socket the end of a process ends the session. */
	if (h->gone || h->lost || (h->session.state != SESSION_THERE && h->wire->local)) {
		return !h->lost;
	}
	if (h->session.state != SESSION_THERE && session_wait(&h->session, until_ms) != SESSION_BACK) {
		return true;
	}
	ask_each(h, "UNLOCK");
	(void)wire_flush(h->wire);
	/* The answers to outstanding CHECKs come first. */
	for (size_t due = h->due + h->also->count + 1; due > 0; due--) {
		answer = wire_wait(h->wire, until_ms);
		if (answer != NULL && answer_code(answer, &rest) == CODE_LOST) {
			holding_announced(h, rest);
		}
	}
	return !h->lost;
}

/* ---- holdfast hold ---- */

static int
token_print(const struct options *o, const struct grant *g)
{
	int status = take_report(o, g);

	if (status == STATUS_DONE && !o->json && o->token_file == NULL && !o->quiet &&
		(printf("%" PRId64 "\n", g->token) < 0 || fflush(stdout) != 0)) {
		message("cannot print the token: standard output is closed");
		return STATUS_INTERNAL;
	}
	return status;
}

/* This process ends now, but whoever has started it may still be at work. DOWNGRADE takes note of the loss
 * and gives nothing up: so the end of the session does not say that the holder is at its end
 * (PROTOCOL.md 3.17). */
static void
note_loss(struct holding *h)
{
	int64_t until_ms = clock_ms() + RELEASE_MS;

	if (!h->lost || h->session.state != SESSION_THERE) {
		return;
	}
	ask_each(h, "DOWNGRADE");
	(void)wire_flush(h->wire);
	for (size_t due = h->due + h->also->count + 1; due > 0; due--) {
		(void)wire_wait(h->wire, until_ms);
	}
}

static int
lost(const struct options *o, struct holding *h)
{
	message("the lock %s is lost: %s", o->name,
		h->why[0] != '\0' ? h->why : "the daemon does not answer");
	note_loss(h);
	return STATUS_LOST;
}

/* Until a signal, or the loss. */
static int
hold(const struct options *o, struct holding *h, int signals, int timer)
{
	struct pollfd p[] = {{-1, POLLIN, 0}, {signals, POLLIN, 0}, {timer, POLLIN, 0}};

	for (;;) {
		enum deadline_step step = holding_step(h);

		if (!o->quiet) {
			holding_tell(h);
		}
		if (h->lost || h->gone || step == DEADLINE_EXPIRE) {
			return lost(o, h);
		}
		(void)wakeup_set(timer, holding_next(h));
		holding_watch(h, &p[0]);
		if (poll(p, 3, -1) < 0) {
			continue;
		}
		if (p[0].revents != 0) {
			holding_read(h);
		}
		if (p[1].revents != 0) {
			return holding_release(h) ? STATUS_DONE : lost(o, h);
		}
	}
}

int
task_hold(const struct options *o, const struct address *a)
{
	char label[WIRE_LABEL_MAX];
	const struct taking taking = {
		.o = o, .a = a, .pidfd = a->tcp ? -1 : descendants_pidfd(getpid()), .label = label};
	struct wire wire;
	struct grant grant;
	struct holding holding;
	sigset_t set, before;
	int signals;
	int timer;
	int status;

	wire_label(label, "hold");
	if (take_lock(&wire, &taking, &grant, &status)) {
		(void)sigemptyset(&set);
		(void)sigaddset(&set, SIGTERM);
		(void)sigaddset(&set, SIGINT);
		(void)sigaddset(&set, SIGHUP);
		(void)sigprocmask(SIG_BLOCK, &set, &before);
		wire_unguard(&wire, &before);
		(void)sigaddset(&before, SIGTERM);
		(void)sigaddset(&before, SIGINT);
		(void)sigaddset(&before, SIGHUP);
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		signals = signalfd(-1, &set, SFD_CLOEXEC);
		timer = wakeup_open();
		holding_start(&holding, &wire, &taking, &grant, 0);
		status = token_print(o, &grant);
		if (status == STATUS_DONE) {
			status = signals >= 0 && timer >= 0 ? hold(o, &holding, signals, timer)
							    : STATUS_INTERNAL;
		}
	}
	wire_goodbye(&wire);
	return status;
}
