/*
 * top_data: asks the daemon what the screen of top shows. See top.h.
 */
#include "client/top/top_data.h"

#include "client/fleet.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/top/top.h"
#include "client/top/top_fleet.h"
#include "client/top/top_hour.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS  5000 /* for one screen */
#define RATE_MS 500  /* rates are over this time at least: a key may ask for a screen at once */

void
top_say(struct top *t, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	(void)vsnprintf(t->message, sizeof(t->message), format, list);
	va_end(list);
}

/* The daemon has answered with an error. */
void
top_refuse(struct top *t, const struct answer *answer)
{
	struct slice rest;

	top_say(t, "%.*s", SLICE_ARG(answer->text));
	t->refused = status_of_code(answer_code(answer, &rest));
}

/* ---- INFO ---- */

static int64_t
info_number(struct slice info, const char *key)
{
	int64_t n;

	return number_parse(answer_info(info, key), 0, INT64_MAX, &n) ? n : 0;
}

/* "3/2 of 3 needed: 10.0.0.1:6379 admitted 0.4 ms, ..."; if some cannot be used, why. */
static void
masters_text(struct slice info, char out[TOP_TEXT_MAX])
{
	int64_t count = info_number(info, "masters");
	struct slice usable = answer_info(info, "masters_usable"),
		     missing = answer_info(info, "masters_missing");
	size_t n =
		(size_t)snprintf(out, TOP_TEXT_MAX, "%.*s of %" PRId64 " needed", SLICE_ARG(usable), count);

	if (missing.n > 0) {
		(void)snprintf(out + n, TOP_TEXT_MAX - n, " (see holdfast doctor): %.*s", SLICE_ARG(missing));
		return;
	}
	for (int64_t i = 0; i < count && n < TOP_TEXT_MAX; i++) {
		char key[64];
		struct slice address, state;

		(void)snprintf(key, sizeof(key), "master%" PRId64 "_address", i);
		address = answer_info(info, key);
		(void)snprintf(key, sizeof(key), "master%" PRId64 "_state", i);
		state = answer_info(info, key);
		(void)snprintf(key, sizeof(key), "master%" PRId64 "_round_trip_us", i);
		n += (size_t)snprintf(out + n, TOP_TEXT_MAX - n, "%s %.*s %.*s %.1f ms", i > 0 ? "," : ":",
			SLICE_ARG(address), SLICE_ARG(state), (double)info_number(info, key) / 1000.0);
	}
}

static bool
ask_info(struct top *t, int64_t until_ms)
{
	const struct answer *answer;
	struct slice info;

	wire_ask(&t->wire, "INFO");
	(void)wire_flush(&t->wire);
	answer = wire_wait(&t->wire, until_ms);
	if (answer == NULL || answer->type != ANSWER_TEXT) {
		return false;
	}
	info = answer->text;
	t->last = t->info;
	if (t->before.at_ms == 0 || t->last.at_ms == 0 || t->last.at_ms - t->before.at_ms >= RATE_MS) {
		t->before = t->last;
	}
	t->info = (struct top_info){
		.at_ms = clock_ms(),
		.requests = info_number(info, "commands_processed"),
		.granted = info_number(info, "locks_granted"),
		.timed_out = info_number(info, "locks_timed_out"),
		.lost = info_number(info, "locks_lost"),
		.clients = info_number(info, "connected_clients"),
		.sessions = info_number(info, "sessions"),
		.held = info_number(info, "grants"),
		.withheld = info_number(info, "withheld"),
		.waiters = info_number(info, "waiters"),
		.up_s = info_number(info, "uptime_in_seconds"),
		.busiest_session = info_number(info, "busiest_session"),
		.busiest_requests_s = info_number(info, "busiest_requests_s"),
		.busiest_busy_us_s = info_number(info, "busiest_busy_us_s"),
	};
	slice_text(t->info.version, sizeof(t->info.version), answer_info(info, "holdfast_version"));
	masters_text(info, t->info.masters);
	return true;
}

/* ---- LOCKS ---- */

void
top_rows_free(struct top *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->rows[i].texts);
	}
	t->count = 0;
}

static int
by_name(const struct top_row *a, const struct top_row *b)
{
	int names = strverscmp(a->name, b->name);

	return names != 0 ? names : strcmp(a->host, b->host);
}

/* The greater number first. */
static int
by_number(int64_t a, int64_t b, const struct top_row *x, const struct top_row *y)
{
	return a != b ? (a < b) - (a > b) : by_name(x, y);
}

static int
compare_waiters(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return x->waiters != y->waiters ? (x->waiters < y->waiters) - (x->waiters > y->waiters)
					: by_number(x->longest_ms, y->longest_ms, x, y);
}

/* Those that nobody waits for come last, the longest hold first. */
static int
compare_longest(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return x->longest_ms != y->longest_ms
		       ? (x->longest_ms < y->longest_ms) - (x->longest_ms > y->longest_ms)
		       : by_number(x->held_ms, y->held_ms, x, y);
}

static int
compare_held(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return by_number(x->held_ms, y->held_ms, x, y);
}

static int
compare_name(const void *a, const void *b)
{
	return by_name(a, b);
}

void
top_sort(struct top *t)
{
	static int (*const compares[])(const void *, const void *) = {
		[TOP_WAITERS] = compare_waiters,
		[TOP_LONGEST] = compare_longest,
		[TOP_HELD] = compare_held,
		[TOP_NAME] = compare_name,
	};

	if (t->count > 0) {
		qsort(t->rows, t->count, sizeof(*t->rows), compares[t->sort]);
	}
}

/* Appends the text and a NUL; a NUL inside becomes a blank. Returns where it begins. */
static const char *
text_keep(char **at, struct slice text)
{
	char *begin = *at;

	for (size_t i = 0; i < text.n; i++) {
		*(*at)++ = (char)(text.p[i] == '\0' ? ' ' : text.p[i]);
	}
	*(*at)++ = '\0';
	return begin;
}

/* Whether processes of that host can be inspected. */
static bool
is_near(const struct top *t, struct slice host)
{
	char here[HOST_TEXT_MAX];

	host_text(here);
	return !t->a->tcp && (host.n == 0 || slice_equal(host, slice_of(here)));
}

bool
top_row_add(struct top *t, const struct answer *lock)
{
	struct slice name = answer_get_text(lock, "name"), state = answer_get_text(lock, "state");
	struct slice why = answer_get_text(lock, "why"), host = answer_get_text(lock, "host"),
		     holder = SLICE("-");
	int64_t token = answer_get_int(lock, "token", 0);
	char peer[PEER_TEXT_MAX];
	struct top_row *row;
	char *at;

	if (token > 0) {
		holder = slice_of(peer_name(peer, lock, is_near(t, host)));
	}
	if (t->count == t->room) {
		size_t room = t->room == 0 ? 256 : t->room * 2;
		struct top_row *rows = reallocarray(t->rows, room, sizeof(*rows));

		if (rows == NULL) {
			return false;
		}
		t->rows = rows;
		t->room = room;
	}
	row = &t->rows[t->count];
	row->texts = at = malloc(name.n + state.n + holder.n + why.n + host.n + 5);
	if (at == NULL) {
		return false;
	}
	row->name = text_keep(&at, name);
	row->state = text_keep(&at, state);
	row->holder = text_keep(&at, holder);
	row->why = text_keep(&at, why);
	row->host = text_keep(&at, host);
	row->token = token;
	row->held_ms = token > 0 ? answer_get_int(lock, "held_ms", 0) : 0;
	row->waiters = answer_get_int(lock, "waiters", 0);
	row->longest_ms = answer_get_int(lock, "longest_wait_ms", 0);
	t->count++;
	return true;
}

static bool
ask_locks(struct top *t, int64_t until_ms)
{
	const char *words[] = {"LOCKS", "MATCH", t->filter};
	const struct answer *lock;
	struct pages pages;
	bool kept = true;

	top_rows_free(t);
	pages_begin(&pages, &t->wire, t->filter[0] == '\0' ? 1 : 3, words);
	pages.until_ms = until_ms;
	pages.rows = true;
	while (pages_next(&pages) != NULL) {
		while (kept && (lock = pages_element(&pages)) != NULL) {
			kept = top_row_add(t, lock);
		}
	}
	top_sort(t);
	if (!kept) {
		top_say(t, "no memory for all locks");
	}
	if (pages.whole) {
		return true;
	}
	if (pages.answer != NULL && pages.answer->type == ANSWER_ERROR) {
		top_refuse(t, pages.answer);
		t->filter[0] = '\0';
		return true;
	}
	return false;
}

/* ---- INSPECT ---- */

static void
lines_free(struct top *t)
{
	for (size_t i = 0; i < t->line_count; i++) {
		free(t->lines[i]);
	}
	free(t->lines);
	t->lines = NULL;
	t->line_count = 0;
}

/* Without memory the line is missing. */
__attribute__((format(printf, 2, 3))) static void
line_add(struct top *t, const char *format, ...)
{
	char **lines = reallocarray(t->lines, t->line_count + 1, sizeof(*lines));
	char *line;
	va_list list;

	if (lines == NULL) {
		return;
	}
	t->lines = lines;
	va_start(list, format);
	if (vasprintf(&line, format, list) >= 0) {
		t->lines[t->line_count++] = line;
	}
	va_end(list);
}

static void
add_holders(struct top *t, const struct answer *holders, bool near)
{
	char peer[PEER_TEXT_MAX], origin[PEER_TEXT_MAX], held[DURATION_TEXT_MAX], valid[DURATION_TEXT_MAX];

	for (size_t i = 0; holders != NULL && i < holders->count; i++) {
		const struct answer *h = &holders->items[i];
		struct slice why = answer_get_text(h, "why");

		line_add(t, "holder    %s (%s, session %" PRId64 ") for %s, token %" PRId64,
			peer_name(peer, h, near), peer_origin(origin, h, ""), answer_get_int(h, "session", 0),
			duration_text(held, answer_get_int(h, "held_ms", 0)), answer_get_int(h, "token", 0));
		line_add(t, "          surely good for %s more%s%.*s",
			duration_text(valid, answer_get_int(h, "valid_ms", 0)), why.n > 0 ? "; " : "",
			SLICE_ARG(why));
	}
}

static void
add_waiters(struct top *t, const struct answer *waiters, bool near)
{
	char peer[PEER_TEXT_MAX], address[PEER_TEXT_MAX], age[DURATION_TEXT_MAX];

	for (size_t i = 0; waiters != NULL && i < waiters->count; i++) {
		const struct answer *w = &waiters->items[i];
		struct slice why = answer_get_text(w, "why");

		line_add(t, "%7" PRId64 ".  %s (%s) for %s%s%.*s",
			answer_get_int(w, "position", (int64_t)i + 1), peer_name(peer, w, near),
			peer_address(address, w), duration_text(age, answer_get_int(w, "age_ms", 0)),
			why.n > 0 ? "; " : "", SLICE_ARG(why));
	}
}

/* What one daemon says of the name. */
static void
add_lock(struct top *t, const struct answer *lock)
{
	const struct answer *holder = answer_get(lock, "holder");
	struct slice host = answer_get_text(lock, "host");
	bool near = is_near(t, host);

	if (t->detail_token == 0 && holder != NULL && holder->type == ANSWER_MAP) {
		t->detail_token = answer_get_int(holder, "token", 0);
	}
	if (host.n > 0) {
		line_add(t, "%s", "");
		line_add(t, "on        %.*s", SLICE_ARG(host));
	}
	line_add(t, "kind      %.*s, %.*s; lease %.*s, master %.*s", SLICE_ARG(answer_get_text(lock, "kind")),
		SLICE_ARG(answer_get_text(lock, "state")), SLICE_ARG(answer_get_text(lock, "lease")),
		SLICE_ARG(answer_get_text(lock, "master")));
	if (answer_get_text(lock, "elsewhere").n > 0) {
		line_add(t, "elsewhere the daemon %.*s has the lease",
			SLICE_ARG(answer_get_text(lock, "elsewhere")));
	}
	add_holders(t, answer_get(lock, "holders"), near);
	line_add(t, "waiting   %" PRId64, answer_get_int(lock, "waiter_count", 0));
	add_waiters(t, answer_get(lock, "waiters"), near);
}

/* What all daemons say of it; those that nobody uses it through say nothing. */
static void
add_everywhere(struct top *t, const struct answer *all)
{
	const struct answer *hosts = answer_get(all, "hosts"), *silent = answer_get(all, "silent");
	char text[SILENT_TEXT_MAX] = "", why[SILENT_TEXT_MAX + 128];

	line_add(t, "state     %.*s on %zu hosts", SLICE_ARG(answer_get_text(all, "state")),
		hosts != NULL ? hosts->count : 0);
	if (silent != NULL && silent->count > 0) {
		bool unasked = silent_add(text, silent);

		silent_why(why, sizeof(why), text, unasked);
		line_add(t, "          %s", why);
	}
	for (size_t i = 0; hosts != NULL && i < hosts->count; i++) {
		add_lock(t, &hosts->items[i]);
	}
}

static bool
ask_detail(struct top *t, int64_t until_ms)
{
	bool all = !t->here && t->hosts != NULL;
	const struct answer *lock;

	lines_free(t);
	t->detail_token = 0;
	if (all) {
		wire_ask(&t->wire, "INSPECT", t->detail, "FLEET");
	} else {
		wire_ask(&t->wire, "INSPECT", t->detail);
	}
	(void)wire_flush(&t->wire);
	lock = wire_wait(&t->wire, until_ms);
	if (lock == NULL || lock->type != ANSWER_MAP) {
		return false;
	}
	line_add(t, "name      %s", t->detail);
	if (all) {
		add_everywhere(t, lock);
	} else {
		add_lock(t, lock);
	}
	return true;
}

/* ---- all of it ---- */

static bool
top_connect(struct top *t, int64_t until_ms)
{
	const struct answer *answer;

	if (t->wire.fd >= 0 && !t->wire.ended) {
		return true;
	}
	wire_close(&t->wire);
	t->wire = (struct wire){.fd = -1};
	if (!wire_open(&t->wire, t->a)) {
		return false;
	}
	wire_hello(&t->wire, t->a, "holdfast-top");
	(void)wire_flush(&t->wire);
	answer = wire_welcomed(&t->wire, t->a, wire_wait(&t->wire, until_ms));
	if (answer != NULL && answer->type == ANSWER_ERROR) {
		(void)snprintf(t->wire.why, sizeof(t->wire.why), "%.*s", SLICE_ARG(answer->text));
		top_refuse(t, answer);
		t->wire.ended = true;
	}
	return answer != NULL && answer->type != ANSWER_ERROR;
}

/* The locks of all daemons, or if that is refused, of this one. */
static bool
ask_list(struct top *t, int64_t until_ms)
{
	bool alone = t->here;

	if (!alone && !top_ask_fleet(t, until_ms, &alone)) {
		return false;
	}
	return !alone || ask_locks(t, until_ms);
}

bool
top_ask(struct top *t)
{
	int64_t until_ms = clock_ms() + ASK_MS;

	t->refused = 0;
	if (top_connect(t, until_ms) && ask_info(t, until_ms) && ask_list(t, until_ms) &&
		top_ask_hour(t, until_ms) && (t->detail[0] == '\0' || ask_detail(t, until_ms))) {
		return true;
	}
	top_say(t, "%s", t->wire.ended || t->wire.fd < 0 ? t->wire.why : "the daemon does not answer");
	wire_close(&t->wire);
	t->wire = (struct wire){.fd = -1};
	return false;
}

void
top_break(struct top *t, const char *name, int64_t token)
{
	char number[NUMBER_TEXT_MAX];
	const struct answer *answer;

	if (t->here || t->hosts == NULL) {
		wire_ask(&t->wire, "BREAK", name, "TOKEN", number_text(number, token));
	} else {
		wire_ask(&t->wire, "BREAK", name, "TOKEN", number_text(number, token), "FLEET");
	}
	(void)wire_flush(&t->wire);
	answer = wire_wait(&t->wire, clock_ms() + ASK_MS);
	if (answer == NULL) {
		top_say(t, "cannot break it: %s", t->wire.ended ? t->wire.why : "the daemon does not answer");
	} else if (answer->type == ANSWER_INT) {
		top_say(t, "broken; the next client has it in %" PRId64 " ms at the latest", answer->n);
	} else if (answer->type == ANSWER_ERROR) {
		top_say(t, "cannot break it: %.*s", SLICE_ARG(answer->text));
	} else {
		top_say(t, "it is not held any more");
	}
}

void
top_done(struct top *t)
{
	top_rows_free(t);
	free(t->rows);
	free(t->hosts);
	lines_free(t);
	wire_close(&t->wire);
}
