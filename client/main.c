/*
 * holdfast: the bundled client of holdfastd. Parses the command line, chooses the daemon's address, and calls
 * the verb.
 */
#include "client/address.h"
#include "client/completion.h"
#include "client/help.h"
#include "client/message.h"
#include "client/options.h"
#include "client/status.h"
#include "client/tasks.h"
#include "client/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
task_completion(const struct options *o, const struct address *a)
{
	(void)a;
	if (!completion_print(stdout, o->name)) {
		message("holdfast completion %s: bash, zsh or fish is allowed", o->name);
		return STATUS_USAGE;
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}

/* If a standard stream is closed, opens /dev/null, so that no later descriptor takes its place. */
static void
streams_complete(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0) {
		(void)close(fd);
	}
}

/* Tells people, not scripts, which of two daemons they use, because they may expect the other one. */
static void
tell_which(const struct options *o, const struct address *a)
{
	bool asked = o->verbose || o->task == TASK_PING || isatty(STDERR_FILENO) == 1;

	if (a->other != NULL && asked && !o->quiet && wire_listens(a->other)) {
		message("two daemons answer: this is yours at %s, not the system's at unix:%s; HOLDFAST_URL "
			"chooses",
			a->text, a->other);
	}
}

static int
perform(const struct options *o)
{
	static int (*const tasks[TASK_COUNT])(const struct options *o, const struct address *a) = {
		[TASK_RUN] = task_run,
		[TASK_LOCK] = task_lock,
		[TASK_UNLOCK] = task_unlock,
		[TASK_HOLD] = task_hold,
		[TASK_CHECK] = task_check,
		[TASK_LATCH] = task_latch,
		[TASK_AWAIT] = task_await,
		[TASK_LS] = task_ls,
		[TASK_SHOW] = task_show,
		[TASK_SESSIONS] = task_sessions,
		[TASK_WATCH] = task_watch,
		[TASK_PING] = task_ping,
		[TASK_HEALTH] = task_health,
		[TASK_INFO] = task_info,
		[TASK_BREAK] = task_break,
		[TASK_DRAIN] = task_drain,
		[TASK_MASTERS] = task_masters,
		[TASK_BENCH] = task_bench,
		[TASK_COMPLETION] = task_completion,
	};
	struct address address;
	char why[ADDRESS_TEXT_MAX];

	if (o->task != TASK_COMPLETION && !address_choose(&address, o->socket, getenv("HOLDFAST_URL"),
						  getenv("XDG_RUNTIME_DIR"), why)) {
		message("%s", why);
		return o->task == TASK_HEALTH ? STATUS_UNKNOWN
		       : o->socket != NULL    ? STATUS_USAGE
					      : STATUS_CONFIG;
	}
	if (o->task != TASK_COMPLETION) {
		tell_which(o, &address);
	}
	return tasks[o->task](o, &address);
}

int
main(int argc, char **argv)
{
	struct options options;
	char why[OPTIONS_TEXT_MAX];

	streams_complete();
	if (!options_parse(&options, argc, argv, why)) {
		message("%s", why);
		return STATUS_USAGE;
	}
	if (options.help) {
		help_print(stdout, options.task);
	} else if (options.version) {
		(void)puts("holdfast " HOLDFAST_VERSION);
	} else {
		return perform(&options);
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}
