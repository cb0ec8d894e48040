/*
 * history: the verb history: the holds of a name that have ended at any daemon, the latest first.
 */
#include "client/fleet.h"
#include "client/list.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"

#include <stdio.h>
#include <time.h>

#define MOMENT_MAX 32

/* The time of day on this host, with the date. */
static const char *
moment_text(char out[MOMENT_MAX], int64_t wall_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL || strftime(out, MOMENT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0) {
		(void)snprintf(out, MOMENT_MAX, "?");
	}
	return out;
}

/* What the daemons have answered. */
struct history {
	const struct options *o;
	const struct answer *holds;
	char host[HOST_TEXT_MAX]; /* this one */
	char why[WIRE_TEXT_MAX];  /* holds may be missing; "": none are */
};

static void
history_row(struct table *t, const struct history *h, const struct answer *hold)
{
	int64_t ended_ms = answer_get_int(hold, "ended_at_ms", 0);
	int64_t held_ms = answer_get_int(hold, "held_ms", 0);
	char moment[MOMENT_MAX], duration[DURATION_TEXT_MAX], name[PEER_TEXT_MAX], address[PEER_TEXT_MAX];
	char end[WIRE_TEXT_MAX];
	struct slice by = answer_get_text(hold, "broken_by");

	table_text(t, slice_of(moment_text(moment, ended_ms - held_ms)));
	table_text(t, slice_of(moment_text(moment, ended_ms)));
	table_text(t, slice_of(duration_text(duration, held_ms)));
	(void)snprintf(end, sizeof(end), "%.*s%s%.*s", SLICE_ARG(answer_get_text(hold, "end")),
		by.n > 0 ? " by " : "", SLICE_ARG(by));
	table_text(t, slice_of(end));
	table_text(t, slice_of(peer_name(name, hold, false)));
	table_text(t, slice_of(fleet_peer(address, hold, h->host)));
	if (h->o->verbose) {
		table_int(t, answer_get_int(hold, "token", 0));
	}
	table_text(t, answer_get_text(hold, "why"));
}

static bool
history_table(const struct history *h)
{
	static const char *const heads[] = {"SINCE", "UNTIL", "FOR", "END", "HOLDER", "WHERE", "WHY", NULL};
	static const char *const more[] = {
		"SINCE", "UNTIL", "FOR", "END", "HOLDER", "WHERE", "TOKEN", "WHY", NULL};
	struct table t;
	bool printed;

	table_init(&t, h->o->verbose ? more : heads);
	t.ordered = true;
	t.flexible = 1U << 4 | 1U << 5 | 1U << (h->o->verbose ? 7 : 6); /* HOLDER, WHERE and WHY */
	for (size_t i = 0; i < h->holds->count; i++) {
		history_row(&t, h, &h->holds->items[i]);
	}
	printed = table_print(&t);
	table_done(&t);
	return printed;
}

/* NULL: out of memory. */
static json_t *
history_json(const struct history *h)
{
	json_t *all = json_array();

	for (size_t i = 0; all != NULL && i < h->holds->count; i++) {
		const struct answer *hold = &h->holds->items[i];
		int64_t ended_ms = answer_get_int(hold, "ended_at_ms", 0);
		int64_t since_ms = ended_ms - answer_get_int(hold, "held_ms", 0);
		json_t *object = json_output_of(hold);

		/* The hold is over: it began before it ended, and not held_ms ago. */
		if (json_object_set_new(object, "since", json_output_time(since_ms)) != 0 ||
			json_object_set_new(object, "until", json_output_time(ended_ms)) != 0 ||
			json_array_append(all, object) != 0) {
			json_decref(all);
			all = NULL;
		}
		json_decref(object);
	}
	if (all != NULL && h->why[0] != '\0') {
		(void)json_array_append_new(
			all, json_pack("{s:o, s:n}", "error", json_output_text(slice_of(h->why)), "missing"));
	}
	return all;
}

static int
history_print(const struct history *h)
{
	bool none = h->holds->count == 0, missing = h->why[0] != '\0';
	int status = STATUS_DONE;

	if (h->o->json) {
		status = json_output_print_json(history_json(h));
	} else if (none) {
		message("no hold of %s that has ended is known: a daemon remembers those since its start, "
			"and "
			"as many as limits.history has room for",
			h->o->name);
	} else if (!history_table(h)) {
		message("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	if (missing) {
		message("the list may lack holds: %s", h->why);
	}
	return status == STATUS_DONE && (none || missing) ? STATUS_NO : status;
}

/* The holds in the answer to HISTORY, with FLEET unless here. NULL: there are none. */
static const struct answer *
history_ask(struct history *h, struct wire *w, bool here, const struct answer **answer)
{
	char silent[SILENT_TEXT_MAX] = "";
	bool unasked;

	wire_ask_words(w, here ? 2 : 3, (const char *const[]){"HISTORY", h->o->name, "FLEET"});
	*answer = wire_answer(w);
	if (*answer == NULL || (*answer)->type != ANSWER_ARRAY) {
		return NULL;
	}
	if (here) {
		return *answer;
	}
	if ((*answer)->count != 2) {
		return NULL;
	}
	unasked = silent_add(silent, &(*answer)->items[1]);
	if (silent[0] != '\0') {
		silent_why(h->why, sizeof(h->why), silent, unasked);
	}
	return &(*answer)->items[0];
}

int
task_history(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct history history = {.o = o};
	const struct answer *answer;
	int status = take_hello(&wire, a, "holdfast");

	host_text(history.host);
	if (status == STATUS_DONE) {
		history.holds = history_ask(&history, &wire, o->here, &answer);
		if (!o->here && answer_is_error(answer, CODE_ERR)) {
			/* A daemon of an earlier version does not know FLEET. */
			(void)snprintf(history.why, sizeof(history.why), "only this daemon was asked: %.*s",
				SLICE_ARG(answer->text));
			history.holds = history_ask(&history, &wire, true, &answer);
		}
		status = history.holds != NULL ? history_print(&history)
					       : take_refusal(&wire, answer, "cannot read the history");
	}
	wire_close(&wire);
	return status;
}
