/*
 * status: the verbs ping, health and info, which ask the daemon how it is.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/wire.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/*
 * ---- health: whether a lock can be had now ----
 *
 * Said and ended as monitoring plugins do: one line on standard output with figures behind a bar, and 0 (OK),
 * 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN).
 *
 *     HELLO 3 …               one write; the name is new each time, so that the masters have to grant it
 *     LOCK name WAIT 0
 *     UNLOCK name
 *     INFO masters
 */

/* Monitors give up after 10 s by default. */
#define HEALTH_MS 5000

#define NAME_PREFIX "holdfast:health:"

enum health {
	HEALTH_OK = STATUS_DONE,
	HEALTH_WARNING = STATUS_NO,
	HEALTH_CRITICAL = STATUS_CRITICAL,
	HEALTH_UNKNOWN = STATUS_UNKNOWN
};

struct finding {
	enum health health;
	char text[WIRE_TEXT_MAX * 2];
	double ms;       /* from LOCK to its answer; < 0: no answer */
	int64_t masters; /* 0: not known, as the next two */
	int64_t usable;
	int64_t majority;
};

/* If access is denied or the server is not holdfastd, the state of the locks is unknown. */
static void
found_nothing(struct finding *f, const struct wire *w)
{
	f->health = w->denied || w->foreign ? HEALTH_UNKNOWN : HEALTH_CRITICAL;
	(void)snprintf(f->text, sizeof(f->text), "%s", w->ended ? w->why : "the daemon does not answer");
}

static void
found_error(struct finding *f, const struct answer *answer)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);
	bool denied = status_of_code(code) == STATUS_DENIED;

	f->health = denied ? HEALTH_UNKNOWN : HEALTH_CRITICAL;
	(void)snprintf(f->text, sizeof(f->text), "%s: %.*s", denied ? "cannot ask" : "no lock can be had",
		(int)answer->text.n, answer->text.p);
}

/* A lock was granted; INFO says whether all masters are there. */
static void
found_masters(struct finding *f, struct slice info)
{
	struct slice usable = answer_info(info, "masters_usable");
	struct slice missing = answer_info(info, "masters_missing");
	const char *bar = usable.n > 0 ? memchr(usable.p, '/', usable.n) : NULL;
	struct slice majority = {bar == NULL ? "" : bar + 1, 0};

	if (bar != NULL) {
		majority.n = usable.n - (size_t)(majority.p - usable.p);
		usable.n = (size_t)(bar - usable.p);
	}
	if (!number_parse(answer_info(info, "masters"), 1, INT16_MAX, &f->masters) ||
		!number_parse(usable, 0, INT16_MAX, &f->usable) ||
		!number_parse(majority, 1, INT16_MAX, &f->majority)) {
		f->masters = 0;
	}
	f->health = missing.n > 0 ? HEALTH_WARNING : HEALTH_OK;
	(void)snprintf(f->text, sizeof(f->text), "a lock was granted in %.1f ms%s%.*s", f->ms,
		missing.n > 0 ? ", but not by all masters: " : "", (int)missing.n, missing.p);
}

/* Sends the requests, and evaluates the answers. */
static void
health_look(struct finding *f, struct wire *w, const struct options *o, const struct address *a)
{
	int64_t until_ms = clock_ms() + (o->wait_ms >= 0 ? o->wait_ms : HEALTH_MS);
	char name[sizeof(NAME_PREFIX) + NUMBER_TEXT_MAX * 2] = NAME_PREFIX;
	const struct answer *answer;
	int64_t sent_us = clock_us();
	size_t n = strlen(name);

	*f = (struct finding){.ms = -1.0};
	n += number_print(name + n, getpid());
	name[n++] = ':';
	name[n + number_print(name + n, sent_us)] = '\0';
	if (!wire_open(w, a)) {
		found_nothing(f, w);
		return;
	}
	wire_greet(w, a, "holdfast-health");
	wire_ask(w, "LOCK", name, "WAIT", "0");
	wire_ask(w, "UNLOCK", name);
	wire_ask(w, "INFO", "masters");
	(void)wire_flush(w);
	answer = wire_welcomed(w, a, wire_wait(w, until_ms));
	if (answer != NULL && answer->type != ANSWER_ERROR) {
		answer = wire_wait(w, until_ms);
		f->ms = (double)(clock_us() - sent_us) / 1000.0;
	}
	if (answer == NULL) {
		found_nothing(f, w);
	} else if (answer->type == ANSWER_ERROR) {
		found_error(f, answer);
	} else if (wire_wait(w, until_ms) == NULL || (answer = wire_wait(w, until_ms)) == NULL) {
		found_nothing(f, w);
	} else if (answer->type != ANSWER_TEXT) {
		f->health = HEALTH_UNKNOWN;
		(void)snprintf(f->text, sizeof(f->text),
			"the daemon answered something unknown: is it of another version?");
	} else {
		found_masters(f, answer->text);
	}
}

static int
health_print(const struct finding *f)
{
	static const char *const words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	char text[sizeof(f->text) * 2];

	(void)escape_text(text, sizeof(text), slice_of(f->text), ESCAPE_PLAIN);
	for (char *bar = text; (bar = strchr(bar, '|')) != NULL;) {
		*bar = '/'; /* a bar begins the figures */
	}
	(void)printf("%s - %s", words[f->health], text);
	if (f->ms >= 0) {
		(void)printf(" | time=%.6fs", f->ms / 1000.0);
	}
	if (f->masters > 0) {
		(void)printf(" masters=%" PRId64 ";%" PRId64 ":;%" PRId64 ":;0;%" PRId64, f->usable,
			f->masters, f->majority, f->masters);
	}
	(void)puts("");
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

static int
health_json(const struct finding *f)
{
	static const char *const words[] = {"ok", "warning", "critical", "unknown"};
	json_t *json = json_pack(
		"{s:s, s:o}", "health", words[f->health], "text", json_output_text(slice_of(f->text)));

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
	struct finding found;
	int status = STATUS_DONE;

	health_look(&found, &wire, o, a);
	wire_close(&wire);
	if (!o->quiet) {
		status = o->json ? health_json(&found) : health_print(&found);
	}
	return status == STATUS_DONE ? (int)found.health : HEALTH_UNKNOWN;
}
