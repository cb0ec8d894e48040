/*
 * latch: the verbs latch and await.
 */
#include "client/json_output.h"
#include "client/message.h"
#include "client/status.h"
#include "client/take.h"
#include "client/tasks.h"
#include "client/waiting.h"
#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct answer *
ask_set(struct wire *w, const struct options *o)
{
	char lease[NUMBER_TEXT_MAX];

	if (o->lease_ms == 0) {
		wire_ask(w, "LATCH", o->name, "SET", o->words[1]);
	} else {
		lease[number_print(lease, o->lease_ms)] = '\0';
		wire_ask(w, "LATCH", o->name, "SET", o->words[1], "LEASE", lease);
	}
	return wire_answer(w);
}

static const struct answer *
ask_down(struct wire *w, const struct options *o)
{
	wire_ask(w, "LATCH", o->name, "DOWN", o->words[1] != NULL ? o->words[1] : "1");
	return wire_answer(w);
}

static const struct answer *
ask_count(struct wire *w, const struct options *o)
{
	wire_ask(w, "LATCH", o->name, "COUNT");
	return wire_answer(w);
}

/* Prints the answer of a latch, an integer or null. */
static int
tell(const struct options *o, const struct answer *answer)
{
	bool set = o->words[0] != NULL && strcmp(o->words[0], "set") == 0;
	bool no = answer->type == ANSWER_NULL || (set && answer->n == 0);

	if (o->json) {
		int status =
			set ? json_output_print("{s:s, s:b}", "name", o->name, "set", answer->n == 1)
			    : json_output_print("{s:s, s:o}", "name", o->name, "left",
				      answer->type == ANSWER_NULL ? json_null() : json_integer(answer->n));

		return status != STATUS_DONE || !no ? status : STATUS_NO;
	}
	if (no) {
		if (!o->quiet) {
			message(set ? "the latch %s is there already" : "there is no latch %s", o->name);
		}
		return STATUS_NO;
	}
	if (!set && !o->quiet && (printf("%" PRId64 "\n", answer->n) < 0 || fflush(stdout) != 0)) {
		message("cannot print how many steps are left: standard output is closed");
		return STATUS_INTERNAL;
	}
	return STATUS_DONE;
}

int
task_latch(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char what[NAME_BYTES_MAX + 32];
	int status = take_greeting(&wire, a, "holdfast");

	if (status == STATUS_DONE) {
		if (o->words[0] == NULL) {
			answer = ask_count(&wire, o);
		} else {
			answer = strcmp(o->words[0], "set") == 0 ? ask_set(&wire, o) : ask_down(&wire, o);
		}
		if (answer == NULL || (answer->type != ANSWER_INT && answer->type != ANSWER_NULL)) {
			(void)snprintf(what, sizeof(what), "latch %s", o->name);
			status = take_refusal(&wire, answer, what);
		} else {
			status = tell(o, answer);
		}
	}
	wire_close(&wire);
	return status;
}

static void
ask_await(struct wire *w, const struct options *o, int64_t wait_ms)
{
	char wait[NUMBER_TEXT_MAX];

	if (wait_ms < 0) {
		wire_ask(w, "LATCH", o->name, "AWAIT");
	} else {
		wait[number_print(wait, wait_ms)] = '\0';
		wire_ask(w, "LATCH", o->name, "AWAIT", "WAIT", wait);
	}
	(void)wire_flush(w);
}

/* Blocks until the latch is open or the wait is over, and prints meanwhile what it waits for. */
static const struct answer *
await_answer(struct wire *w, struct waiting *waiting)
{
	for (;;) {
		const struct answer *answer = wire_wait(w, waiting->next_ms);

		if (answer != NULL || w->ended) {
			return answer;
		}
		if (clock_ms() >= waiting->next_ms && !waiting_look(waiting, w->why, sizeof(w->why))) {
			return NULL;
		}
	}
}

/* Repeats the request until a daemon has answered, which may be the next one after a restart. A signal ends
 * the process; its connection closes, and that ends the wait. */
static const struct answer *
await_open(struct wire *w, const struct options *o, const struct address *a)
{
	const struct answer *answer;
	struct waiting waiting;
	int64_t sent_ms;

	waiting_start(&waiting, o, a, clock_ms());
	for (;;) {
		answer = NULL;
		sent_ms = 0;
		if (wire_open(w, a)) {
			sent_ms = clock_ms();
			wire_greet(w, a, "holdfast");
			ask_await(w, o, waiting_left_ms(&waiting));
			answer = wire_welcome(w, a);
			if (answer != NULL && answer->type != ANSWER_ERROR) {
				answer = await_answer(w, &waiting);
			}
		}
		if (!take_away(w, answer) ||
			!waiting_daemon(&waiting, answer == NULL ? w->why : NULL, sent_ms)) {
			return answer;
		}
		wire_close(w);
	}
}

int
task_await(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer = await_open(&wire, o, a);
	char what[NAME_BYTES_MAX + 32];
	int status = STATUS_DONE;

	if (answer != NULL && answer->type == ANSWER_NULL) {
		status = (int)o->busy_status;
		if (!o->quiet) {
			message("the latch %s is still closed%s", o->name,
				o->wait_ms > 0 ? ", and the wait is over" : "");
		}
	} else if (answer == NULL || answer->type != ANSWER_INT) {
		(void)snprintf(what, sizeof(what), "cannot wait for the latch %s", o->name);
		status = take_refusal(&wire, answer, what);
	} else if (o->json) {
		status = json_output_print("{s:s, s:b}", "name", o->name, "open", true);
	}
	wire_close(&wire);
	return status;
}
