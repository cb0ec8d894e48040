/*
 * ask: watch, ping, info and break.
 */
#include "client/duration.h"
#include "client/json_output.h"
#include "client/message.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longest line of an event that can be parsed. */
#define EVENT_BYTES 8192

/* The fields of events that are numbers. The value does not tell, because a name may look like a number. */
static bool
is_number(struct slice key)
{
	return slice_equal(key, SLICE("session")) || slice_equal(key, SLICE("token")) ||
	       (key.n > 3 && memcmp(key.p + key.n - 3, "_ms", 3) == 0);
}

static json_t *
field_value(struct slice key, struct slice value)
{
	int64_t n;

	return is_number(key) && number_parse(value, INT64_MIN, INT64_MAX, &n) ? json_integer(n)
									       : json_output_text(value);
}

/* A line of key=value as an object; its first word is the event. NULL: out of memory. */
static json_t *
event_object(struct slice line)
{
	json_t *object = json_object();
	char scratch[EVENT_BYTES];
	struct slice key;
	struct slice value;

	if (line.n > sizeof(scratch)) {
		line.n = sizeof(scratch);
	}
	while (object != NULL && fields_next(&line, scratch, &key, &value)) {
		char name[64];

		(void)snprintf(name, sizeof(name), "%.*s", (int)key.n, key.p);
		if (json_object_set_new(object, value.p == NULL ? "event" : name,
			    value.p == NULL ? json_output_text(key) : field_value(key, value)) != 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

/* Prints all events that have arrived. */
static int
events_print(struct wire *w)
{
	const struct answer *answer;
	int status = STATUS_DONE;

	while (status == STATUS_DONE && (answer = wire_next(w)) != NULL) {
		if (answer_is_push(answer, "event", 2)) {
			status = json_output_print_json(event_object(answer->items[1].text));
		} else if (answer->type == ANSWER_ERROR) {
			status = take_refusal(w, answer, "cannot watch");
		}
	}
	return status;
}

int
task_watch(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct pollfd p = {-1, POLLIN, 0};
	int status = take_greeting(&wire, a, "holdfast-watch");

	if (status == STATUS_DONE) {
		wire_ask_words(
			&wire, o->name == NULL ? 1 : 3, (const char *const[]){"EVENTS", "MATCH", o->name});
		(void)wire_flush(&wire);
	}
	p.fd = wire.fd;
	while (status == STATUS_DONE) {
		bool more = poll(&p, 1, -1) < 0 || wire_fill(&wire);

		status = events_print(&wire);
		if (status == STATUS_DONE && (!more || wire.ended)) {
			message("cannot watch any longer: %s", wire.why);
			status = STATUS_UNAVAILABLE;
		}
	}
	wire_close(&wire);
	return status;
}

int
task_ping(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_greeting(&wire, a, "holdfast");
	int64_t sent_us;
	double ms;

	if (status == STATUS_DONE) {
		sent_us = clock_us();
		wire_ask(&wire, "PING");
		answer = wire_answer(&wire);
		ms = (double)(clock_us() - sent_us) / 1000.0;
		if (answer == NULL || answer->type != ANSWER_STATUS) {
			status = take_refusal(&wire, answer, "cannot ping");
		} else if (o->json) {
			status = json_output_print("{s:f}", "ms", ms);
		} else if (!o->quiet) {
			(void)printf("%s answers in %.2f ms\n", a->text, ms);
		}
	}
	wire_close(&wire);
	return status;
}

static json_t *
info_value(struct slice text)
{
	int64_t n;

	return number_parse(text, INT64_MIN, INT64_MAX, &n) ? json_integer(n) : json_output_text(text);
}

/* Adds one line of INFO to the object of its section, *section. */
static bool
info_line(json_t *all, json_t **section, struct slice line)
{
	const char *colon = memchr(line.p, ':', line.n);
	char key[128];

	if (line.n > 2 && line.p[0] == '#') {
		(void)snprintf(key, sizeof(key), "%.*s", (int)line.n - 2, line.p + 2);
		for (char *c = key; *c != '\0'; c++) {
			*c = (char)tolower((unsigned char)*c);
		}
		*section = json_object();
		return json_object_set_new(all, key, *section) == 0;
	}
	if (colon == NULL || *section == NULL) {
		return true;
	}
	(void)snprintf(key, sizeof(key), "%.*s", (int)(colon - line.p), line.p);
	return json_object_set_new(*section, key,
		       info_value((struct slice){colon + 1, (size_t)(line.p + line.n - colon) - 1})) == 0;
}

/* Removes the next line from the front, and returns it without its CRLF. */
static struct slice
line_next(struct slice *text)
{
	const char *end = memchr(text->p, '\n', text->n);
	struct slice line = {text->p, end == NULL ? text->n : (size_t)(end - text->p)};
	size_t used = end == NULL ? text->n : line.n + 1;

	text->p += used;
	text->n -= used;
	if (line.n > 0 && line.p[line.n - 1] == '\r') {
		line.n--;
	}
	return line;
}

static json_t *
info_object(struct slice text)
{
	json_t *all = json_object();
	json_t *section = NULL;

	while (all != NULL && text.n > 0) {
		if (!info_line(all, &section, line_next(&text))) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static int
info_print(struct slice text)
{
	while (text.n > 0) {
		struct slice line = line_next(&text);

		(void)printf("%.*s\n", (int)line.n, line.p);
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

/* The daemon refuses an unknown section like any other bad argument, but its exit code is 1. */
static int
info_refusal(const struct wire *w, const struct options *o, const struct answer *answer)
{
	struct slice rest;
	int status = take_refusal(w, answer, "cannot ask for INFO");

	return o->name != NULL && answer != NULL && answer->type == ANSWER_ERROR &&
			       answer_code(answer, &rest) == CODE_ERR
		       ? STATUS_NO
		       : status;
}

int
task_info(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask_words(&wire, o->name == NULL ? 1 : 2, (const char *const[]){"INFO", o->name});
		answer = wire_answer(&wire);
		if (answer == NULL || answer->type != ANSWER_TEXT) {
			status = info_refusal(&wire, o, answer);
		} else if (answer->text.n == 0) {
			message("%s is a section of Redis that holdfastd does not have", o->name);
			status = STATUS_NO;
		} else {
			status = o->json ? json_output_print_json(info_object(answer->text))
					 : info_print(answer->text);
		}
	}
	wire_close(&wire);
	return status;
}

int
task_break(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char token[NUMBER_TEXT_MAX];
	char what[NAME_BYTES_MAX + 32];
	char span[DURATION_TEXT_MAX];
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		token[number_print(token, o->token)] = '\0';
		wire_ask(&wire, "BREAK", o->name, "TOKEN", token);
		answer = wire_answer(&wire);
		(void)snprintf(what, sizeof(what), "cannot break %s", o->name);
		if (answer == NULL || answer->type != ANSWER_INT) {
			status = take_refusal(&wire, answer, what);
		} else if (o->json) {
			status = json_output_print("{s:s, s:I, s:I}", "name", o->name, "token",
				(json_int_t)o->token, "withheld_ms", (json_int_t)answer->n);
		} else if (!o->quiet) {
			(void)printf("%s is broken, and passes on in %s\n", o->name,
				duration_text(span, answer->n));
		}
	}
	wire_close(&wire);
	return status;
}
