/*
 * terminal: uses /dev/tty, and sends this process the signal that the terminal sent its command.
 */
#include "client/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* The controlling terminal, or -1. */
static int
terminal_open(void)
{
	return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool
terminal_exists(void)
{
	int fd = terminal_open();

	if (fd >= 0) {
		(void)close(fd);
	}
	return fd >= 0;
}

bool
terminal_foreground(void)
{
	int fd = terminal_open();
	bool foreground;

	if (fd < 0) {
		return false;
	}
	foreground = tcgetpgrp(fd) == getpgrp();
	(void)close(fd);
	return foreground;
}

void
terminal_give(pid_t group)
{
	int fd = terminal_open();
	sigset_t set;
	sigset_t before;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	/* A call from the background would stop us with TTOU. */
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	if (fd >= 0) {
		(void)tcsetpgrp(fd, group);
		(void)close(fd);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

bool
terminal_stop(int signal, bool all)
{
	sigset_t set;
	sigset_t before;
	sigset_t pending;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, signal);
	(void)(all ? kill(0, signal) : raise(signal));
	(void)sigprocmask(SIG_UNBLOCK, &set, &before);
	/* This process was continued by a CONT that is blocked, and so still pending. */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)sigpending(&pending);
	return sigismember(&pending, SIGCONT) == 1;
}

void
terminal_interrupted(bool all)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(SIGINT, SIG_DFL);
	(void)(all ? kill(0, SIGINT) : raise(SIGINT));
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
