/*
 * part: the requests and answers about one name of a lock; see library.h.
 *
 *                                          LOST ──given back────────────┐
 *                                           ▲                           ▼
 *     NEW ──its turn──▶ WAITS ──granted──▶ HELD ──given back─────────▶ ENDS ──UNLOCK is answered──▶ DONE
 *                         └────────────── failed, or given up ──────────▲
 *
 * After a lost connection the request of the state is sent again: LOCK has its old position in the queue,
 * CHECK tells whether the hold is still there, UNLOCK gives it back. A LOCK that was answered twice counts
 * twice, so UNLOCK is repeated until nothing is left. For a broken lock it has the token, and so lets the
 * name pass on at once: it must not come before the program has ended its work.
 */
#include "client/c/part.h"

#include "client/c/engine.h"
#include "client/c/handle.h"
#include "client/c/library.h"
#include "client/c/lock.h"
#include "client/c/queue.h"
#include "client/c/seen.h"
#include "daemon/base/clock.h"
#include "proto/reply.h"

#include <stdio.h>
#include <string.h>

#define EARLY_MS 20   /* so much before the announced deadline a hold that cannot be confirmed is lost */
#define SLACK_MS 2000 /* by which the daemon may answer a WAIT late: a hand-over, a busy host */
#define RETRY_MS 50   /* until a LOCK is sent again to a daemon that ends */

/* What an older daemon says, which pushes no time. */
#define UNTOLD "VALIDITY and ASYNC exclude each other"

#define LOOK_TIME_MS 500 /* for the daemon to say who has the name */

#define FOREIGN "what answers there is not holdfastd: it told a number that no daemon tells"

#define WORDS_MAX 20

/* Another part of this handle that is in this state with the same tag; NULL: there is none. */
static struct part *
part_beside(const struct part *part, enum part_state state)
{
	struct holdfast_lock *lock;

	TAILQ_FOREACH (lock, &part->lock->hf->locks, next) {
		for (size_t i = 0; i < lock->count && lock->owner != NULL && part->lock->owner != NULL; i++) {
			struct part *other = &lock->parts[i];

			if (other != part && other->state == state && strcmp(other->tag, part->tag) == 0) {
				return other;
			}
		}
	}
	return NULL;
}

/* A part that holds the name for the same owner; NULL: there is none. */
static const struct part *
part_twin(const struct part *part)
{
	const char *owner = part->lock->owner;
	const struct holdfast_lock *lock;

	TAILQ_FOREACH (lock, &part->lock->hf->locks, next) {
		if (owner == NULL || lock->owner == NULL || lock->state != LOCK_HELD ||
			strcmp(lock->owner, owner) != 0) {
			continue;
		}
		for (size_t i = 0; i < lock->count; i++) {
			if (lock->parts[i].state == PART_HELD &&
				strcmp(lock->parts[i].name, part->name) == 0) {
				return &lock->parts[i];
			}
		}
	}
	return NULL;
}

void
part_begin(struct part *part, int64_t now_ms)
{
	const struct part *twin = part_twin(part);

	if (twin != NULL) {
		part->token = twin->token;
		part->granted_ms = twin->granted_ms;
		part->deadline = twin->deadline;
		memcpy(part->tag, twin->tag, sizeof(part->tag));
		part->begun = part->sure = true;
		part->state = PART_HELD;
		lock_granted(part->lock);
		return;
	}
	part->state = PART_WAITS;
	part->entered_ms = now_ms;
	seen_begin(part, now_ms);
	queue_enter(part);
}

static void
part_lock(struct part *part, int64_t now_ms)
{
	const struct holdfast_options *o = &part->lock->options;
	const char *words[WORDS_MAX] = {"LOCK", part->name, "OWNER", part->tag, "ASYNC", part->tag};
	char limit[NUMBER_TEXT_MAX], permits[NUMBER_TEXT_MAX], lease[NUMBER_TEXT_MAX], hold[NUMBER_TEXT_MAX];
	char wait[NUMBER_TEXT_MAX];
	int64_t left_ms = part->lock->until_ms - now_ms;
	size_t n = 6;

	if (o->shared != 0) {
		words[n++] = "SHARED";
	}
	if (o->limit > 0) {
		words[n++] = "LIMIT";
		words[n++] = number_text(limit, o->limit);
	}
	if (o->permits > 0) {
		words[n++] = "PERMITS";
		words[n++] = number_text(permits, o->permits);
	}
	if (o->lease_ms > 0) {
		words[n++] = "LEASE";
		words[n++] = number_text(lease, o->lease_ms);
	}
	if (o->max_hold_ms > 0) {
		words[n++] = "MAXHOLD";
		words[n++] = number_text(hold, o->max_hold_ms);
	}
	if (part->lock->why != NULL) {
		words[n++] = "WHY";
		words[n++] = part->lock->why;
	}
	if (!part->lock->hf->unannounced) {
		words[n++] = "VALIDITY";
	}
	if (part->lock->until_ms != INT64_MAX) {
		words[n++] = "WAIT";
		words[n++] = number_text(wait, left_ms > 0 ? left_ms : 0);
	}
	part->asked_ms = part->begun ? part->asked_ms : now_ms;
	part->repeated = part->begun;
	part->begun = true;
	part->sent = true;
	part->lock_ms = now_ms;
	engine_ask(part->lock->hf, part, ASKED_LOCK, n, words, now_ms);
}

static bool
is_unannounced(struct slice text)
{
	return text.n > strlen(UNTOLD) && memcmp(text.p, UNTOLD, strlen(UNTOLD)) == 0;
}

/* An older daemon has refused it as it was. */
static void
part_lock_again(struct part *part, int64_t now_ms)
{
	bool repeated = part->repeated;

	part->lock->hf->unannounced = true;
	part_lock(part, now_ms);
	part->repeated = repeated;
}

/* About its hold; without a token, about what it may have. */
static void
part_ask(struct part *part, enum asked what, const char *verb, int64_t now_ms)
{
	char token[NUMBER_TEXT_MAX];

	engine_ask(part->lock->hf, part, what, part->token == 0 ? 4 : 6,
		(const char *const[]){
			verb, part->name, "OWNER", part->tag, "TOKEN", number_text(token, part->token)},
		now_ms);
}

static void
part_check(struct part *part, int64_t now_ms)
{
	part->sent = true;
	part_ask(part, ASKED_CHECK, "CHECK", now_ms);
}

static void
part_unlock(struct part *part, int64_t now_ms)
{
	part->sent = true;
	if (part->token == 0) {
		engine_ask(part->lock->hf, part, ASKED_CANCEL, 2, (const char *const[]){"CANCEL", part->tag},
			now_ms);
	}
	part_ask(part, ASKED_UNLOCK, "UNLOCK", now_ms);
}

void
part_end(struct part *part)
{
	if (part->state == PART_ENDS || part->state == PART_DONE) {
		return;
	}
	/* What another part has, too, is given back with that. */
	part->state =
		part->begun && part_beside(part, PART_HELD) == NULL && part_beside(part, PART_LOST) == NULL
			? PART_ENDS
			: PART_DONE;
	part->sent = false;
	queue_leave(part, false);
}

static void
part_done(struct part *part)
{
	part->state = PART_DONE;
	(void)pthread_cond_broadcast(&part->lock->changed);
}

static void
part_lose_one(struct part *part, struct slice reason)
{
	struct holdfast_error error;
	struct slice word = slice_word(&reason);
	char code[sizeof(error.code)];

	slice_text(code, sizeof(code), word);
	(void)error_set(&error, HOLDFAST_LOST, code, "the lock %.200s is lost: %.*s%s%.*s", part->name,
		SLICE_ARG(word), reason.n > 0 ? ": " : "", SLICE_ARG(reason));
	if (part->lock->state == LOCK_HELD) {
		seen_tell(part->lock->hf, part, HOLDFAST_LOSS, clock_ms() - part->granted_ms, error.text);
	}
	if (part->lock->state != LOCK_WAITS && part->state == PART_HELD) {
		part->state = PART_LOST;
	} else {
		part_end(part);
	}
	lock_over(part->lock, &error);
}

/* reason: a word and an explanation, as the daemon tells them. */
static void
part_lose(struct part *part, struct slice reason)
{
	struct part *other;

	part_lose_one(part, reason);
	while ((other = part_beside(part, PART_HELD)) != NULL) {
		part_lose_one(other, reason);
	}
}

/* The wait has failed. left: the daemon may have something of it. */
static void
part_fail(struct part *part, bool left, enum holdfast_status status, const char *code, struct slice text)
{
	struct holdfast_error error;

	(void)error_set(&error, status, code, "cannot lock %.200s: %s%s%.*s", part->name, code,
		code[0] != '\0' ? ": " : "", SLICE_ARG(text));
	if (status == HOLDFAST_UNREACHABLE && !part->lock->hf->ready && part->lock->hf->final) {
		error.transient = 0;
	}
	queue_leave(part, status == HOLDFAST_REFUSED);
	if (!left) {
		part->state = PART_DONE;
	}
	lock_over(part->lock, &error);
}

/* When a wait ends while the daemon is away. An attempt to connect that is under way decides, but not for
 * long. */
static int64_t
part_away(const struct part *part)
{
	const struct holdfast *hf = part->lock->hf;
	int64_t since_ms = hf->away_ms > part->lock->begun_ms ? hf->away_ms : part->lock->begun_ms;
	int64_t end_ms = since_ms + PATIENCE_MS;
	int64_t until_ms = part->lock->until_ms;

	if (hf->trouble.status == HOLDFAST_OK) {
		return until_ms == INT64_MAX ? INT64_MAX : until_ms + SLACK_MS;
	}
	if (hf->final) {
		return 0;
	}
	return until_ms < end_ms ? until_ms : end_ms;
}

/* When a wait ends whose daemon is there. */
static int64_t
part_late(const struct part *part)
{
	int64_t until_ms = part->lock->until_ms;

	if (part->late_ms > 0) {
		return part->late_ms + LOOK_TIME_MS;
	}
	if (part->behind) {
		return until_ms;
	}
	if (part->trouble_ms > 0) {
		return part->trouble_ms + PATIENCE_MS < until_ms ? part->trouble_ms + PATIENCE_MS : until_ms;
	}
	return until_ms == INT64_MAX ? INT64_MAX : until_ms + SLACK_MS;
}

static int64_t
part_limit(const struct part *part)
{
	return part->lock->hf->ready ? part_late(part) : part_away(part);
}

/* The wait is over without an answer. */
static void
part_give_up(struct part *part, int64_t now_ms)
{
	const struct holdfast *hf = part->lock->hf;
	struct holdfast_error error = part->lock->error;

	if (!hf->ready && hf->trouble.status != HOLDFAST_OK) {
		part_fail(part, part->begun, (enum holdfast_status)hf->trouble.status, hf->trouble.code,
			slice_of(hf->trouble.text));
	} else if (hf->ready && part->late_ms > 0) {
		part_timeout(part, NULL);
	} else if (hf->ready && part->behind) {
		queue_step_out(part); /* it tries once */
		part_lock(part, now_ms);
	} else if (hf->ready && part->trouble_ms > 0) {
		queue_leave(part, true);
		lock_over(part->lock, &error);
	} else {
		part_fail(part, true, HOLDFAST_UNREACHABLE, "", SLICE("the daemon does not answer"));
	}
}

static void
part_wait(struct part *part, int64_t now_ms)
{
	if (now_ms >= part_limit(part)) {
		part_give_up(part, now_ms);
	} else if (!part->lock->hf->ready || part->sent || part->behind) {
		return;
	} else if (part->state == PART_HELD) {
		part_check(part, now_ms);
	} else if (now_ms >= part->due_ms) {
		part_lock(part, now_ms);
	}
}

/* Why the announced deadline has passed. It is a little earlier than the daemon's own, which says why later.
 */
static struct slice
part_overdue(const struct part *part, int64_t now_ms)
{
	const struct holdfast_options *o = &part->lock->options;

	if (o->lease_ms > 0 && part->deadline.sent_ms == 0) {
		return SLICE("lease its lease_ms are over");
	}
	if (o->max_hold_ms > 0 && now_ms - part->granted_ms > o->max_hold_ms / 10 * 9) {
		return SLICE("maxhold its max_hold_ms are over");
	}
	if (part->deadline.silent) {
		return SLICE("unreachable the daemon was away until the lock was not sure any more");
	}
	if (part->deadline.sent_ms > 0) {
		return SLICE("unreachable the daemon did not answer until the lock was not sure any more");
	}
	return SLICE("expired the daemon could not renew it in time");
}

static void
part_hold(struct part *part, int64_t now_ms)
{
	enum deadline_step step;

	deadline_stood(&part->deadline, now_ms);
	step = deadline_step(&part->deadline, now_ms);
	if (step == DEADLINE_ASK && part->lock->hf->ready) {
		deadline_asked(&part->deadline, now_ms);
		part_check(part, now_ms);
		step = deadline_step(&part->deadline, now_ms);
	}
	if (step == DEADLINE_STOP || step == DEADLINE_EXPIRE) {
		part_lose(part, part_overdue(part, now_ms));
	}
}

void
part_step(struct part *part, int64_t now_ms)
{
	if (part->state == PART_WAITS || (part->state == PART_HELD && !part->sure)) {
		part_wait(part, now_ms);
		seen_step(part, now_ms);
	} else if (part->state == PART_HELD) {
		part_hold(part, now_ms);
	}
	if (part->state == PART_ENDS && !part->sent && part->lock->hf->ready) {
		part_unlock(part, now_ms);
	}
}

int64_t
part_next(const struct part *part, int64_t now_ms)
{
	int64_t limit_ms;

	if (part->state == PART_HELD && part->sure) {
		return deadline_next(&part->deadline, now_ms);
	}
	if (part->state != PART_WAITS && part->state != PART_HELD) {
		return INT64_MAX;
	}
	limit_ms = part_limit(part);
	limit_ms = seen_next(part) < limit_ms ? seen_next(part) : limit_ms;
	return part->lock->hf->ready && !part->sent && !part->behind && part->due_ms < limit_ms ? part->due_ms
												: limit_ms;
}

void
part_cut(struct part *part, int64_t now_ms)
{
	part->sent = false;
	part->due_ms = 0;
	part->inspects = false;
	part->late_ms = 0;
	if (part->state == PART_HELD && part->sure) {
		deadline_cut(&part->deadline, now_ms);
	}
}

/* Whether another lock of this handle has the name, and keeps this one from it. */
static bool
part_is_ours(const struct part *part)
{
	const struct holdfast_options *wanted = &part->lock->options;
	const struct holdfast_lock *lock;

	if (wanted->limit > 0) {
		return false; /* others may have permits, too */
	}
	TAILQ_FOREACH (lock, &part->lock->hf->locks, next) {
		bool excludes = lock != part->lock && (wanted->shared == 0 || lock->options.shared == 0);

		for (size_t i = 0; i < lock->count && excludes; i++) {
			if (lock->parts[i].state == PART_HELD &&
				strcmp(lock->parts[i].name, part->name) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* The word for a name in a command that a person may copy into a shell. */
static const char *
name_word(const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-";

	return name[0] != '-' && name[strspn(name, plain)] == '\0' && strlen(name) <= 200 ? name : "NAME";
}

#define HOLDER_TEXT_MAX 400

/* "deploy:4711 (pid 4711, uid 1000), for 3.2s" */
static void
holder_text(char out[HOLDER_TEXT_MAX], const struct holdfast_holder *holder)
{
	const char *at = holder->host[0] != '\0' ? " on " : "";
	char pid[32] = "", uid[32] = "";

	if (holder->token == 0) {
		(void)snprintf(out, HOLDER_TEXT_MAX, "a client of %s", holder->host);
		return;
	}
	if (holder->pid > 0) {
		(void)snprintf(pid, sizeof(pid), "pid %lld, ", (long long)holder->pid);
	}
	if (holder->uid >= 0) {
		(void)snprintf(uid, sizeof(uid), "uid %lld", (long long)holder->uid);
	}
	(void)snprintf(out, HOLDER_TEXT_MAX, "%s%s%s (%s%s%s%s), for %.1fs",
		holder->client[0] != '\0' ? holder->client : "a client", at, holder->host, pid,
		holder->address, holder->address[0] != '\0' && uid[0] != '\0' ? ", " : "", uid,
		(double)holder->held_ms / 1000);
}

/* Another locker has the name. */
static void
part_busy(struct part *part, const char *text)
{
	bool once = part->lock->options.wait_ms == HOLDFAST_TRY;

	part_fail(part, part->repeated, once ? HOLDFAST_BUSY : HOLDFAST_TIMEOUT, "", slice_of(text));
}

void
part_timeout(struct part *part, const struct holdfast_holder *holder)
{
	char text[sizeof(part->lock->error.text)], who[HOLDER_TEXT_MAX];

	if (holder != NULL && holder->known != 0) {
		holder_text(who, holder);
		(void)snprintf(text, sizeof(text),
			"another locker had it until the end of the wait; the holder is %s", who);
	} else {
		(void)snprintf(text, sizeof(text),
			"another locker had it until the end of the wait; `holdfast show %s` names it",
			name_word(part->name));
	}
	part_busy(part, text);
	if (holder != NULL) {
		part->lock->error.holder = *holder;
	}
}

/* The daemon has answered that another locker has the name. */
static void
part_kept(struct part *part, int64_t now_ms)
{
	bool once = part->lock->options.wait_ms == HOLDFAST_TRY;
	char text[sizeof(part->lock->error.text)];

	if (part_is_ours(part)) {
		(void)snprintf(text, sizeof(text),
			"another lock of this process %s: holdfast_unlock() gives it back",
			once ? "has it" : "had it until the end of the wait");
		part_busy(part, text);
	} else if (once) {
		(void)snprintf(text, sizeof(text), "another locker has it; `holdfast show %s` names it",
			name_word(part->name));
		part_busy(part, text);
	} else {
		seen_late(part, now_ms);
	}
}

/* The outcome of LOCK that is no grant. word: an error's; empty: another locker has the name. */
static void
part_refused(struct part *part, struct slice word, struct slice text, int64_t now_ms)
{
	char code[sizeof(part->lock->error.code)];

	if (part->state != PART_WAITS) {
		return;
	}
	if (word.n == 0) {
		if (part->lock->until_ms == INT64_MAX) {
			queue_bound(part, now_ms - part->asked_ms);
		}
		part_kept(part, now_ms);
		return;
	}
	slice_text(code, sizeof(code), word);
	/* It had stood in the queue until its time was over, and a try needs room, too. */
	if (slice_equal(word, SLICE("LIMIT")) && part->lock->options.wait_ms > 0 &&
		now_ms >= part->lock->until_ms) {
		part_kept(part, now_ms);
		return;
	}
	/* The daemon ends, and another begins. Or it has not noticed yet that the connection has ended whose
	 * LOCK has this id. */
	if (slice_equal(word, SLICE("DRAINING")) || (slice_equal(word, SLICE("ERR")) && part->repeated)) {
		part->trouble_ms = part->trouble_ms > 0 ? part->trouble_ms : now_ms;
		part->due_ms = now_ms + RETRY_MS;
		part->sent = false;
		(void)error_set(&part->lock->error, HOLDFAST_REFUSED, code, "cannot lock %.200s: %s: %.*s",
			part->name, code, SLICE_ARG(text));
		return;
	}
	part_fail(part, part->repeated, HOLDFAST_REFUSED, code, text);
}

static void
part_told(struct part *part, int64_t sent_ms, int64_t valid_ms, int64_t now_ms)
{
	/* A caller of holdfast_check() may wait for it. */
	(void)pthread_cond_broadcast(&part->lock->changed);
	if (part->sure) {
		/* EXTEND may have been answered after CHECK was sent. */
		if (part->deadline.sent_ms > 0) {
			deadline_announced(&part->deadline, valid_ms);
		}
		return;
	}
	if (now_ms - sent_ms >= valid_ms) {
		part_check(part, now_ms); /* this process stood still until the deadline that it was told */
		return;
	}
	part->sure = true;
	part->granted_ms = now_ms;
	deadline_start(&part->deadline, sent_ms, valid_ms, EARLY_MS);
	lock_granted(part->lock);
}

/* told: the token, and the ms for which it is good from the sending of LOCK on; an older daemon tells the
 * token alone. */
static void
part_granted(struct part *part, const struct answer *told, size_t count, int64_t now_ms)
{
	bool good = answer_is_token(&told[0]) && (count < 2 || answer_is_ms(&told[1]));
	int64_t ms = good && count > 1 ? told[1].n : 0;

	if (part->token != 0 || (!good && part->state != PART_WAITS)) {
		return;
	}
	if (!good) {
		part_fail(part, true, HOLDFAST_UNREACHABLE, "", SLICE(FOREIGN));
		return;
	}
	part->token = told[0].n;
	if (part->state != PART_WAITS) {
		return;
	}
	queue_leave(part, false);
	part->state = PART_HELD;
	part->sent = false;
	part->trouble_ms = 0;
	if (now_ms < part->lock_ms + ms / 3) {
		part_told(part, part->lock_ms, ms, now_ms);
	} else {
		part_step(part, now_ms); /* the wait took too much of it, or all: the daemon is asked */
	}
}

/* CHECK, EXTEND or UNLOCK is answered with an error or null. True: the hold is not there. */
static bool
part_gone(struct part *part, const struct answer *answer)
{
	struct slice text;
	enum code code = answer_code(answer, &text);

	if (answer->type == ANSWER_NULL || code == CODE_NOTHELD) {
		part_lose(part, SLICE("unknown the daemon does not know of it any more"));
	} else if (code == CODE_LOST) {
		part_lose(part, text);
	} else {
		return false;
	}
	return true;
}

/* Another end of the hold, for all that have it. */
static void
part_moved(struct part *part, int64_t sent_ms, int64_t valid_ms)
{
	struct holdfast_lock *lock;

	deadline_start(&part->deadline, sent_ms, valid_ms, EARLY_MS);
	TAILQ_FOREACH (lock, &part->lock->hf->locks, next) {
		for (size_t i = 0; i < lock->count && lock->owner != NULL; i++) {
			if (lock->parts[i].state == PART_HELD && strcmp(lock->parts[i].tag, part->tag) == 0) {
				deadline_start(&lock->parts[i].deadline, sent_ms, valid_ms, EARLY_MS);
			}
		}
	}
}

/* EXTEND is answered, or DOWNGRADE, whose answer is the token. */
static void
part_extended(struct part *part, enum asked what, int64_t sent_ms, const struct answer *answer)
{
	struct holdfast_lock *lock = part->lock;
	struct holdfast_error *error = &lock->extended;
	const char *verb = what == ASKED_EXTEND ? "extend" : "share";
	char code[sizeof(error->code)];
	struct slice text, word;

	lock->extending--;
	(void)pthread_cond_broadcast(&lock->changed);
	if (what == ASKED_DOWNGRADE && answer_is_token(answer) && answer->n == part->token) {
		return;
	}
	if (what == ASKED_EXTEND && answer_is_ms(answer)) {
		if (part->state == PART_HELD) {
			part_moved(part, sent_ms, answer->n);
		}
	} else if (answer->type == ANSWER_INT) {
		(void)error_set(error, HOLDFAST_UNREACHABLE, "", "cannot %s the lock %.200s: " FOREIGN, verb,
			part->name);
	} else if (part->state == PART_HELD && part_gone(part, answer)) {
		(void)error_copy(error, &lock->error);
	} else if (answer->type == ANSWER_ERROR && error->status == HOLDFAST_OK) {
		text = answer->text;
		word = slice_word(&text);
		slice_text(code, sizeof(code), word);
		(void)error_set(error, HOLDFAST_REFUSED, code, "cannot %s the lock %.200s: %s: %.*s", verb,
			part->name, code, SLICE_ARG(text));
	}
}

static void
part_released(struct part *part, const struct answer *answer, int64_t now_ms)
{
	struct slice text;

	if (answer->type == ANSWER_INT && answer->n > 0) {
		part_unlock(part, now_ms);
		return;
	}
	if (answer_code(answer, &text) == CODE_LOST) {
		part_lose(part, text);
	}
	part_done(part);
}

/* CHECK. A number that is no time leaves a hold without a deadline to rely on. */
static void
part_checked(struct part *part, int64_t sent_ms, const struct answer *answer, int64_t now_ms)
{
	if (part->state != PART_HELD) {
		return;
	}
	if (answer_is_ms(answer)) {
		part_told(part, sent_ms, answer->n, now_ms);
	} else if (answer->type != ANSWER_INT) {
		(void)part_gone(part, answer);
	} else if (part->sure) {
		part_lose(part, SLICE("unreachable " FOREIGN));
	} else {
		part_fail(part, true, HOLDFAST_UNREACHABLE, "", SLICE(FOREIGN));
	}
}

void
part_answer(struct part *part, enum asked what, int64_t sent_ms, const struct answer *answer, int64_t now_ms)
{
	struct slice word, text;

	switch (what) {
	case ASKED_LOCK:
		if (answer->type == ANSWER_INT) {
			part_granted(part, answer, 1, now_ms);
		} else if (answer->type == ANSWER_ARRAY && answer->count == 2) {
			part_granted(part, answer->items, 2, now_ms);
		} else if (answer->type == ANSWER_NULL) {
			part_refused(part, SLICE(""), SLICE(""), now_ms);
		} else if (answer->type == ANSWER_ERROR) {
			text = answer->text;
			word = slice_word(&text);
			if (part->state == PART_WAITS && is_unannounced(text)) {
				part_lock_again(part, now_ms);
			} else {
				part_refused(part, word, text, now_ms);
			}
		} else {
			part->trouble_ms = 0; /* QUEUED: the wait is as good as before */
		}
		break;
	case ASKED_CHECK:
		part_checked(part, sent_ms, answer, now_ms);
		break;
	case ASKED_EXTEND:
	case ASKED_DOWNGRADE:
		part_extended(part, what, sent_ms, answer);
		break;
	case ASKED_INSPECT:
	case ASKED_FLEET:
		seen_answer(part, what, answer, now_ms);
		break;
	case ASKED_UNLOCK:
		part_released(part, answer, now_ms);
		break;
	default:
		break;
	}
}

struct part *
part_find(struct holdfast *hf, struct slice tag)
{
	struct holdfast_lock *lock;

	TAILQ_FOREACH (lock, &hf->locks, next) {
		for (size_t i = 0; i < lock->count; i++) {
			if (slice_equal(slice_of(lock->parts[i].tag), tag)) {
				return &lock->parts[i];
			}
		}
	}
	return NULL;
}

void
part_push(struct holdfast *hf, const struct answer *push, int64_t now_ms)
{
	struct part *part;

	if (answer_is_push(push, "grant", 3)) {
		part = part_find(hf, push->items[1].text);
		if (part != NULL) {
			part_granted(part, &push->items[2], push->count - 2, now_ms);
		}
	} else if (answer_is_push(push, "failed", 4)) {
		part = part_find(hf, push->items[1].text);
		if (part != NULL) {
			part_refused(part, push->items[2].text, push->items[3].text, now_ms);
		}
	} else if (answer_is_push(push, "lost", 5)) {
		part = part_find(hf, push->items[2].text);
		if (part != NULL && part->state == PART_HELD && part->token == push->items[3].n) {
			part_lose(part, push->items[4].text);
		}
	}
}

void
part_extend(struct part *part, int64_t lease_ms, int64_t now_ms)
{
	char ms[NUMBER_TEXT_MAX], token[NUMBER_TEXT_MAX];

	part->lock->extending++;
	if (lease_ms == 0) {
		part_ask(part, ASKED_DOWNGRADE, "DOWNGRADE", now_ms);
		return;
	}
	engine_ask(part->lock->hf, part, ASKED_EXTEND, 7,
		(const char *const[]){"EXTEND", part->name, number_text(ms, lease_ms), "OWNER", part->tag,
			"TOKEN", number_text(token, part->token)},
		now_ms);
}
