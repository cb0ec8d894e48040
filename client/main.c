/*
 * holdfast: the bundled client of holdfastd. Parses the command line, chooses the daemon's address, and calls
 * the verb.
 */
#include "client/help.h"
#include "client/message.h"
#include "client/options.h"
#include "client/wire/address.h"
#include "client/wire/wire.h"
#include "client/wire/wire_tls.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Tells people, not scripts, which of two daemons they use, because they may expect the other one. Scripts
 * are told as well where the other one is not taken and this one is not there. */
static void
tell_which(const struct options *o, const struct address *a)
{
	bool asked = o->verbose || o->task == TASK_PING || isatty(STDERR_FILENO) == 1;

	if (a->other != NULL && asked && !o->quiet && wire_listens(a->other)) {
		message("two daemons answer: this is yours at %s, not the system's at unix:%s; HOLDFAST_URL "
			"chooses",
			a->text, a->other);
	}
	if (a->passed != NULL && !o->quiet && (asked || !wire_listens(a->path))) {
		message("$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, %s; this is the system's at "
			"%s; HOLDFAST_URL chooses",
			a->passed, a->text);
	}
}

/*
 * Becomes holdfast-tls, which is this program with OpenSSL. OpenSSL would make each start take six times as
 * long, and most daemons are reached without it. It is beside this program, or in the directory that is
 * installed for it. Returns the exit status if it is not there.
 */
static int
become_tls(const struct address *a, char **argv)
{
	static const char *const places[] = {"%.*s/holdfast-tls", "%.*s/../lib/holdfast/holdfast-tls"};
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
	const char *slash = n > 0 ? memrchr(self, '/', (size_t)n) : NULL;

	for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
		(void)snprintf(path, sizeof(path), places[i], (int)(slash - self), self);
		(void)execv(path, argv);
	}
	message("%s: the program holdfast-tls is missing, with which holdfast speaks TLS: install holdfast "
		"anew",
		a->text);
	return STATUS_CONFIG;
}

static int
perform(const struct options *o, char **argv)
{
	static int (*const tasks[TASK_COUNT])(const struct options *o, const struct address *a) = {
#define TASK(id, word, arguments, summary, about) [TASK_##id] = task_##word,
#include "client/options.def"
#undef TASK
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
	if (o->task != TASK_COMPLETION && address.tls && !wire_can_tls()) {
		return become_tls(&address, argv);
	}
	if (o->task != TASK_COMPLETION) {
		tell_which(o, &address);
	}
	return tasks[o->task](o, &address);
}

/* These come from a fault in the program, too. */
static bool
is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

static void
end_by(int number, siginfo_t *info, void *context)
{
	(void)context;
	/* A fault comes again, and then the kernel ends the process, with a core. */
	if (is_fault(number) && info->si_code > 0) {
		(void)signal(number, SIG_DFL);
		return;
	}
	_exit(128 + number);
}

static bool
ends_by_default(int signal)
{
	switch (signal) {
	case SIGKILL: /* cannot be handled */
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGCONT:
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return false;
	default:
		return true;
	}
}

/*
 * As process 1, as in a container: the kernel ignores each signal that would end another process by default,
 * and orphans of the container become children of this process. The kernel reaps them; run does it itself
 * while it has a supervisor.
 */
static void
process_one(void)
{
	struct sigaction reap = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
	struct sigaction end = {.sa_sigaction = end_by, .sa_flags = SA_SIGINFO};
	struct sigaction now;

	for (int i = 1; i <= SIGRTMAX; i++) {
		if (ends_by_default(i) && sigaction(i, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
			(void)sigaction(i, &end, NULL);
		}
	}
	if (sigaction(SIGCHLD, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
		(void)sigaction(SIGCHLD, &reap, NULL);
	}
}

int
main(int argc, char **argv)
{
	struct options options;
	char why[OPTIONS_TEXT_MAX];

	if (getpid() == 1) {
		process_one();
	}
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
		return perform(&options, argv);
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}
