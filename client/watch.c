/*
 * watch: the verb watch: prints events as they come, as lines for people or as JSON.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/wire/wire.h"
#include "proto/escape.h"
#include "proto/glob.h"
#include "proto/json.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Longest line of an event that can be parsed. */
#define EVENT_BYTES JSON_LINE_MAX

/* ---- lines for people ---- */

#define LEVEL_WIDTH 7

/* An event, taken apart: its fields but level and at_ms. */
struct event {
	struct slice level; /* n == 0: the daemon does not tell */
	int64_t at_ms;      /* 0: likewise */
	struct fields fields;
	char text[EVENT_BYTES];
};

static void
event_read(struct event *e, struct slice line, char scratch[EVENT_BYTES], char level[16])
{
	struct slice key, value;

	*e = (struct event){.at_ms = 0};
	fields_init(&e->fields, e->text, sizeof(e->text));
	if (line.n > EVENT_BYTES) {
		line.n = EVENT_BYTES;
	}
	while (fields_next(&line, scratch, &key, &value)) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%.*s", SLICE_ARG(key));
		if (value.p == NULL) {
			fields_word(&e->fields, name);
		} else if (strcmp(name, "level") == 0) {
			slice_text(level, 16, value);
			e->level = slice_of(level);
		} else if (strcmp(name, "at_ms") == 0) {
			(void)!number_parse(value, 0, INT64_MAX, &e->at_ms);
		} else {
			fields_text(&e->fields, name, value);
		}
	}
}

/* "2026-11-26 06:53:01.123 warning lock.lost name=deploy ...", in the time of this host */
static bool
event_line(struct slice line)
{
	char scratch[EVENT_BYTES], level[16], moment[32] = "?", shown[EVENT_BYTES * 2], text[EVENT_BYTES];
	struct event e;
	struct tm tm;
	time_t s;

	event_read(&e, line, scratch, level);
	s = (time_t)(e.at_ms / 1000);
	if (localtime_r(&s, &tm) != NULL) {
		(void)strftime(moment, sizeof(moment), "%Y-%m-%d %H:%M:%S", &tm);
	}
	slice_text(text, sizeof(text), fields_line(&e.fields));
	(void)escape_text(shown, sizeof(shown), slice_of(text), ESCAPE_PLAIN);
	return printf("%s.%03d %-*s %s\n", moment, (int)(e.at_ms % 1000), LEVEL_WIDTH,
		       e.level.n > 0 ? level : "-", shown) >= 0 &&
	       fflush(stdout) == 0;
}

/* ---- which events ---- */

/* The most important one first. */
static const char *const levels[] = {"error", "warning", "info", "debug"};
#define LEVELS (sizeof(levels) / sizeof(*levels))

/* Its place in the list; LEVELS: it is none of them. */
static size_t
level_of(struct slice word)
{
	size_t i = 0;

	while (i < LEVELS && !slice_equal(word, slice_of(levels[i]))) {
		i++;
	}
	return i;
}

struct watching {
	const struct options *o;
	size_t level;       /* up to this one; LEVELS: all */
	struct glob *event; /* NULL: all */
};

static bool
is_wanted(const struct watching *watching, struct slice line)
{
	char scratch[EVENT_BYTES];
	struct slice key, value;

	if (line.n > sizeof(scratch)) {
		line.n = sizeof(scratch);
	}
	while (fields_next(&line, scratch, &key, &value)) {
		if (value.p == NULL && watching->event != NULL && !glob_takes(watching->event, key)) {
			return false;
		}
		if (value.p != NULL && slice_equal(key, SLICE("level")) && watching->level < LEVELS &&
			level_of(value) > watching->level) {
			return false;
		}
	}
	return true;
}

/* Prints all events that have arrived. */
static int
events_print(const struct watching *watching, struct wire *w)
{
	const struct answer *answer;
	int status = STATUS_DONE;

	while (status == STATUS_DONE && (answer = wire_next(w)) != NULL) {
		if (answer->type == ANSWER_ERROR) {
			status = take_refusal(w, answer, "cannot watch");
		} else if (answer_is_push(answer, "event", 2) && is_wanted(watching, answer->items[1].text)) {
			struct slice line = answer->items[1].text;

			status = watching->o->json  ? json_output_print_line(line)
				 : event_line(line) ? STATUS_DONE
						    : STATUS_INTERNAL;
		}
	}
	return status;
}

static int
watch(const struct watching *watching, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct pollfd p = {-1, POLLIN, 0};
	const char *names = watching->o->name;
	int status = take_hello(&wire, a, "holdfast-watch");

	if (status == STATUS_DONE) {
		wire_ask_words(&wire, names == NULL ? 1 : 3, (const char *const[]){"EVENTS", "MATCH", names});
		(void)wire_flush(&wire);
	}
	p.fd = wire.fd;
	while (status == STATUS_DONE) {
		bool more = poll(&p, 1, -1) < 0 || wire_fill(&wire);

		status = events_print(watching, &wire);
		if (status == STATUS_DONE && (!more || wire.ended)) {
			message("cannot watch any longer: %s", wire.why);
			status = STATUS_UNAVAILABLE;
		}
	}
	wire_close(&wire);
	return status;
}

int
task_watch(const struct options *o, const struct address *a)
{
	struct watching watching = {.o = o, .level = LEVELS};
	int status;

	if (o->level != NULL && (watching.level = level_of(slice_of(o->level))) == LEVELS) {
		message("--level %s: debug, info, warning or error is allowed", o->level);
		return STATUS_USAGE;
	}
	if (o->event != NULL) {
		const char *fault = o->event[0] == '\0' ? "it is empty" : glob_check(slice_of(o->event));

		if (fault != NULL) {
			message("--event %s: %s", o->event, fault);
			return STATUS_USAGE;
		}
		watching.event = glob_new(slice_of(o->event));
		if (watching.event == NULL) {
			message("no memory");
			return STATUS_INTERNAL;
		}
	}
	status = watch(&watching, a);
	glob_free(watching.event);
	return status;
}
