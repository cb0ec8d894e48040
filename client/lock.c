/*
 * lock: the requests that end with a lock, or with the reason why there is none.
 *
 *     HELLO 3 …            one write; only the last answer may wait
 *     SESSION RESUME …     after a cut: a wait has its position again, a grant that was not answered is found
 *     SESSION BIND         lock: the script; hold: itself
 *     SESSION ONLOSS PUSH  not lock
 *     SESSION SECRET       not lock
 *     SESSION GRACE …      may be refused
 *     LOCK name WAIT … VALIDITY, or MLOCK n name… WAIT … and CHECK of each
 */
#include "client/lock.h"

#include "client/fleet.h"
#include "client/list.h"
#include "client/message.h"
#include "client/output.h"
#include "client/waiting.h"
#include "client/wire/hello.h"
#include "client/wire/session.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A LOCK that was answered within this time did not wait. */
#define AT_ONCE_MS 20

static int
no_answer(const struct wire *w)
{
	return w->denied ? STATUS_DENIED : w->foreign ? STATUS_CONFIG : STATUS_UNAVAILABLE;
}

const char *
take_loss(char out[WIRE_TEXT_MAX], struct slice told)
{
	struct slice word = slice_word(&told);

	(void)snprintf(
		out, WIRE_TEXT_MAX, "%.*s%s%.*s", SLICE_ARG(word), told.n > 0 ? ": " : "", SLICE_ARG(told));
	return out;
}

int
take_refusal(const struct wire *w, const struct answer *answer, const char *what)
{
	char loss[WIRE_TEXT_MAX];
	struct slice rest;
	enum code code;

	if (answer == NULL) {
		message("%s: %s", what, w->why);
		return no_answer(w);
	}
	if (answer->type != ANSWER_ERROR) {
		message("%s: the daemon answered something unknown: is it of another version?", what);
		return STATUS_INTERNAL;
	}
	code = answer_code(answer, &rest);
	if (code == CODE_COUNT) {
		rest = answer->text;
	} else if (code == CODE_LOST) {
		rest = slice_of(take_loss(loss, rest));
	}
	message("%s: %s%s%.*s", what, code == CODE_COUNT ? "" : code_word(code),
		code == CODE_COUNT ? "" : ": ", (int)rest.n, rest.p);
	return status_of_error(code, rest);
}

/* How often HELLO is tried. */
#define HELLO_TRIES 3

/* A daemon that ends closes connections that it has accepted and not answered. No request was sent yet, and
 * the next daemon may listen already. */
int
take_hello(struct wire *w, const struct address *a, const char *label)
{
	const struct answer *answer = NULL;

	for (int left = HELLO_TRIES; left > 0; left--) {
		if (!wire_open(w, a)) {
			message("%s", w->why);
			return no_answer(w);
		}
		wire_hello(w, a, label);
		answer = wire_welcome(w, a);
		if (answer != NULL || !w->away || left == 1) {
			break;
		}
		wire_close(w);
	}
	if (answer == NULL || answer->type == ANSWER_ERROR) {
		return take_refusal(w, answer, "the daemon did not answer HELLO");
	}
	return STATUS_DONE;
}

const struct answer *
take_join(struct wire *w, const struct taking *t, const char *secret, size_t n, const char *const *words)
{
	const struct answer *answer;

	if (!wire_open(w, t->a)) {
		return NULL;
	}
	wire_hello(w, t->a, t->label);
	wire_ask(w, "SESSION", "JOIN", secret);
	wire_ask_words(w, n, words);
	answer = wire_welcome(w, t->a);
	for (int i = 0; i < 2 && answer != NULL && answer->type != ANSWER_ERROR; i++) {
		answer = wire_answer(w);
	}
	return answer;
}

static void
ask_lock(struct wire *w, const struct options *o, int64_t wait_ms)
{
	const char *words[14 + OPTION_ALSO_MAX] = {"LOCK", o->name, "VALIDITY"};
	char count[NUMBER_TEXT_MAX];
	char wait[NUMBER_TEXT_MAX];
	char lease[NUMBER_TEXT_MAX];
	char slots[NUMBER_TEXT_MAX];
	size_t n = 3;

	if (o->also.count > 0) {
		words[0] = "MLOCK";
		words[1] = number_text(count, (int64_t)o->also.count + 1);
		words[2] = o->name;
		memcpy(words + 3, o->also.names, o->also.count * sizeof(*words));
		n += o->also.count;
	}
	if (o->shared) {
		words[n++] = "SHARED";
	}
	if (o->slots > 0) {
		words[n++] = "LIMIT";
		words[n++] = number_text(slots, o->slots);
	}

	if (wait_ms >= 0) {
		words[n++] = "WAIT";
		words[n++] = number_text(wait, wait_ms);
	}
	if (o->lease_ms > 0) {
		words[n++] = "LEASE";
		words[n++] = number_text(lease, o->lease_ms);
	}
	if (o->why != NULL) {
		words[n++] = "WHY";
		words[n++] = o->why;
	}
	wire_ask_words(w, n, words);
}

/* The progress of the requests: the last answer that was read. */
struct reached {
	const struct answer *answer; /* NULL: the connection ended */
	const char *what;            /* the request before LOCK that failed; NULL: none */
	bool cycle;                  /* LOCK would wait for this process itself */
	bool back;                   /* the session is that of an earlier attempt */
	bool granted;
	bool lost;                /* it was granted, and CHECK has no other answer */
	char held[WIRE_TEXT_MAX]; /* LOCK was answered with HELD and these words, and the hold was not found;
				     "": otherwise */
	char hidden[WIRE_TEXT_MAX]; /* held: why the daemon did not tell of the hold; "": it told of none */
};

/* False: there is no answer, or an error. */
static bool
read_answer(struct wire *w, struct reached *at, const char *what)
{
	at->what = what;
	at->answer = wire_answer(w);
	return at->answer != NULL && at->answer->type != ANSWER_ERROR;
}

/* The answer to a request that may be refused. False: there is none. */
static bool
read_optional(struct wire *w, struct reached *at, bool *done)
{
	*done = read_answer(w, at, "cannot keep a session");
	return at->answer != NULL;
}

/* Reads the answers before LOCK's. True: none of them is an error that matters. */
static bool
read_preface(struct wire *w, const struct taking *t, struct grant *g, struct reached *at)
{
	bool done;

	at->what = "the daemon did not answer HELLO";
	at->answer = wire_welcome(w, t->a);
	if (at->answer == NULL || at->answer->type == ANSWER_ERROR) {
		return false;
	}
	if (t->script) {
		if (!read_answer(w, at, "cannot bind the lock to the process")) {
			return false;
		}
	} else if ((g->secret[0] != '\0' && !read_optional(w, at, &at->back)) ||
		   (t->pidfd >= 0 && !read_optional(w, at, &done)) ||
		   !read_answer(w, at, "cannot ask to be told of a loss") ||
		   !read_answer(w, at, "cannot ask for the session's secret") ||
		   !session_secret(g->secret, at->answer)) {
		return false;
	}
	if (!read_optional(w, at, &done)) {
		return false;
	}
	at->what = NULL;
	return true;
}

/* If the daemon has closed the connection, its answers say why. */
static void
send_requests(struct wire *w, const struct taking *t, const char *secret, int64_t wait_ms)
{
	wire_hello(w, t->a, t->label);
	if (secret[0] != '\0') {
		wire_ask(w, "SESSION", "RESUME", secret);
	}
	if (t->pidfd >= 0) {
		(void)wire_bind(w, t->pidfd);
	}
	if (!t->script) {
		wire_ask(w, "SESSION", "ONLOSS", "PUSH");
		wire_ask(w, "SESSION", "SECRET");
	}
	session_ask_grace(w);
	ask_lock(w, t->o, wait_ms);
	(void)wire_flush(w);
}

#define BUSY_ASK_MS 1000 /* how long a refused client asks who the holder is */

static int
busy(struct wire *w, const struct options *o)
{
	const struct answer *fleet;
	char holder[512];

	if (o->skip_ok) {
		return STATUS_DONE;
	}
	if (!o->quiet) {
		fleet = fleet_inspect(w, o->name, clock_ms() + BUSY_ASK_MS);
		if (fleet == NULL || !fleet_describe(holder, sizeof(holder), fleet, w->local)) {
			(void)snprintf(holder, sizeof(holder), "holdfast show %s says by whom", o->name);
		}
		message("%s is taken%s; %s", o->name, o->wait_ms > 0 ? ", the wait is over" : "", holder);
	}
	return (int)o->busy_status;
}

/* After a wait, the validity in LOCK's answer counts from the grant, but the client can only count it from
 * when it sent the request. So it asks again. False: *answer is what came instead. */
static bool
tell_again(struct wire *w, const struct options *o, struct grant *g, const struct answer **answer)
{
	int64_t sent_ms = clock_ms();

	wire_ask(w, "CHECK", o->name);
	for (size_t i = 0; i < o->also.count; i++) {
		wire_ask(w, "CHECK", o->also.names[i]);
	}
	g->expire_ms = INT64_MAX;
	for (size_t i = 0; i <= o->also.count; i++) {
		*answer = wire_answer(w);
		if (*answer == NULL || !answer_is_ms(*answer)) {
			return false;
		}
		if (sent_ms + (*answer)->n < g->expire_ms) {
			g->expire_ms = sent_ms + (*answer)->n;
		}
	}
	return true;
}

/* LOCK ... VALIDITY answers token and validity, MLOCK a token for each name. */
static bool
grant_read(const struct options *o, const struct answer *answer, int64_t sent_ms, struct grant *g)
{
	size_t also = o->also.count;

	if (answer == NULL || answer->type != ANSWER_ARRAY || answer->count != (also > 0 ? also + 1 : 2)) {
		return false;
	}
	for (size_t i = 0; i < answer->count; i++) {
		if (also == 0 && i == 1 ? !answer_is_ms(&answer->items[i])
					: !answer_is_token(&answer->items[i])) {
			return false;
		}
	}
	g->token = answer->items[0].n;
	g->granted_ms = clock_ms();
	g->expire_ms = also > 0 ? sent_ms : sent_ms + answer->items[1].n;
	for (size_t i = 0; i < also; i++) {
		g->also_tokens[i] = answer->items[i + 1].n;
	}
	return true;
}

/* The token of the hold that this session has of this name; 0: none. *answer is the last one that was read.
 */
static int64_t
token_find(struct wire *w, const char *name, int64_t session, const struct answer **answer)
{
	const struct answer *page, *holders;
	struct pages pages;

	pages_begin(&pages, w, 2, (const char *const[]){"INSPECT", name});
	while ((page = pages_next(&pages)) != NULL) {
		*answer = pages.answer;
		holders = answer_get(page, "holders");
		for (size_t i = 0; holders != NULL && i < holders->count; i++) {
			if (answer_get_int(&holders->items[i], "session", 0) == session) {
				return answer_get_int(&holders->items[i], "token", 0);
			}
		}
	}
	*answer = pages.answer;
	return 0;
}

/* The locks were granted to this session, and the connection ended before the answer arrived. *answer is the
 * last one that was read. */
static bool
grant_find(struct wire *w, const struct options *o, struct grant *g, const struct answer **answer)
{
	int64_t session;
	bool found;

	wire_ask(w, "SESSION", "ID");
	*answer = wire_answer(w);
	if (*answer == NULL || (*answer)->type != ANSWER_INT) {
		return false;
	}
	session = (*answer)->n;
	g->granted_ms = clock_ms();
	g->expire_ms = g->granted_ms;
	g->token = token_find(w, o->name, session, answer);
	found = g->token > 0;
	for (size_t i = 0; found && i < o->also.count; i++) {
		g->also_tokens[i] = token_find(w, o->also.names[i], session, answer);
		found = g->also_tokens[i] > 0;
	}
	return found;
}

bool
take_away(const struct wire *w, const struct answer *answer, bool came)
{
	if (answer != NULL) {
		return answer_is_error(answer, CODE_DRAINING);
	}
	return w->away || (came && w->ended && !w->denied && !w->foreign);
}

/* The session holds the lock already. What is asked here overwrites that answer, so its words are kept. */
static void
read_held(struct wire *w, const struct options *o, struct grant *g, struct reached *at)
{
	char held[WIRE_TEXT_MAX];

	slice_text(held, sizeof(held), at->answer->text);
	at->granted = grant_find(w, o, g, &at->answer);
	if (at->granted || at->answer == NULL || take_away(w, at->answer, true)) {
		return;
	}
	memcpy(at->held, held, sizeof(held));
	if (at->answer->type == ANSWER_ERROR) {
		slice_text(at->hidden, sizeof(at->hidden), at->answer->text);
		return;
	}
	(void)tell_again(w, o, g, &at->answer);
	at->lost = answer_is_error(at->answer, CODE_LOST);
}

/* Reads the grant, if the answer to LOCK is one. */
static void
read_grant(struct wire *w, const struct options *o, struct grant *g, struct reached *at, int64_t sent_ms)
{
	bool held = at->back && answer_is_error(at->answer, CODE_HELD);

	if (held) {
		read_held(w, o, g, at);
	} else {
		at->granted = grant_read(o, at->answer, sent_ms, g);
	}
	if (at->granted && (held || o->also.count > 0 || clock_ms() - sent_ms > AT_ONCE_MS) &&
		!tell_again(w, o, g, &at->answer)) {
		at->granted = false;
		at->lost = at->answer != NULL;
	}
}

/* Repeats the requests until a daemon has answered, which may be the next one after a restart. *sent_ms: when
 * they were sent to it; 0: they could not be sent. */
static struct reached
ask(struct wire *w, const struct taking *t, struct grant *g, int64_t *sent_ms)
{
	struct waiting waiting;
	struct reached at;

	waiting_start(&waiting, t->o, t->a, clock_ms());
	do {
		*sent_ms = 0;
		at = (struct reached){.what = "", .back = waiting.came && t->script};
		if (wire_open(w, t->a)) {
			wire_guard(w);
			*sent_ms = clock_ms();
			send_requests(w, t, g->secret, waiting_left_ms(&waiting));
			waiting_hello(&waiting, w);
			if (read_preface(w, t, g, &at)) {
				at.answer = waiting_answer(&waiting, w);
				at.cycle = waiting.cycle;
				read_grant(w, t->o, g, &at, *sent_ms);
			}
		}
	} while (waiting_again(&waiting, w, at.answer));
	return at;
}

/* The session holds the lock, and this client was not told by which token. */
static int
refuse_held(const struct wire *w, const struct options *o, const struct reached *at, const char *what)
{
	const struct answer held = {.type = ANSWER_ERROR, .text = slice_of(at->held)};
	int status = take_refusal(w, &held, what);
	char pid[NUMBER_TEXT_MAX];

	if (at->hidden[0] == '\0') {
		message("the daemon shows no such hold of this process now: try again");
	} else {
		message("it may have been granted when the connection ended, and its token is not shown "
			"(%s): "
			"holdfast unlock %s%s%s releases it",
			at->hidden, o->name, o->pid != 0 ? " --pid " : "",
			o->pid != 0 ? number_text(pid, o->pid) : "");
	}
	return status;
}

bool
take_lock(struct wire *w, const struct taking *t, struct grant *g, int *status)
{
	struct reached at;
	char what[NAME_BYTES_MAX + 32];
	char duration[DURATION_TEXT_MAX];
	int64_t sent_ms;

	memset(g, 0, sizeof(*g));
	(void)snprintf(what, sizeof(what), "cannot lock %s", t->o->name);
	at = ask(w, t, g, &sent_ms);
	if (at.granted) {
		if (t->o->verbose) {
			message("%s is locked, token %" PRId64 ", after %s", t->o->name, g->token,
				duration_text(duration, clock_ms() - sent_ms));
		}
		return true;
	}
	if (sent_ms == 0) {
		message("%s", w->why);
		*status = no_answer(w);
	} else if (at.what != NULL) {
		*status = take_refusal(w, at.answer, at.what);
	} else if (at.lost) {
		message("%s: it was granted, and lost at once", what);
		*status = STATUS_LOST;
	} else if (at.held[0] != '\0' && at.answer != NULL) {
		*status = refuse_held(w, t->o, &at, what);
	} else if (at.answer != NULL && at.answer->type == ANSWER_NULL) {
		g->busy = true;
		*status = busy(w, t->o);
	} else {
		*status = take_refusal(w, at.answer, what);
		*status = at.cycle ? (int)t->o->busy_status : *status;
	}
	return false;
}

static bool
token_write(const char *file, int64_t token)
{
	char text[NUMBER_TEXT_MAX + 1];
	size_t n = number_print(text, token);
	int fd = STDOUT_FILENO;
	bool written;

	text[n++] = '\n';
	if (strcmp(file, "-") != 0) {
		fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	written = fd >= 0 && write(fd, text, n) == (ssize_t)n;
	if (fd > STDERR_FILENO && close(fd) != 0) {
		written = false;
	}
	return written;
}

int
take_report(const struct options *o, const struct grant *g)
{
	int64_t valid_ms = g->expire_ms - clock_ms();

	if (o->token_file != NULL && !token_write(o->token_file, g->token)) {
		message("cannot write the token to %s: %s", o->token_file, strerror(errno));
		return STATUS_INTERNAL;
	}
	return !o->json ? STATUS_DONE
			: json_output_print("{s:s, s:I, s:I}", "name", o->name, "token", (json_int_t)g->token,
				  "valid_ms", (json_int_t)(valid_ms > 0 ? valid_ms : 0));
}
