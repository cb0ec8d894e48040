/*
 * lock: the requests that end with a lock, or with the reason why there is none.
 *
 *     HELLO 3 …            one write, four answers; only the last one may wait
 *     SESSION ONLOSS PUSH
 *     SESSION SECRET
 *     LOCK name WAIT … VALIDITY, or MLOCK n name… WAIT … and CHECK of each
 *
 * A run inside a run of the same name joins the session of the outer run in place of these.
 */
#include "client/lock.h"

#include "client/message.h"
#include "client/output.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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
	const char *space = memchr(told.p, ' ', told.n);
	size_t n = space == NULL ? told.n : (size_t)(space - told.p);

	(void)snprintf(out, WIRE_TEXT_MAX, "%.*s%s%.*s", (int)n, told.p, space == NULL ? "" : ":",
		(int)(told.n - n), told.p + n);
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
	return status_of_code(code);
}

void
take_label(char label[TAKE_LABEL_MAX], const char *command)
{
	const char *slash = strrchr(command, '/');
	char host[64] = "";
	size_t n = 0;

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(label, TAKE_LABEL_MAX, "%.60s@%s", slash == NULL ? command : slash + 1, host);
	for (; label[n] != '\0'; n++) {
		if (label[n] <= ' ' || label[n] > '~') {
			label[n] = '_';
		}
	}
}

/* Number of attempts to greet. */
#define GREETINGS 3

/* A daemon that ends closes connections that it has accepted and not answered. No request was sent yet, and
 * the next daemon may listen already. */
int
take_greeting(struct wire *w, const struct address *a, const char *label)
{
	const struct answer *answer = NULL;

	for (int left = GREETINGS; left > 0; left--) {
		if (!wire_open(w, a)) {
			message("%s", w->why);
			return no_answer(w);
		}
		wire_greet(w, a, label);
		answer = wire_welcome(w, a);
		if (answer != NULL || !w->away || left == 1) {
			break;
		}
		wire_close(w);
	}
	if (answer == NULL || answer->type == ANSWER_ERROR) {
		return take_refusal(w, answer, "cannot greet the daemon");
	}
	return STATUS_DONE;
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
};

/* Reads the answers before LOCK's. True: none of them is an error. */
static bool
read_preface(struct wire *w, const struct taking *t, struct grant *g, struct reached *at)
{
	at->what = "cannot greet the daemon";
	at->answer = wire_welcome(w, t->a);
	if (at->answer == NULL || at->answer->type == ANSWER_ERROR) {
		return false;
	}
	at->what = t->pidfd >= 0 ? "cannot bind the lock to the process" : "cannot ask to be told of a loss";
	at->answer = wire_answer(w);
	if (at->answer == NULL || at->answer->type == ANSWER_ERROR) {
		return false;
	}
	if (t->pidfd < 0) {
		at->what = "cannot ask for the session's secret";
		at->answer = wire_answer(w);
		if (at->answer == NULL || at->answer->type != ANSWER_TEXT ||
			at->answer->text.n >= sizeof(g->secret)) {
			return false;
		}
		memcpy(g->secret, at->answer->text.p, at->answer->text.n);
		g->secret[at->answer->text.n] = '\0';
	}
	at->what = NULL;
	return true;
}

/* If the daemon has closed the connection, its answers say why. */
static void
send_requests(struct wire *w, const struct taking *t, int64_t wait_ms)
{
	wire_greet(w, t->a, t->label);
	if (t->pidfd >= 0) {
		(void)wire_bind(w, t->pidfd);
	} else {
		wire_ask(w, "SESSION", "ONLOSS", "PUSH");
		wire_ask(w, "SESSION", "SECRET");
	}
	ask_lock(w, t->o, wait_ms);
	(void)wire_flush(w);
}

static int
busy(const struct options *o)
{
	if (o->skip_ok) {
		return STATUS_DONE;
	}
	if (!o->quiet) {
		message("%s is taken%s; holdfast show %s says by whom", o->name,
			o->wait_ms > 0 ? ", the wait is over" : "", o->name);
	}
	return (int)o->busy_status;
}

/* After a wait, the validity in LOCK's answer counts from the grant, but the client can only count it from
 * when it sent the request. So it asks again. */
static bool
tell_again(struct wire *w, const struct options *o, struct grant *g)
{
	const struct answer *answer;
	int64_t sent_ms = clock_ms();

	wire_ask(w, "CHECK", o->name);
	for (size_t i = 0; i < o->also.count; i++) {
		wire_ask(w, "CHECK", o->also.names[i]);
	}
	g->expire_ms = INT64_MAX;
	for (size_t i = 0; i <= o->also.count; i++) {
		answer = wire_answer(w);
		if (answer == NULL || answer->type != ANSWER_INT) {
			return false;
		}
		if (sent_ms + answer->n < g->expire_ms) {
			g->expire_ms = sent_ms + answer->n;
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
	g->token = answer->items[0].n;
	g->granted_ms = clock_ms();
	g->expire_ms = also > 0 ? sent_ms : sent_ms + answer->items[1].n;
	for (size_t i = 0; i < also; i++) {
		g->also_tokens[i] = answer->items[i + 1].n;
	}
	return true;
}

bool
take_away(const struct wire *w, const struct answer *answer)
{
	struct slice rest;

	return answer == NULL ? w->away
			      : answer->type == ANSWER_ERROR && answer_code(answer, &rest) == CODE_DRAINING;
}

/* Repeats the requests until a daemon has answered, which may be the next one after a restart. *sent_ms: when
 * they were sent to it; 0: they could not be sent. */
static struct reached
ask(struct wire *w, const struct taking *t, struct grant *g, int64_t *sent_ms)
{
	struct waiting waiting;
	struct reached at;

	waiting_start(&waiting, t->o, t->a, clock_ms());
	for (;;) {
		*sent_ms = 0;
		at = (struct reached){.what = ""};
		if (wire_open(w, t->a)) {
			*sent_ms = clock_ms();
			send_requests(w, t, waiting_left_ms(&waiting));
			if (read_preface(w, t, g, &at)) {
				at.answer = waiting_answer(&waiting, w);
				at.cycle = waiting.cycle;
			}
		}
		if (!take_away(w, at.answer) ||
			!waiting_daemon(&waiting, at.answer == NULL ? w->why : NULL, *sent_ms)) {
			return at;
		}
		wire_close(w);
	}
}

bool
take_lock(struct wire *w, const struct taking *t, struct grant *g, int *status)
{
	const struct answer *answer;
	struct reached at;
	char what[NAME_BYTES_MAX + 32];
	char duration[DURATION_TEXT_MAX];
	int64_t sent_ms;

	memset(g, 0, sizeof(*g));
	(void)snprintf(what, sizeof(what), "cannot lock %s", t->o->name);
	at = ask(w, t, g, &sent_ms);
	answer = at.answer;
	if (sent_ms == 0) {
		message("%s", w->why);
		*status = no_answer(w);
		return false;
	}
	if (at.what != NULL) {
		*status = take_refusal(w, answer, at.what);
		return false;
	}
	if (answer != NULL && answer->type == ANSWER_NULL) {
		g->busy = true;
		*status = busy(t->o);
		return false;
	}
	if (!grant_read(t->o, answer, sent_ms, g)) {
		*status = take_refusal(w, answer, what);
		*status = at.cycle ? (int)t->o->busy_status : *status;
		return false;
	}
	if ((t->o->also.count > 0 || clock_ms() - sent_ms > AT_ONCE_MS) && !tell_again(w, t->o, g)) {
		message("%s: it was granted, and lost at once", what);
		*status = STATUS_LOST;
		return false;
	}
	if (t->o->verbose) {
		message("%s is locked, token %" PRId64 ", after %s", t->o->name, g->token,
			duration_text(duration, clock_ms() - sent_ms));
	}
	return true;
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

/* ---- a run inside a run ---- */

static bool
nest_check(struct wire *w, const struct taking *t, const char *secret, const char *token, struct grant *g)
{
	const struct answer *answer;
	int64_t sent_ms = clock_ms();

	wire_greet(w, t->a, t->label);
	wire_ask(w, "SESSION", "JOIN", secret);
	wire_ask(w, "CHECK", t->o->name, "TOKEN", token);
	for (int i = 0; i < 2; i++) {
		answer = wire_answer(w);
		if (answer == NULL || answer->type == ANSWER_ERROR) {
			return false;
		}
	}
	answer = wire_answer(w);
	if (answer == NULL || answer->type != ANSWER_INT) {
		return false;
	}
	g->granted_ms = sent_ms;
	g->expire_ms = sent_ms + answer->n;
	return true;
}

/* The value of HOLDFAST_KIND for the command. */
static const char *
nest_kind(const struct options *o)
{
	if (o->slots > 0) {
		return "permits";
	}
	return o->shared ? "shared" : "exclusive";
}

/* Whether the hold of the outer run covers the wanted one. */
static bool
nest_covers(const struct options *o, const char *kind)
{
	return kind == NULL || strcmp(kind, nest_kind(o)) == 0 ||
	       (strcmp(kind, "exclusive") == 0 && o->shared);
}

/* Appends a word after a space; numbers and names have no spaces. */
static void
words_add(char *text, size_t room, const char *word)
{
	size_t n = strlen(text);

	(void)snprintf(text + n, room - n, "%s%s", n > 0 ? " " : "", word);
}

void
nest_export(const struct options *o, const struct address *a, const struct grant *g)
{
	char names[(OPTION_ALSO_MAX + 1) * (NAME_BYTES_MAX + 1)] = "";
	char tokens[(OPTION_ALSO_MAX + 1) * NUMBER_TEXT_MAX] = "";
	char token[NUMBER_TEXT_MAX];

	for (size_t i = 0; i <= o->also.count; i++) {
		words_add(names, sizeof(names), i == 0 ? o->name : o->also.names[i - 1]);
		words_add(tokens, sizeof(tokens),
			number_text(token, i == 0 ? g->token : g->also_tokens[i - 1]));
	}
	(void)setenv("HOLDFAST_NAME", o->name, 1);
	(void)setenv("HOLDFAST_NAMES", names, 1);
	(void)setenv("HOLDFAST_TOKEN", number_text(token, g->token), 1);
	(void)setenv("HOLDFAST_TOKENS", tokens, 1);
	(void)setenv("HOLDFAST_KIND", nest_kind(o), 1);
	(void)setenv("HOLDFAST_SESSION", g->secret, 1);
	/* $HOLDFAST_URL may have a password, so it is kept as it is; --socket has none. */
	if (o->socket != NULL || getenv("HOLDFAST_URL") == NULL) {
		(void)setenv("HOLDFAST_URL", a->text, 1);
	}
}

/* The i-th word, and its length; NULL: none. */
static const char *
word_at(const char *text, size_t i, size_t *n)
{
	for (; text != NULL; i--) {
		*n = strcspn(text, " ");
		if (i == 0) {
			return *n > 0 ? text : NULL;
		}
		text = text[*n] == ' ' ? text + *n + 1 : NULL;
	}
	return NULL;
}

/* Whether an outer run has this name, and its token for the name. */
static bool
around_us(const char *name, char token[NUMBER_TEXT_MAX])
{
	const char *names = getenv("HOLDFAST_NAMES"), *tokens = getenv("HOLDFAST_TOKENS");
	const char *word;
	size_t n;

	for (size_t i = 0; (word = word_at(names, i, &n)) != NULL; i++) {
		if (strlen(name) != n || memcmp(word, name, n) != 0) {
			continue;
		}
		word = word_at(tokens, i, &n);
		if (word == NULL || n >= NUMBER_TEXT_MAX) {
			return false;
		}
		memcpy(token, word, n);
		token[n] = '\0';
		return true;
	}
	return false;
}

bool
nest_overlaps(const struct options *o)
{
	char token[NUMBER_TEXT_MAX];
	bool found = o->also.count > 0 && around_us(o->name, token);

	for (size_t i = 0; i < o->also.count; i++) {
		found = found || around_us(o->also.names[i], token);
	}
	return found;
}

bool
nest_join(struct wire *w, const struct taking *t, struct grant *g)
{
	const char *secret = getenv("HOLDFAST_SESSION");
	char token[NUMBER_TEXT_MAX];

	if (secret == NULL || strlen(secret) > SECRET_BYTES_MAX || !around_us(t->o->name, token) ||
		!nest_covers(t->o, getenv("HOLDFAST_KIND")) ||
		!number_parse(slice_of(token), 1, OPTION_TOKEN_MAX, &g->token)) {
		return false;
	}
	(void)snprintf(g->secret, sizeof(g->secret), "%s", secret);
	if (wire_open(w, t->a) && nest_check(w, t, secret, token, g)) {
		return true;
	}
	wire_close(w);
	memset(g, 0, sizeof(*g));
	return false;
}
