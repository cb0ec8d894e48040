/*
 * status: the verbs ping, health and info, which ask the daemon how it is.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/probe.h"
#include "client/wire/wire.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int
task_ping(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_hello(&wire, a, "holdfast");
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
	int status = take_refusal(w, answer, "cannot ask for INFO");

	return o->name != NULL && answer_is_error(answer, CODE_ERR) ? STATUS_NO : status;
}

int
task_info(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_hello(&wire, a, "holdfast");

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

/* ---- health: one line on standard output, as monitoring plugins print it ---- */

/* ;WARNING;CRITICAL in seconds, as far as they are set. */
static void
health_bounds(const struct probe *f)
{
	if (f->warning_ms >= 0 || f->critical_ms >= 0) {
		(void)printf(";");
	}
	if (f->warning_ms >= 0) {
		(void)printf("%g", (double)f->warning_ms / 1000.0);
	}
	if (f->critical_ms >= 0) {
		(void)printf(";%g", (double)f->critical_ms / 1000.0);
	}
}

static int
health_print(const struct probe *f)
{
	static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	char text[sizeof(f->text) * 2];

	(void)escape_text(text, sizeof(text), slice_of(f->text), ESCAPE_PLAIN);
	for (char *bar = text; (bar = strchr(bar, '|')) != NULL;) {
		*bar = '/'; /* a bar begins the figures */
	}
	(void)printf("%s - %s", words[f->grade], text);
	if (f->ms >= 0) {
		(void)printf(" | time=%.6fs", f->ms / 1000.0);
		health_bounds(f);
	}
	if (f->masters > 0) {
		(void)printf(" masters=%" PRId64 ";%" PRId64 ":;%" PRId64 ":;0;%" PRId64, f->usable,
			f->masters, f->majority, f->masters);
	}
	(void)puts("");
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

static int
health_json(const struct probe *f)
{
	static const char *const words[] = {"ok", "warning", "critical", "unknown"};
	json_t *json = json_pack(
		"{s:s, s:o}", "health", words[f->grade], "text", json_output_text(slice_of(f->text)));

	if (json != NULL && f->ms >= 0) {
		(void)json_object_set_new(json, "ms", json_real(f->ms));
	}
	if (json != NULL && f->masters > 0) {
		(void)json_object_set_new(json, "masters", json_integer(f->masters));
		(void)json_object_set_new(json, "usable", json_integer(f->usable));
		(void)json_object_set_new(json, "majority", json_integer(f->majority));
	}
	return json_output_print_json(json);
}

int
task_health(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct probe found;
	int status = STATUS_DONE;

	probe_run(&found, &wire, a, o->wait_ms >= 0 ? o->wait_ms : PROBE_MS);
	wire_close(&wire);
	probe_judge(&found, o->warning_ms, o->critical_ms);
	if (!o->quiet) {
		status = o->json ? health_json(&found) : health_print(&found);
	}
	return status == STATUS_DONE ? (int)found.grade : (int)PROBE_UNKNOWN;
}
