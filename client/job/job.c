/*
 * job: stops and continues the command with this process, and lends it the terminal. It uses /dev/tty, and
 * sends this process the signal that the terminal sent its command.
 */
#include "client/job/job.h"

#include "client/job/run.h"
#include "client/job/supervisor.h"

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

/* Whether this process has a controlling terminal. */
static bool
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

/* Makes a process group of this session the foreground group. */
static void
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

void
job_start(struct job *j, struct supervisor *s, bool shared)
{
	*j = (struct job){.supervisor = s, .shared = shared};
}

/* A stopped process gets such a signal only when it is continued. */
static bool
may_end(int signal)
{
	return signal != SIGTSTP && signal != SIGSTOP && signal != SIGWINCH;
}

static bool
by_terminal(int signal)
{
	return signal == SIGTTIN || signal == SIGTTOU;
}

/* Stops our group, as the terminal would have done if there were only one group. A TSTP for the command alone
 * stops this process alone. */
static void
stop_with(struct job *j, int signal)
{
	bool all = j->has_terminal || by_terminal(signal);

	if (j->has_terminal) {
		terminal_give(getpgrp());
		j->has_terminal = false;
	}
	if (terminal_stop(signal, all) || !by_terminal(signal)) {
		return;
	}
	/* Our group is orphaned, so no shell can continue us. The kernel sends HUP to such a group, too. */
	supervisor_signal(j->supervisor, SIGHUP);
	j->continues = true;
}

void
job_signal(struct job *j, int signal)
{
	if (signal != SIGCONT) {
		supervisor_signal(j->supervisor, signal);
	}
	j->continues = j->continues || may_end(signal);
	/* The command is stopped already, so there will be no news of a stop. */
	if (signal == SIGTSTP && j->stopped && terminal_exists()) {
		stop_with(j, signal);
	}
}

void
job_stopped(struct job *j, int signal)
{
	/* STOP was sent to the command alone, and CONT will be, too. In a terminal's foreground the
	 * supervisor stops and continues us together with the command. */
	if (signal == SIGSTOP) {
		return;
	}
	if (j->shared) {
		(void)terminal_stop(signal, false);
		return;
	}
	j->stopped = true;
	j->wants_terminal = j->wants_terminal || by_terminal(signal);
	if (!terminal_exists()) {
		return;
	}
	if (by_terminal(signal) && terminal_foreground()) {
		j->continues = true;
	} else {
		stop_with(j, signal);
	}
}

void
job_pause(struct job *j)
{
	supervisor_signal(j->supervisor, SIGSTOP);
	j->continues = j->continues || !j->stopped;
}

void
job_continue(struct job *j)
{
	if (!j->continues) {
		return;
	}
	if (j->wants_terminal && j->command > 0 && terminal_foreground()) {
		terminal_give(j->command);
		j->has_terminal = true;
	}
	supervisor_signal(j->supervisor, SIGCONT);
	j->continues = false;
	j->stopped = false;
}

void
job_end(struct job *j)
{
	if (j->has_terminal) {
		terminal_give(getpgrp());
	}
}
