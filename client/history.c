/*
 * history: the verb history: the holds of a name that have ended at this daemon, the latest first.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/process.h"

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

static void
history_row(struct table *t, const struct options *o, const struct answer *hold)
{
	int64_t ended_ms = answer_get_int(hold, "ended_at_ms", 0);
	int64_t held_ms = answer_get_int(hold, "held_ms", 0);
	char moment[MOMENT_MAX], duration[DURATION_TEXT_MAX], name[PEER_TEXT_MAX], place[PEER_TEXT_MAX];

	table_text(t, slice_of(moment_text(moment, ended_ms - held_ms)));
	table_text(t, slice_of(moment_text(moment, ended_ms)));
	table_text(t, slice_of(duration_text(duration, held_ms)));
	table_text(t, answer_get_text(hold, "end"));
	table_text(t, slice_of(peer_name(name, hold, false)));
	table_text(t, slice_of(peer_place(place, hold)));
	if (o->verbose) {
		table_int(t, answer_get_int(hold, "token", 0));
	}
	table_text(t, answer_get_text(hold, "why"));
}

static bool
history_table(const struct options *o, const struct answer *holds)
{
	static const char *const heads[] = {"SINCE", "UNTIL", "FOR", "END", "HOLDER", "WHERE", "WHY", NULL};
	static const char *const more[] = {
		"SINCE", "UNTIL", "FOR", "END", "HOLDER", "WHERE", "TOKEN", "WHY", NULL};
	struct table t;
	bool printed;

	table_init(&t, o->verbose ? more : heads);
	t.ordered = true;
	t.flexible = 1U << 4 | 1U << 5 | 1U << (o->verbose ? 7 : 6); /* HOLDER, WHERE and WHY */
	for (size_t i = 0; i < holds->count; i++) {
		history_row(&t, o, &holds->items[i]);
	}
	printed = table_print(&t);
	table_done(&t);
	return printed;
}

/* NULL: out of memory. */
static json_t *
history_json(const struct answer *holds)
{
	json_t *all = json_array();

	for (size_t i = 0; all != NULL && i < holds->count; i++) {
		const struct answer *hold = &holds->items[i];
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
	return all;
}

static int
history_print(const struct options *o, const struct answer *holds)
{
	int status = STATUS_DONE;

	if (o->json) {
		status = json_output_print_json(history_json(holds));
	} else if (holds->count == 0) {
		message("no hold of %s that has ended is known: the daemon remembers those since its start, "
			"and as many as limits.history has room for",
			o->name);
	} else if (!history_table(o, holds)) {
		message("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	return status == STATUS_DONE && holds->count == 0 ? STATUS_NO : status;
}

int
task_history(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask(&wire, "HISTORY", o->name);
		answer = wire_answer(&wire);
		status = answer != NULL && answer->type == ANSWER_ARRAY
				 ? history_print(o, answer)
				 : take_refusal(&wire, answer, "cannot look");
	}
	wire_close(&wire);
	return status;
}
