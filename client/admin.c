/*
 * admin: the verbs break, drain, restart and masters, which change what the daemon does.
 */
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
task_break(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char token[NUMBER_TEXT_MAX];
	char what[NAME_BYTES_MAX + 32];
	char duration[DURATION_TEXT_MAX];
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask_words(&wire, o->here ? 4 : 5,
			(const char *const[]){
				"BREAK", o->name, "TOKEN", number_text(token, o->token), "FLEET"});
		answer = wire_answer(&wire);
		(void)snprintf(what, sizeof(what), "cannot break %s", o->name);
		if (answer == NULL || answer->type != ANSWER_INT) {
			status = take_refusal(&wire, answer, what);
		} else if (o->json) {
			status = json_output_print("{s:s, s:I, s:I}", "name", o->name, "token",
				(json_int_t)o->token, "withheld_ms", (json_int_t)answer->n);
		} else if (!o->quiet) {
			(void)printf("%s is broken, and passes on when its holder has ended, in %s at the "
				     "latest\n",
				o->name, duration_text(duration, answer->n));
		}
	}
	wire_close(&wire);
	return status;
}

int
task_kill(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char number[NUMBER_TEXT_MAX];
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask(&wire, "SESSION", "KILL", number_text(number, o->token));
		answer = wire_answer(&wire);
		if (answer == NULL || answer->type != ANSWER_INT) {
			status = take_refusal(&wire, answer, "cannot kill the session");
			status = answer_is_error(answer, CODE_ERR) ? STATUS_NO : status;
		} else if (o->json) {
			status = json_output_print("{s:I, s:I}", "session", (json_int_t)o->token, "holds",
				(json_int_t)answer->n);
		} else if (!o->quiet) {
			(void)printf("session %s is ended; it held %" PRId64 " lock%s%s\n", number, answer->n,
				answer->n == 1 ? "" : "s",
				answer->n == 0 ? ""
					       : ": waiters get them when its client can no longer rely on "
						 "them");
		}
	}
	wire_close(&wire);
	return status;
}

/*
 * ---- drain: takes the daemon out of service ----
 *
 *     DRAIN WAIT ms      its answer comes when nothing is held any more, or after ms; then the daemon ends
 *     INFO locks         on another connection meanwhile: how many holds are left, for people
 *
 * The drain goes on when this process ends.
 */

#define DRAIN_PROGRESS_MS 1000
#define BEGIN_POLL_MS     20 /* no event tells that it has begun */

struct drain {
	const struct options *o;
	const struct address *a;
	int64_t until_ms;
	bool people;      /* print the progress */
	int64_t reported; /* holds left in the last message; -1: no message yet */
};

/* How many holds are left; -1: the drain has not begun, or the daemon does not say. */
static int64_t
drain_left(struct wire *observer)
{
	const struct answer *answer;
	int64_t draining, grants, withheld;

	wire_ask(observer, "INFO", "locks");
	answer = wire_answer(observer);
	if (answer == NULL || answer->type != ANSWER_TEXT ||
		!number_parse(answer_info(answer->text, "draining"), 1, 1, &draining) ||
		!number_parse(answer_info(answer->text, "grants"), 0, INT64_MAX, &grants) ||
		!number_parse(answer_info(answer->text, "withheld"), 0, INT64_MAX, &withheld)) {
		return -1;
	}
	return grants + withheld;
}

static void
drain_tell(struct drain *d, int64_t left)
{
	char duration[DURATION_TEXT_MAX];
	int64_t rest_ms = d->until_ms - clock_ms();

	if (!d->people || left <= 0 || left == d->reported) {
		return;
	}
	message("%" PRId64 " hold%s left, waiting for %s at most", left, left == 1 ? " is" : "s are",
		duration_text(duration, rest_ms > 0 ? rest_ms : 0));
	d->reported = left;
}

/* The answer to DRAIN. NULL also if the drain has begun and --begin was given: *begun. */
static const struct answer *
drain_wait(struct drain *d, struct wire *w, struct wire *observer, bool *begun)
{
	bool observes = d->people || d->o->begin;
	const struct answer *answer = NULL;

	while (answer == NULL && !w->ended) {
		int64_t left = observes ? drain_left(observer) : -1;
		int64_t pause_ms = left < 0 ? BEGIN_POLL_MS : DRAIN_PROGRESS_MS;

		if (left >= 0 && d->o->begin) {
			*begun = true;
			return NULL;
		}
		drain_tell(d, left);
		observes = observes && !observer->ended;
		answer = wire_wait(w, observes ? clock_ms() + pause_ms : INT64_MAX);
	}
	return answer;
}

static int
drain_print(const struct options *o, int64_t left)
{
	if (o->json) {
		int status = json_output_print("{s:I}", "left", (json_int_t)left);

		return status != STATUS_DONE || left == 0 ? status : STATUS_NO;
	}
	if (left > 0) {
		message("the daemon has ended; %" PRId64
			" hold%s left, withheld until the time that the holder "
			"was told",
			left, left == 1 ? " was" : "s were");
		return STATUS_NO;
	}
	if (!o->quiet) {
		(void)printf("the daemon has ended, and nothing was held\n");
	}
	return STATUS_DONE;
}

static int
drain_run(struct drain *d, struct wire *w, struct wire *observer)
{
	char ms[NUMBER_TEXT_MAX];
	const struct answer *answer;
	bool begun = false;
	int64_t left;

	d->until_ms = clock_ms() + d->o->wait_ms;
	wire_ask(w, "DRAIN", "WAIT", number_text(ms, d->o->wait_ms > 0 ? d->o->wait_ms : 0));
	answer = wire_flush(w) ? drain_wait(d, w, observer, &begun) : NULL;
	if (begun) {
		return STATUS_DONE;
	}
	if (answer == NULL || answer->type != ANSWER_INT) {
		return take_refusal(w, answer, "cannot drain");
	}
	left = answer->n;
	/* The daemon ends in a moment, and closes this connection. */
	(void)wire_wait(w, clock_ms() + WIRE_ANSWER_MS);
	return drain_print(d->o, left);
}

int
task_drain(const struct options *o, const struct address *a)
{
	struct drain d = {.o = o,
		.a = a,
		.people = !o->quiet && o->wait_ms > 0 && (o->verbose || isatty(STDERR_FILENO) == 1),
		.reported = -1};
	struct wire wire = {.fd = -1};
	struct wire observer = {.fd = -1};
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE && (d.people || o->begin)) {
		status = take_hello(&observer, a, "holdfast");
	}
	if (status == STATUS_DONE) {
		status = drain_run(&d, &wire, &observer);
	}
	wire_close(&wire);
	wire_close(&observer);
	return status;
}

/*
 * ---- restart: hands the daemon over to a new process of its program ----
 *
 * The connection lives on, and the new process answers.
 */

static int
restart_print(const struct options *o, const struct answer *map)
{
	struct slice version = answer_get_text(map, "version");
	int64_t connections = answer_get_int(map, "connections", 0);
	int64_t sessions = answer_get_int(map, "sessions", 0);
	int64_t holds = answer_get_int(map, "holds", 0);
	int64_t silent_ms = answer_get_int(map, "silent_ms", 0);

	if (o->json) {
		return json_output_print_answer(map);
	}
	if (!o->quiet) {
		(void)printf("version %.*s serves; it has taken over %" PRId64 " connection%s, %" PRId64
			     " session%s and %" PRId64 " hold%s, and no client was served for %" PRId64
			     " ms\n",
			SLICE_ARG(version), connections, connections == 1 ? "" : "s", sessions,
			sessions == 1 ? "" : "s", holds, holds == 1 ? "" : "s", silent_ms);
	}
	return STATUS_DONE;
}

/* Whether the new process goes on with another only master than its configuration names. */
static int
restart_check(struct wire *wire)
{
	const struct answer *answer;
	struct slice aside, used;

	wire_ask_words(wire, 2, (const char *const[]){"INFO", "masters"});
	answer = wire_answer(wire);
	if (answer == NULL || answer->type != ANSWER_TEXT) {
		return STATUS_DONE;
	}
	aside = answer_info(answer->text, "masters_aside");
	used = answer_info(answer->text, "masters_set_places");
	if (aside.n == 0) {
		return STATUS_DONE;
	}
	message("masters: is not in effect: the daemon goes on with %.*s, and the configuration names %.*s. "
		"If that is "
		"the same server: holdfast masters replace %.*s %.*s. For another server stop all daemons "
		"that "
		"share it, and then start them",
		SLICE_ARG(used), SLICE_ARG(aside), SLICE_ARG(used), SLICE_ARG(aside));
	return STATUS_NO;
}

int
task_restart(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer = NULL;
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask(&wire, "RESTART");
		answer = wire_flush(&wire) ? wire_wait(&wire, INT64_MAX) : NULL;
		status = answer != NULL && answer->type == ANSWER_MAP
				 ? restart_print(o, answer)
				 : take_refusal(&wire, answer, "cannot restart the daemon");
	}
	if (status == STATUS_DONE) {
		status = restart_check(&wire);
	}
	wire_close(&wire);
	return status;
}

int
task_loglevel(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		wire_ask_words(
			&wire, o->name == NULL ? 2 : 3, (const char *const[]){"LOG", "LEVEL", o->name});
		answer = wire_answer(&wire);
		if (answer == NULL || (answer->type != ANSWER_TEXT && answer->type != ANSWER_STATUS)) {
			status = take_refusal(&wire, answer, "cannot read the level of the log");
		} else if (answer->type == ANSWER_TEXT && o->json) {
			status = json_output_print("{s:o}", "level", json_output_text(answer->text));
		} else if (answer->type == ANSWER_TEXT) {
			(void)printf("%.*s\n", SLICE_ARG(answer->text));
		}
	}
	wire_close(&wire);
	return status;
}

/*
 * ---- masters: shows the set of masters, and requests its change ----
 *
 * The daemon answers when the set is in force, which can take as long as a server is away. Meanwhile another
 * connection asks what the change waits for, and each new answer is printed on standard error.
 */

#define CHANGE_PROGRESS_MS 2000
#define WAITS_MAX          512

/* How long to wait for connections to new members before the set is shown, and how often to check. */
#define SETTLE_MS      3000
#define SETTLE_POLL_MS 50

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

static void
table_master(struct table *t, const struct answer *master)
{
	int64_t guard_ms = answer_get_int(master, "guard_ms", 0);
	struct slice unacknowledged = answer_get_text(master, "unacknowledged");
	struct slice reason = answer_get_text(master, "reason");
	char duration[DURATION_TEXT_MAX];
	char note[WAITS_MAX];

	table_text(t, answer_get_text(master, "place"));
	table_text(t, answer_get_text(master, "way"));
	table_text(t, answer_get_text(master, "role"));
	table_text(t, answer_get_text(master, "state"));
	table_text(t, slice_of(guard_ms > 0 ? duration_text(duration, guard_ms) : "-"));
	table_text(t, answer_get_text(master, "id"));
	(void)snprintf(note, sizeof(note), "%.*s%s%s%.*s", SLICE_ARG(reason),
		reason.n > 0 && unacknowledged.n > 0 ? "; " : "",
		unacknowledged.n > 0 ? "has not acknowledged: " : "", SLICE_ARG(unacknowledged));
	table_text(t, slice_of(note));
}

static int
status_print(const struct answer *set)
{
	static const char *const heads[] = {"PLACE", "WAY", "ROLE", "STATE", "GUARD", "ID", "REMARK", NULL};
	const struct answer *masters = set_masters(set);
	struct table t;
	int status = STATUS_DONE;

	(void)printf("generation %" PRId64 ", %.*s; ", answer_get_int(set, "generation", 0),
		SLICE_ARG(answer_get_text(set, "agreement")));
	if (text_is(set, "change", "none")) {
		(void)printf("no change is under way\n");
	} else if (text_is(set, "change", "checking")) {
		(void)printf("a change is being checked\n");
	} else {
		(void)printf("generation %" PRId64 " is %.*s: %.*s\n",
			answer_get_int(set, "next_generation", 0), SLICE_ARG(answer_get_text(set, "change")),
			SLICE_ARG(next_places(set)));
	}
	table_init(&t, heads);
	for (size_t i = 0; i < masters->count; i++) {
		table_master(&t, &masters->items[i]);
	}
	if (!table_print(&t)) {
		message("cannot print: no memory, or standard output is closed");
		status = STATUS_INTERNAL;
	}
	table_done(&t);
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
	return o->json ? json_output_print_answer(set) : status_print(set);
}

/* What a change waits for, by the daemon's knowledge. */
static void
waits_for(char out[WAITS_MAX], const struct answer *set)
{
	const struct answer *masters = set_masters(set);
	size_t n;

	(void)snprintf(out, WAITS_MAX, "%.*s", SLICE_ARG(answer_get_text(set, "change")));
	for (size_t i = 0; i < masters->count; i++) {
		const struct answer *m = &masters->items[i];
		bool stays = text_is(m, "role", "member");

		n = strlen(out);
		if (stays && !text_is(m, "state", "admitted")) {
			(void)snprintf(out + n, WAITS_MAX - n, "; waits for %.*s, which is %.*s%s%.*s",
				SLICE_ARG(answer_get_text(m, "place")),
				SLICE_ARG(answer_get_text(m, "state")),
				answer_get_text(m, "reason").n > 0 ? ": " : "",
				SLICE_ARG(answer_get_text(m, "reason")));
		} else if (stays && answer_get_text(m, "unacknowledged").n > 0) {
			(void)snprintf(out + n, WAITS_MAX - n, "; %.*s waits for the daemons %.*s",
				SLICE_ARG(answer_get_text(m, "place")),
				SLICE_ARG(answer_get_text(m, "unacknowledged")));
		} else if (text_is(m, "role", "joining") && text_is(set, "change", "checking")) {
			(void)snprintf(out + n, WAITS_MAX - n, "; %.*s is %.*s%s%.*s",
				SLICE_ARG(answer_get_text(m, "place")),
				SLICE_ARG(answer_get_text(m, "state")),
				answer_get_text(m, "reason").n > 0 ? ": " : "",
				SLICE_ARG(answer_get_text(m, "reason")));
		}
	}
}

/* Waits for the answer, and prints meanwhile what the change waits for. */
static const struct answer *
change_wait(struct wire *w, struct wire *observer, bool quiet)
{
	char before[WAITS_MAX] = "";
	char now[WAITS_MAX];
	const struct answer *answer, *set;

	while ((answer = wire_wait(w, quiet ? INT64_MAX : clock_ms() + CHANGE_PROGRESS_MS)) == NULL &&
		!w->ended) {
		wire_ask(observer, "MASTERS");
		set = wire_answer(observer);
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
			(text_is(m, "state", "away") || text_is(m, "state", "registering"))) {
			return true;
		}
	}
	return false;
}

/* Prints the set in force, and the members that grant nothing new yet. */
static int
change_print(const struct options *o, struct wire *observer, int64_t generation)
{
	int64_t until_ms = clock_ms() + SETTLE_MS;
	int status = STATUS_DONE;
	const struct answer *set;

	while ((set = status_ask(observer, &status)) != NULL && is_settling(set) && clock_ms() < until_ms) {
		(void)poll(NULL, 0, SETTLE_POLL_MS);
	}

	if (o->json) {
		return set == NULL ? json_output_print("{s:I}", "generation", (json_int_t)generation)
				   : json_output_print_answer(set);
	}
	(void)printf("generation %" PRId64 " is in force\n", generation);
	return set == NULL ? status : status_print(set);
}

static int
masters_change(const struct options *o, const struct address *a, struct wire *w, struct wire *observer)
{
	const char *words[] = {"MASTERS", o->name, o->words[0], o->words[1]};
	char what[128];
	const struct answer *answer;
	int status = take_hello(observer, a, "holdfast");

	if (status != STATUS_DONE) {
		return status;
	}
	wire_ask_words(w, o->words[0] == NULL ? 2 : 4, words);
	(void)snprintf(what, sizeof(what), "cannot %s", o->name);
	if (!wire_flush(w)) {
		return take_refusal(w, NULL, what);
	}
	answer = change_wait(w, observer, o->quiet);
	if (answer == NULL) {
		message("%s; the change may go on: holdfast masters status", w->why);
		return STATUS_UNAVAILABLE;
	}
	if (answer->type != ANSWER_INT) {
		return take_refusal(w, answer, what);
	}
	return o->quiet ? STATUS_DONE : change_print(o, observer, answer->n);
}

/* A replica that is gone for good. */
static int
masters_forget(const struct options *o, struct wire *w)
{
	const char *words[] = {"MASTERS", "FORGET", o->words[0]};
	const struct answer *answer;

	wire_ask_words(w, 3, words);
	answer = wire_answer(w);
	if (answer == NULL || answer->type != ANSWER_STATUS) {
		return take_refusal(w, answer, "cannot forget it");
	}
	return STATUS_DONE;
}

int
task_masters(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	struct wire observer = {.fd = -1};
	int status = take_hello(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		status = o->name == NULL || strcmp(o->name, "status") == 0 ? masters_show(o, &wire)
			 : strcmp(o->name, "forget") == 0                  ? masters_forget(o, &wire)
							  : masters_change(o, a, &wire, &observer);
	}
	wire_close(&wire);
	wire_close(&observer);
	return status;
}
