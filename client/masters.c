/*
 * masters: shows the set of masters, and requests its change.
 *
 * The daemon answers when the set is in force, which can take as long as a server is away. Meanwhile another
 * connection asks what the change waits for, and each new answer is printed on standard error.
 */
#include "client/duration.h"
#include "client/json_output.h"
#include "client/message.h"
#include "client/status.h"
#include "client/table.h"
#include "client/take.h"
#include "client/tasks.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS   2000
#define WAITS_MAX 512

/* How long to wait for connections to new members before the set is shown, and how often to check. */
#define SETTLE_MS      3000
#define SETTLE_LOOK_MS 50

/* A text of a map for %.*s */
#define TEXT(map, key)                                                                                       \
	(int)answer_get_text(map, key).n, answer_get_text(map, key).n == 0 ? "" : answer_get_text(map, key).p

static bool
text_is(const struct answer *map, const char *key, const char *word)
{
	return slice_equal(answer_get_text(map, key), slice_of(word));
}

/* NULL: there are none, so the answer is not from holdfastd. */
static const struct answer *
set_masters(const struct answer *set)
{
	const struct answer *masters =
		set != NULL && set->type == ANSWER_MAP ? answer_get(set, "masters") : NULL;

	return masters != NULL && masters->type == ANSWER_ARRAY ? masters : NULL;
}

/* The next set, without the servers that leave. */
static struct slice
next_places(const struct answer *set)
{
	struct slice places = answer_get_text(set, "next_places");
	const char *end = places.n > 0 ? memchr(places.p, '|', places.n) : NULL;

	if (end != NULL) {
		places.n = (size_t)(end - places.p);
	}
	while (places.n > 0 && places.p[places.n - 1] == ' ') {
		places.n--;
	}
	return places;
}

/* ---- status ---- */

static void
table_master(struct table *g, const struct answer *master)
{
	int64_t guard_ms = answer_get_int(master, "guard_ms", 0);
	struct slice unacknowledged = answer_get_text(master, "unacknowledged");
	struct slice reason = answer_get_text(master, "reason");
	char span[DURATION_TEXT_MAX];
	char note[WAITS_MAX];

	table_text(g, answer_get_text(master, "place"));
	table_text(g, answer_get_text(master, "way"));
	table_text(g, answer_get_text(master, "role"));
	table_text(g, answer_get_text(master, "state"));
	table_text(g, slice_of(guard_ms > 0 ? duration_text(span, guard_ms) : "-"));
	table_text(g, answer_get_text(master, "id"));
	(void)snprintf(note, sizeof(note), "%.*s%s%s%.*s", (int)reason.n, reason.n > 0 ? reason.p : "",
		reason.n > 0 && unacknowledged.n > 0 ? "; " : "",
		unacknowledged.n > 0 ? "has not acknowledged: " : "", (int)unacknowledged.n,
		unacknowledged.n > 0 ? unacknowledged.p : "");
	table_text(g, slice_of(note));
}

static int
status_print(const struct answer *set)
{
	static const char *const heads[] = {"PLACE", "WAY", "ROLE", "STATE", "GUARD", "ID", "REMARK", NULL};
	const struct answer *masters = set_masters(set);
	struct table g;
	int status = STATUS_DONE;

	(void)printf("generation %" PRId64 ", %.*s; ", answer_get_int(set, "generation", 0),
		TEXT(set, "agreement"));
	if (text_is(set, "change", "none")) {
		(void)printf("no change is under way\n");
	} else if (text_is(set, "change", "checking")) {
		(void)printf("a change is being checked\n");
	} else {
		(void)printf("generation %" PRId64 " is %.*s: %.*s\n",
			answer_get_int(set, "next_generation", 0), TEXT(set, "change"),
			(int)next_places(set).n, next_places(set).n > 0 ? next_places(set).p : "");
	}
	table_init(&g, heads);
	for (size_t i = 0; i < masters->count; i++) {
		table_master(&g, &masters->items[i]);
	}
	if (!table_print(&g)) {
		message("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	table_done(&g);
	return status;
}

/* Asks once. NULL: *status says why. */
static const struct answer *
status_ask(struct wire *w, int *status)
{
	const struct answer *answer;

	wire_ask(w, "MASTERS");
	answer = wire_answer(w);
	if (set_masters(answer) == NULL) {
		*status = take_refusal(w, answer, "cannot show the masters");
		return NULL;
	}
	return answer;
}

static int
masters_show(const struct options *o, struct wire *w)
{
	int status = STATUS_DONE;
	const struct answer *set = status_ask(w, &status);

	if (set == NULL || o->quiet) {
		return status;
	}
	return o->json ? json_output_print_json(json_output_of(set)) : status_print(set);
}

/* ---- change ---- */

/* What a change waits for, by the daemon's knowledge. */
static void
waits_for(char out[WAITS_MAX], const struct answer *set)
{
	const struct answer *masters = set_masters(set);
	size_t n;

	(void)snprintf(out, WAITS_MAX, "%.*s", TEXT(set, "change"));
	for (size_t i = 0; i < masters->count; i++) {
		const struct answer *m = &masters->items[i];
		bool stays = text_is(m, "role", "member");

		n = strlen(out);
		if (stays && !text_is(m, "state", "admitted")) {
			(void)snprintf(out + n, WAITS_MAX - n, "; waits for %.*s, which is %.*s%s%.*s",
				TEXT(m, "place"), TEXT(m, "state"),
				answer_get_text(m, "reason").n > 0 ? ": " : "", TEXT(m, "reason"));
		} else if (stays && answer_get_text(m, "unacknowledged").n > 0) {
			(void)snprintf(out + n, WAITS_MAX - n, "; %.*s waits for the daemons %.*s",
				TEXT(m, "place"), TEXT(m, "unacknowledged"));
		} else if (text_is(m, "role", "joining") && text_is(set, "change", "checking")) {
			(void)snprintf(out + n, WAITS_MAX - n, "; %.*s is %.*s%s%.*s", TEXT(m, "place"),
				TEXT(m, "state"), answer_get_text(m, "reason").n > 0 ? ": " : "",
				TEXT(m, "reason"));
		}
	}
}

/* Waits for the answer, and prints meanwhile what the change waits for. */
static const struct answer *
change_wait(struct wire *w, struct wire *look, bool quiet)
{
	char before[WAITS_MAX] = "";
	char now[WAITS_MAX];
	const struct answer *answer, *set;

	while ((answer = wire_wait(w, quiet ? INT64_MAX : clock_ms() + LOOK_MS)) == NULL && !w->ended) {
		wire_ask(look, "MASTERS");
		set = wire_answer(look);
		if (set_masters(set) == NULL) {
			quiet = true;
			continue;
		}
		waits_for(now, set);
		if (strcmp(now, before) != 0) {
			message("%s", now);
			memcpy(before, now, sizeof(before));
		}
	}
	return answer;
}

/* Whether connections to members are still being made. */
static bool
is_settling(const struct answer *set)
{
	const struct answer *masters = set_masters(set);

	for (size_t i = 0; i < masters->count; i++) {
		const struct answer *m = &masters->items[i];

		if (text_is(m, "role", "member") &&
			(text_is(m, "state", "away") || text_is(m, "state", "greeting"))) {
			return true;
		}
	}
	return false;
}

/* Prints the set in force, and the members that grant nothing new yet. */
static int
change_print(const struct options *o, struct wire *look, int64_t generation)
{
	int64_t until_ms = clock_ms() + SETTLE_MS;
	int status = STATUS_DONE;
	const struct answer *set;

	while ((set = status_ask(look, &status)) != NULL && is_settling(set) && clock_ms() < until_ms) {
		(void)poll(NULL, 0, SETTLE_LOOK_MS);
	}

	if (o->json) {
		return set == NULL ? json_output_print("{s:I}", "generation", (json_int_t)generation)
				   : json_output_print_json(json_output_of(set));
	}
	(void)printf("generation %" PRId64 " is in force\n", generation);
	return set == NULL ? status : status_print(set);
}

static int
masters_change(const struct options *o, const struct address *a, struct wire *w, struct wire *look)
{
	const char *words[] = {"MASTERS", o->name, o->words[0], o->words[1]};
	char what[128];
	const struct answer *answer;
	int status = take_greeting(look, a, "holdfast");

	if (status != STATUS_DONE) {
		return status;
	}
	wire_ask_words(w, o->words[0] == NULL ? 2 : 4, words);
	(void)snprintf(what, sizeof(what), "cannot %s", o->name);
	if (!wire_flush(w)) {
		return take_refusal(w, NULL, what);
	}
	answer = change_wait(w, look, o->quiet);
	if (answer == NULL) {
		message("%s; the change may go on: holdfast masters status", w->why);
		return STATUS_UNAVAILABLE;
	}
	if (answer->type != ANSWER_INT) {
		return take_refusal(w, answer, what);
	}
	return o->quiet ? STATUS_DONE : change_print(o, look, answer->n);
}

int
task_masters(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct wire look = {.fd = -1};
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		status = o->name == NULL || strcmp(o->name, "status") == 0
				 ? masters_show(o, &wire)
				 : masters_change(o, a, &wire, &look);
	}
	wire_close(&wire);
	wire_close(&look);
	return status;
}
