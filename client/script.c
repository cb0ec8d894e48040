/*
 * script: lock, unlock, check, latch and await, the verbs for use inside a script.
 *
 * The hold of lock belongs to a process, not to a connection: each verb sends SESSION BIND with the pidfd of
 * the process, and so joins the one session of that process.
 */
#include "client/lock.h"

#include "client/message.h"
#include "client/options.h"
#include "client/output.h"
#include "client/process.h"
#include "client/waiting.h"
#include "client/wire/hello.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pidfd of the process that owns the lock; -1: the reason was printed. *pid is set in any case. */
static int
owner_open(const struct options *o, int64_t *pid)
{
	int fd;

	*pid = o->pid > 0 ? o->pid : getppid();
	if (o->pid == 0 && *pid <= 1) {
		message("the parent process is gone: name the process that owns %s with --pid", o->name);
		return -1;
	}
	fd = descendants_pidfd((pid_t)*pid);
	if (fd < 0) {
		message("process %" PRId64 ": %s: name the process that owns %s with --pid", *pid,
			strerror(errno), o->name);
	}
	return fd;
}

static int
refuse_tcp(const struct options *o, const struct address *a)
{
	message("%s is not a Unix socket, so the daemon cannot see when the script ends: use holdfast run %s "
		"-- "
		"COMMAND",
		a->text, o->name);
	return STATUS_USAGE;
}

int
task_lock(const struct options *o, const struct address *a)
{
	struct wire wire;
	struct grant grant;
	char comm[PROCESS_PROGRAM_MAX];
	char label[WIRE_LABEL_MAX];
	struct taking taking = {.o = o, .a = a, .script = true, .label = label};
	int64_t pid;
	int status;

	if (a->tcp) {
		return refuse_tcp(o, a);
	}
	taking.pidfd = owner_open(o, &pid);
	if (taking.pidfd < 0) {
		return STATUS_USAGE;
	}
	process_program(pid, comm);
	wire_label(label, comm);
	if (take_lock(&wire, &taking, &grant, &status)) {
		if ((o->pid == 0 && !o->quiet) || o->verbose) {
			message("%s belongs to process %" PRId64 " (%s), and ends with it%s", o->name, pid,
				comm, o->pid == 0 ? "; --pid names another" : "");
		}
		status = take_report(o, &grant);
		if (status != STATUS_DONE) {
			/* The script will assume that it has no lock. */
			wire_ask(&wire, "UNLOCK", o->name);
			(void)wire_answer(&wire);
		}
	}
	wire_goodbye(&wire);
	return status;
}

/* Whether an outer `run` has this lock. */
static bool
run_is_around(const struct options *o)
{
	const char *name = getenv("HOLDFAST_NAME");

	return o->pid == 0 && name != NULL && getenv("HOLDFAST_SESSION") != NULL &&
	       strcmp(name, o->name) == 0;
}

/* Joins the script's session: that of the outer `run`, or that of a process. */
static int
session_join(struct wire *w, const struct options *o, const struct address *a, bool around)
{
	const struct answer *answer;
	int64_t pid;
	int pidfd;
	int status;

	if (a->tcp && !around) {
		return refuse_tcp(o, a);
	}
	status = take_hello(w, a, "holdfast");
	if (status != STATUS_DONE) {
		return status;
	}
	if (around) {
		wire_ask(w, "SESSION", "JOIN", getenv("HOLDFAST_SESSION"));
	} else {
		pidfd = owner_open(o, &pid);
		if (pidfd < 0) {
			return STATUS_USAGE;
		}
		(void)wire_bind(w, pidfd);
		(void)close(pidfd);
	}
	answer = wire_answer(w);
	/* The session of the outer run is gone, and with it the lock. */
	if (around && answer_is_error(answer, CODE_ERR)) {
		message("%s is lost: the daemon does not know the session of this run any more", o->name);
		return STATUS_LOST;
	}
	if (answer == NULL || answer->type == ANSWER_ERROR) {
		return take_refusal(w, answer, "cannot speak for the process");
	}
	return STATUS_DONE;
}

/* UNLOCK or CHECK, with or without TOKEN. */
static const struct answer *
ask(struct wire *w, const char *verb, const struct options *o)
{
	char token[NUMBER_TEXT_MAX];

	if (o->token > 0) {
		wire_ask(w, verb, o->name, "TOKEN", number_text(token, o->token));
	} else {
		wire_ask(w, verb, o->name);
	}
	return wire_answer(w);
}

int
task_unlock(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char what[NAME_BYTES_MAX + 32];
	int status = session_join(&wire, o, a, false);

	if (status == STATUS_DONE) {
		answer = ask(&wire, "UNLOCK", o);
		if (answer == NULL || answer->type != ANSWER_INT) {
			(void)snprintf(what, sizeof(what), "cannot unlock %s", o->name);
			status = take_refusal(&wire, answer, what);
		} else if (o->json) {
			status = json_output_print(
				"{s:s, s:I}", "name", o->name, "holds_left", (json_int_t)answer->n);
		}
	}
	wire_close(&wire);
	return status;
}

int
task_check(const struct options *o, const struct address *a)
{
	struct wire wire = {.fd = -1};
	const struct answer *answer;
	char what[NAME_BYTES_MAX + 32];
	/* The lock was held before if an outer run has taken it, or if a token is given. */
	bool around = run_is_around(o), was_held = around || o->token > 0;
	int status = session_join(&wire, o, a, around);

	if (status != STATUS_DONE) {
		wire_close(&wire);
		return status;
	}
	answer = ask(&wire, "CHECK", o);
	if (answer != NULL && (answer->type == ANSWER_INT || answer->type == ANSWER_NULL)) {
		bool held = answer->type == ANSWER_INT;

		status = held ? STATUS_DONE : was_held ? STATUS_LOST : STATUS_NO;
		if (o->json && json_output_print("{s:s, s:b, s:I}", "name", o->name, "held", held, "valid_ms",
				       (json_int_t)answer->n) != STATUS_DONE) {
			status = STATUS_INTERNAL;
		}
		if (!held && (was_held || o->verbose)) {
			message(was_held ? "%s is not held any more" : "%s is not held by this process",
				o->name);
		}
	} else {
		(void)snprintf(what, sizeof(what), "cannot be sure of %s", o->name);
		status = take_refusal(&wire, answer, what);
	}
	wire_close(&wire);
	return status;
}

/* ---- latch and await ---- */

static const struct answer *
ask_set(struct wire *w, const struct options *o)
{
	char lease[NUMBER_TEXT_MAX];

	if (o->lease_ms == 0) {
		wire_ask(w, "LATCH", o->name, "SET", o->words[1]);
	} else {
		wire_ask(w, "LATCH", o->name, "SET", o->words[1], "LEASE", number_text(lease, o->lease_ms));
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
	int status = take_hello(&wire, a, "holdfast");

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
		wire_ask(w, "LATCH", o->name, "AWAIT", "WAIT", number_text(wait, wait_ms));
	}
	(void)wire_flush(w);
}

/* Repeats the request until a daemon has answered, which may be the next one after a restart. A signal ends
 * the process; its connection closes, and that ends the wait. */
static const struct answer *
await_open(struct wire *w, const struct options *o, const struct address *a)
{
	const struct answer *answer;
	struct waiting waiting;

	waiting_start(&waiting, o, a, clock_ms());
	do {
		answer = NULL;
		if (wire_open(w, a)) {
			wire_hello(w, a, "holdfast");
			ask_await(w, o, waiting_left_ms(&waiting));
			waiting_hello(&waiting, w);
			answer = wire_welcome(w, a);
			if (answer != NULL && answer->type != ANSWER_ERROR) {
				answer = waiting_answer(&waiting, w);
			}
		}
	} while (waiting_again(&waiting, w, answer));
	return answer;
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
