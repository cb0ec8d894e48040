/*
 * see: ls, show and sessions.
 */
#include "client/grid.h"
#include "client/say.h"
#include "client/span.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "client/voice.h"
#include "client/who.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 1024

/* Greets and asks what was appended by `ask`; NULL: *status says why there is no such answer. */
static const struct answer *
question(struct wire *w, const struct options *o, const struct address *a, enum answer_type wanted,
	int *status)
{
	const char *words[] = {"LOCKS", "COUNT", "100000", "MATCH", o->name};
	const struct answer *answer;

	*status = take_greeting(w, a, "holdfast");
	if (*status != STATUS_DONE) {
		return NULL;
	}
	if (o->task == TASK_LS) {
		wire_ask_words(w, o->name == NULL ? 3 : 5, words);
	} else if (o->task == TASK_SHOW) {
		wire_ask(w, "INSPECT", o->name);
	} else {
		wire_ask(w, "SESSIONS");
	}
	answer = wire_answer(w);
	if (answer == NULL || answer->type != wanted) {
		*status = take_refusal(w, answer, "cannot look");
		return NULL;
	}
	return answer;
}

static void
grid_span(struct grid *g, int64_t ms)
{
	char text[SPAN_TEXT_MAX];

	grid_text(g, slice_of(span_text(text, ms)));
}

static int
grid_end(struct grid *g)
{
	int status = STATUS_DONE;

	if (!grid_print(g)) {
		say("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	grid_done(g);
	return status;
}

/* A lease that is merely kept by the daemon is nobody's lock. */
static bool
is_used(const struct answer *lock)
{
	return !slice_equal(answer_get_text(lock, "state"), SLICE("leased"));
}

/* The oldest hold first; behind those, by name, what is only waited for. */
static int
lock_compare(const void *a, const void *b)
{
	const struct answer *left = *(const struct answer *const *)a,
			    *right = *(const struct answer *const *)b;
	int64_t l = answer_get_int(left, "token", 0) > 0 ? answer_get_int(left, "held_ms", 0) : -1;
	int64_t r = answer_get_int(right, "token", 0) > 0 ? answer_get_int(right, "held_ms", 0) : -1;

	char one[NAME_BYTES_MAX + 1], two[NAME_BYTES_MAX + 1];
	struct slice first = answer_get_text(left, "name"), second = answer_get_text(right, "name");

	if (l != r) {
		return (l < r) - (l > r);
	}
	(void)snprintf(one, sizeof(one), "%.*s", (int)first.n, first.n > 0 ? first.p : "");
	(void)snprintf(two, sizeof(two), "%.*s", (int)second.n, second.n > 0 ? second.p : "");
	/* 9 before 10. */
	return strverscmp(one, two);
}

static void
ls_row(struct grid *g, const struct answer *lock, bool tokens, bool local)
{
	int64_t token = answer_get_int(lock, "token", 0);
	char text[WHO_TEXT_MAX];

	grid_text(g, answer_get_text(lock, "name"));
	grid_text(g, answer_get_text(lock, "state"));
	if (token > 0) {
		grid_span(g, answer_get_int(lock, "held_ms", 0));
	} else {
		grid_text(g, SLICE("-"));
	}
	grid_text(g, slice_of(token > 0 ? who_name(text, lock, local) : "-"));
	grid_text(g, slice_of(token > 0 ? who_place(text, lock) : "-"));
	if (tokens) {
		grid_int(g, token);
	}
	grid_int(g, answer_get_int(lock, "waiters", 0));
	grid_text(g, answer_get_text(lock, "why"));
}

static int
ls_grid(const struct options *o, const struct answer *locks, bool local)
{
	static const char *const heads[] = {
		"NAME", "STATE", "FOR", "HOLDER", "WHERE", "WAITING", "WHY", NULL};
	static const char *const more[] = {
		"NAME", "STATE", "FOR", "HOLDER", "WHERE", "TOKEN", "WAITING", "WHY", NULL};
	const struct answer **list = calloc(locks->count + 1, sizeof(*list));
	struct grid g;

	grid_init(&g, o->verbose ? more : heads);
	g.ordered = true;
	g.failed = g.failed || list == NULL;
	for (size_t i = 0; list != NULL && i < locks->count; i++) {
		list[i] = &locks->items[i];
	}
	if (list != NULL) {
		qsort(list, locks->count, sizeof(*list), lock_compare);
	}
	for (size_t i = 0; list != NULL && i < locks->count; i++) {
		if (is_used(list[i]) || o->verbose) {
			ls_row(&g, list[i], o->verbose, local);
		}
	}
	free(list);
	return grid_end(&g);
}

static int
ls_names(const struct answer *locks)
{
	char name[LINE_BYTES * 2];

	for (size_t i = 0; i < locks->count; i++) {
		if (is_used(&locks->items[i])) {
			(void)escape_text(
				name, sizeof(name), answer_get_text(&locks->items[i], "name"), ESCAPE_PLAIN);
			(void)puts(name);
		}
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

int
task_ls(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	int status;
	const struct answer *locks = question(&wire, o, a, ANSWER_ARRAY, &status);

	if (locks != NULL) {
		status = o->json    ? voice_print_json(voice_of(locks))
			 : o->quiet ? ls_names(locks)
				    : ls_grid(o, locks, !a->tcp);
	}
	wire_close(&wire);
	return status;
}

/* How long it outlives its last connection, or what is left of that. */
static const char *
grace_text(char out[WHO_TEXT_MAX], const struct answer *session)
{
	int64_t grace_ms = answer_get_int(session, "grace_ms", 0);
	int64_t left_ms = answer_get_int(session, "left_ms", -1);
	char span[SPAN_TEXT_MAX];

	if (grace_ms == 0) {
		return "-";
	}
	(void)snprintf(out, WHO_TEXT_MAX, "%s%s", span_text(span, left_ms < 0 ? grace_ms : left_ms),
		left_ms < 0 ? "" : " left");
	return out;
}

int
task_sessions(const struct options *o, const struct address *a)
{
	static const char *const heads[] = {"SESSION", "CLIENT", "WHERE", "UID", "AGE", "CONNECTIONS",
		"HOLDS", "WAITS", "BOUND TO", "GRACE", NULL};
	struct wire wire = {.fd = -1};
	struct grid g;
	char text[WHO_TEXT_MAX];
	int status;
	const struct answer *sessions = question(&wire, o, a, ANSWER_ARRAY, &status);

	if (sessions != NULL && o->json) {
		status = voice_print_json(voice_of(sessions));
	} else if (sessions != NULL) {
		grid_init(&g, heads);
		for (size_t i = 0; i < sessions->count; i++) {
			const struct answer *s = &sessions->items[i];

			grid_int(&g, answer_get_int(s, "session", 0));
			grid_text(&g, slice_of(who_name(text, s, !a->tcp)));
			grid_text(&g, slice_of(who_place(text, s)));
			grid_int(&g, answer_get_int(s, "uid", -1));
			grid_span(&g, answer_get_int(s, "age_ms", 0));
			grid_int(&g, answer_get_int(s, "connections", 0));
			grid_int(&g, answer_get_int(s, "grants", 0));
			grid_int(&g, answer_get_int(s, "waiters", 0));
			grid_int(&g, answer_get_int(s, "bound_pid", 0));
			grid_text(&g, slice_of(grace_text(text, s)));
		}
		status = grid_end(&g);
	}
	wire_close(&wire);
	return status;
}

__attribute__((format(printf, 2, 3))) static void
show_line(const char *key, const char *format, ...)
{
	char text[LINE_BYTES];
	char line[LINE_BYTES * 2];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	(void)escape_text(line, sizeof(line), slice_of(text), ESCAPE_PLAIN);
	(void)printf("%-10s%s\n", key, line);
}

/* A text of a map for %.*s */
#define TEXT(map, key)                                                                                       \
	(int)answer_get_text(map, key).n, answer_get_text(map, key).n == 0 ? "" : answer_get_text(map, key).p

static void
show_holder(const struct answer *holder, bool local)
{
	char held[SPAN_TEXT_MAX];
	char valid[SPAN_TEXT_MAX];
	char name[WHO_TEXT_MAX];
	char place[WHO_TEXT_MAX];

	show_line("holder", "%s (%s, uid %" PRId64 ", session %" PRId64 ")", who_name(name, holder, local),
		who_place(place, holder), answer_get_int(holder, "uid", -1),
		answer_get_int(holder, "session", 0));
	show_line("for", "%s; surely good for %s more", span_text(held, answer_get_int(holder, "held_ms", 0)),
		span_text(valid, answer_get_int(holder, "valid_ms", 0)));
	if (answer_get_text(holder, "why").n > 0) {
		show_line("why", "%.*s", TEXT(holder, "why"));
	}
	if (answer_get_text(holder, "owner").n > 0) {
		show_line("owner", "%.*s, entered %" PRId64 " times", TEXT(holder, "owner"),
			answer_get_int(holder, "count", 0));
	}
	show_line("token", "%" PRId64, answer_get_int(holder, "token", 0));
}

static void
show_waiters(const struct answer *waiters, bool local)
{
	char age[SPAN_TEXT_MAX];
	char name[WHO_TEXT_MAX];
	char place[WHO_TEXT_MAX];

	for (size_t i = 0; i < waiters->count; i++) {
		const struct answer *w = &waiters->items[i];
		bool why = answer_get_text(w, "why").n > 0;

		show_line(i == 0 ? "waiting" : "", "%" PRId64 ". %s (%s) for %s%s%.*s",
			answer_get_int(w, "position", (int64_t)i + 1), who_name(name, w, local),
			who_place(place, w), span_text(age, answer_get_int(w, "age_ms", 0)), why ? ": " : "",
			TEXT(w, "why"));
	}
}

static int
show_map(const struct answer *lock, bool local)
{
	const struct answer *holders = answer_get(lock, "holders");
	const struct answer *waiters = answer_get(lock, "waiters");

	show_line("name", "%.*s", TEXT(lock, "name"));
	show_line("kind", "%.*s", TEXT(lock, "kind"));
	show_line("state", "%.*s", TEXT(lock, "state"));
	if (answer_get_int(lock, "limit", 0) > 0) {
		show_line("permits", "%" PRId64 " of %" PRId64 " are taken here",
			answer_get_int(lock, "taken", 0), answer_get_int(lock, "limit", 0));
	}
	if (slice_equal(answer_get_text(lock, "kind"), SLICE("latch"))) {
		show_line("left", "%" PRId64 " of %" PRId64 " steps", answer_get_int(lock, "left", 0),
			answer_get_int(lock, "set", 0));
	}
	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		show_holder(&holders->items[i], local);
	}
	if (answer_get_text(lock, "elsewhere").n > 0) {
		show_line("elsewhere", "the daemon %.*s has the lease", TEXT(lock, "elsewhere"));
	}
	if (answer_get_text(lock, "lease").n > 0) {
		show_line("lease", "%.*s", TEXT(lock, "lease"));
	}
	show_line("master", "%.*s", TEXT(lock, "master"));
	if (waiters != NULL) {
		show_waiters(waiters, local);
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

int
task_show(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	int status;
	const struct answer *lock = question(&wire, o, a, ANSWER_MAP, &status);
	bool known;

	if (lock != NULL) {
		known = (!slice_equal(answer_get_text(lock, "state"), SLICE("free")) &&
				!slice_equal(answer_get_text(lock, "state"), SLICE("leased"))) ||
			answer_get_text(lock, "elsewhere").n > 0;
		status = o->json ? voice_print_json(voice_of(lock)) : show_map(lock, !a->tcp);
		if (status == STATUS_DONE && !known) {
			status = STATUS_NO;
		}
	}
	wire_close(&wire);
	return status;
}
