/*
 * probe: takes a lock of a new name, gives it back, and says whether that worked.
 */
#include "client/probe.h"

#include "client/message.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* If access is denied or the server is not holdfastd, the state of the locks is unknown. */
static void
found_nothing(struct probe *f, const struct wire *w)
{
	f->grade = w->denied || w->foreign ? PROBE_UNKNOWN : PROBE_CRITICAL;
	(void)snprintf(f->text, sizeof(f->text), "%s", w->ended ? w->why : "the daemon does not answer");
}

static bool
says(const struct answer *answer, const char *words)
{
	return memmem(answer->text.p, answer->text.n, words, strlen(words)) != NULL;
}

/* A refusal of the login, or of the name, says nothing about the locks of others. */
static void
found_error(struct probe *f, const struct answer *answer)
{
	struct slice rest;
	enum code code = answer_code(answer, &rest);
	bool denied = status_of_code(code) == STATUS_DENIED ||
		      (code == CODE_LIMIT && says(answer, "too many logins"));
	bool named = code == CODE_NOPERM && says(answer, "names: has no glob");

	f->grade = denied ? PROBE_UNKNOWN : PROBE_CRITICAL;
	(void)snprintf(f->text, sizeof(f->text), "%s: %.*s%s", denied ? "cannot ask" : "no lock can be had",
		(int)answer->text.n, answer->text.p,
		named ? ": add \"" PROBE_NAMES "\" to the names: of this user" : "");
}

/* No lock, for want of masters: INFO says which, since when and why. */
static void
found_no_masters(struct probe *f, const struct answer *info)
{
	struct slice missing = {0};

	if (info != NULL && info->type == ANSWER_TEXT) {
		missing = answer_info(info->text, "masters_missing");
	}
	if (missing.n > 0) {
		(void)snprintf(
			f->text, sizeof(f->text), "no lock can be had: %.*s", (int)missing.n, missing.p);
	}
}

/* A lock was granted; INFO says whether all masters are there. */
static void
found_masters(struct probe *f, struct slice info)
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
	f->grade = missing.n > 0 ? PROBE_WARNING : PROBE_OK;
	(void)snprintf(f->text, sizeof(f->text), "a lock was granted in %.1f ms%s%.*s", f->ms,
		missing.n > 0 ? ", but not by all masters: " : "", (int)missing.n, missing.p);
}

void
probe_run(struct probe *f, struct wire *w, const struct address *a, int64_t wait_ms)
{
	int64_t until_ms = clock_ms() + wait_ms;
	char name[sizeof(PROBE_PREFIX) + NUMBER_TEXT_MAX * 2] = PROBE_PREFIX;
	const struct answer *answer;
	int64_t sent_us = clock_us();
	size_t n = strlen(name);

	*f = (struct probe){.ms = -1.0, .warning_ms = -1, .critical_ms = -1};
	n += number_print(name + n, getpid());
	name[n++] = ':';
	name[n + number_print(name + n, sent_us)] = '\0';
	if (!wire_open(w, a)) {
		found_nothing(f, w);
		return;
	}
	wire_hello(w, a, "holdfast-health");
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
		struct slice rest;
		enum code code = answer_code(answer, &rest);

		found_error(f, answer);
		if ((code == CODE_NOMASTER || code == CODE_GUARD) && wire_wait(w, until_ms) != NULL) {
			found_no_masters(f, wire_wait(w, until_ms));
		}
	} else if (wire_wait(w, until_ms) == NULL || (answer = wire_wait(w, until_ms)) == NULL) {
		found_nothing(f, w);
	} else if (answer->type != ANSWER_TEXT) {
		f->grade = PROBE_UNKNOWN;
		(void)snprintf(f->text, sizeof(f->text),
			"the daemon answered something unknown: is it of another version?");
	} else {
		found_masters(f, answer->text);
	}
}

void
probe_judge(struct probe *f, int64_t warning_ms, int64_t critical_ms)
{
	bool critical = critical_ms >= 0 && f->ms >= (double)critical_ms;
	bool warning = warning_ms >= 0 && f->ms >= (double)warning_ms;
	size_t n = strlen(f->text);

	f->warning_ms = warning_ms;
	f->critical_ms = critical_ms;
	if (f->grade > PROBE_WARNING || (!warning && !critical)) {
		return;
	}
	f->grade = critical ? PROBE_CRITICAL : PROBE_WARNING;
	(void)snprintf(f->text + n, sizeof(f->text) - n, "; %" PRId64 " ms or more are %s",
		critical ? critical_ms : warning_ms, critical ? "critical" : "a warning");
}
