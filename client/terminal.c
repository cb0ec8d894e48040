/*
 * terminal: asks /dev/tty, and does to this process what the terminal did to its command.
 */
#include "client/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

bool
terminal_foreground(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool foreground;

	if (fd < 0) {
		return false;
	}
	foreground = tcgetpgrp(fd) == getpgrp();
	(void)close(fd);
	return foreground;
}

void
terminal_stop(int signal)
{
	sigset_t set;
	sigset_t before;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, signal);
	(void)raise(signal);
	(void)sigprocmask(SIG_UNBLOCK, &set, &before);
	/* Here we are continued. */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void
terminal_interrupted(void)
{
	const struct rlimit none = {0, 0};
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(SIGINT, SIG_DFL);
	(void)raise(SIGINT);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
