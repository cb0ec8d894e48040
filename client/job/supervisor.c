/*
 * supervisor: the wrapper's side of the supervisor process, and the process itself.
 *
 * It starts the command, reaps its descendants, and ends when the last descendant is gone. The lock's session
 * is bound to it, so that the next holder may start then. It has a process group of its own, so that signals
 * to the wrapper's group do not end it. It communicates only with the wrapper, and has neither the daemon's
 * socket nor the terminal.
 */
#include "client/job/supervisor.h"

#include "client/job/run.h"
#include "client/job/tether.h"
#include "client/message.h"
#include "client/process.h"
#include "client/wire/deadline.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long to wait if /proc could not be read, or changed while it was read. */
#define UNSURE_MS 5

enum watched { WATCH_CONTROL, WATCH_CHILDREN, WATCH_TIMER, WATCH_MEMBER, WATCH_TETHER, WATCH_COUNT };

struct supervision {
	struct descendants descendants;
	pid_t child;
	bool child_ended;
	bool orphaned; /* the wrapper is gone: stop the descendants, then end */
	bool killing;  /* send KILL until no descendant is left */
	bool gone;     /* no descendant is left */
	bool paused;   /* the wrapper has ordered STOP, and no CONT since */
	bool followed; /* the wrapper was stopped together with the command */
	int wrapper;   /* its pidfd */
	int tether;    /* its writing end; -1: there is none */
	int64_t kill_after_ms;
	int64_t limit_ms;
	int64_t kill_at_ms; /* INT64_MAX: not yet decided */
	int64_t scan_at_ms; /* when to scan the descendants again; INT64_MAX: when a process ends */
	struct pollfd fds[WATCH_COUNT];
};

/* Waits for a byte. False: whoever writes it has ended. */
static bool
byte_read(int fd)
{
	ssize_t n;
	char byte;

	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Runs in the new process, and executes the command, if the supervisor has left its old group and the wrapper
 * says so: a signal to that group must not end the supervisor of a command that runs. */
static _Noreturn void
child_run(const struct supervisor_plan *plan, const int left[2], int go, pid_t parent)
{
	int error;

	(void)close(left[1]);
	if (!plan->shared) {
		(void)setpgid(0, 0);
	}
	/* The session ends with the supervisor, and so must its command. The supervisor may have ended before
	 * this call. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
		_exit(STATUS_INTERNAL);
	}
	if (!byte_read(left[0]) || !byte_read(go)) {
		_exit(STATUS_INTERNAL);
	}
	if (plan->child_ignored) {
		(void)signal(SIGCHLD, SIG_IGN);
	}
	(void)sigprocmask(SIG_SETMASK, &plan->mask, NULL);
	tether_inherit(&plan->tether);
	(void)execvp(plan->command[0], plan->command);
	error = errno;
	(void)fprintf(stderr, "holdfast: cannot run %s: %s\n", plan->command[0], strerror(error));
	_exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

static void
news_send(const struct supervision *s, enum news_type type, pid_t pid, int value)
{
	const struct news news = {type, pid, value};

	(void)send(s->fds[WATCH_CONTROL].fd, &news, sizeof(news), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Keeps only the control socket, as descriptor 3, and the writing end of the tether, so that inherited pipes
 * do not remain open in the supervisor. */
static int
descriptors_drop(int control, int *tether)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept = 4;

	for (int fd = 0; fd <= 2 && null >= 0; fd++) {
		(void)dup2(null, fd);
	}
	if (control != 3) {
		(void)dup3(control, 3, O_CLOEXEC);
	}
	if (*tether >= 0) {
		if (*tether != TETHER_WATCH_FD) {
			(void)dup3(*tether, TETHER_WATCH_FD, O_CLOEXEC);
		}
		*tether = TETHER_WATCH_FD;
		kept++;
	}
	(void)syscall(SYS_close_range, kept, ~0U, 0); /* musl has no function for it */
	return 3;
}

static void
member_forget(struct supervision *s)
{
	if (s->fds[WATCH_MEMBER].fd >= 0) {
		(void)close(s->fds[WATCH_MEMBER].fd);
	}
	s->fds[WATCH_MEMBER].fd = -1;
}

static void
descendants_gone(struct supervision *s)
{
	s->gone = true;
	if (!s->orphaned) {
		news_send(s, NEWS_GONE, s->child, 0);
	}
}

/* Of the command's group no process is left. One that has left it may still have the tether. */
static void
group_gone(struct supervision *s)
{
	if (tether_holds(s->tether)) {
		s->fds[WATCH_TETHER].fd = s->tether;
	} else {
		descendants_gone(s);
	}
}

static void
wrapper_signal(const struct supervision *s, int signal)
{
	(void)syscall(SYS_pidfd_send_signal, s->wrapper, signal, NULL, 0);
}

/*
 * In a terminal's foreground the shell waits for the wrapper. So the wrapper has to stop together with a
 * command that stops itself (suspend), and continue with it. Both signals come from here, so that they arrive
 * in order. After a key of the terminal the wrapper stops by itself, and the shell continues it.
 */
static void
command_stopped(struct supervision *s, int signal)
{
	if (signal != SIGSTOP || !s->descendants.shared) {
		news_send(s, NEWS_STOPPED, s->child, signal);
	} else if (!s->paused) {
		s->followed = true;
		wrapper_signal(s, SIGSTOP);
	}
}

/* The shell continues the wrapper's group. A command that is a shell itself has a group of its own. */
static void
wrapper_continued(struct supervision *s)
{
	if (s->followed && !s->child_ended) {
		s->followed = false;
		(void)kill(s->child, SIGCONT);
	}
}

static void
command_continued(struct supervision *s)
{
	if (s->followed) {
		s->followed = false;
		wrapper_signal(s, SIGCONT);
	}
}

/* Reaps all children that have ended. Returns their number; -1: no children are left. */
static int
reap(struct supervision *s)
{
	int status;
	int count = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			if (pid == s->child && WIFSTOPPED(status)) {
				command_stopped(s, WSTOPSIG(status));
			} else if (pid == s->child) {
				command_continued(s);
			}
			continue;
		}
		count++;
		if (pid == s->child) {
			s->child_ended = true;
			s->descendants.command = 0;
			command_continued(s);
			news_send(s, NEWS_EXIT, pid, status);
		}
	}
	return pid < 0 ? -1 : count;
}

/* Scans the descendants. If none is found, that is certain only if no process changed meanwhile. */
static enum descendants_rest
descendants_rest(struct supervision *s, int *pidfd)
{
	enum descendants_rest rest;

	do {
		rest = descendants_watch(&s->descendants, pidfd);
	} while (rest == DESCENDANTS_GONE && reap(s) > 0);
	return rest;
}

/* Called when a process has ended: checks whether a descendant is left, and watches one of them. */
static void
descendants_scan(struct supervision *s)
{
	s->scan_at_ms = INT64_MAX;
	member_forget(s);
	if (s->gone) {
		return;
	}
	if (reap(s) < 0) {
		group_gone(s);
		return;
	}
	if (!s->child_ended) {
		return;
	}
	if (s->killing) {
		(void)descendants_signal(&s->descendants, SIGKILL);
	}
	switch (descendants_rest(s, &s->fds[WATCH_MEMBER].fd)) {
	case DESCENDANTS_LIVES:
		break;
	case DESCENDANTS_GONE:
		group_gone(s);
		break;
	case DESCENDANTS_UNSURE:
		s->scan_at_ms = clock_ms() + UNSURE_MS;
		break;
	}
}

static void
kill_now(struct supervision *s)
{
	s->killing = true;
	s->kill_at_ms = INT64_MAX;
	(void)descendants_signal(&s->descendants, SIGKILL);
}

static void
order_follow(struct supervision *s, const struct order *order)
{
	if (order->type == ORDER_LIMIT) {
		s->limit_ms = order->limit_ms;
	} else if (order->type == ORDER_CONTINUED) {
		wrapper_continued(s);
	} else if (order->signal == SIGKILL) {
		kill_now(s);
	} else if (order->signal == SIGCONT && s->paused) {
		s->paused = false;
		descendants_continue(&s->descendants);
	} else {
		s->paused = s->paused || order->signal == SIGSTOP;
		(void)descendants_signal(&s->descendants, order->signal);
	}
}

/* The wrapper is gone, or lets the supervisor end because the descendants are gone. */
static void
wrapper_gone(struct supervision *s)
{
	s->orphaned = true;
	s->fds[WATCH_CONTROL].fd = -1;
	if (s->gone) {
		return;
	}
	s->kill_at_ms = clock_ms() + s->kill_after_ms;
	if (s->kill_at_ms > s->limit_ms) {
		s->kill_at_ms = s->limit_ms;
	}
	(void)descendants_signal(&s->descendants, SIGTERM);
	/* A stopped process would not handle it. */
	(void)descendants_signal(&s->descendants, SIGCONT);
}

static void
control_read(struct supervision *s)
{
	struct order order;
	ssize_t n = recv(s->fds[WATCH_CONTROL].fd, &order, sizeof(order), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(order)) {
		order_follow(s, &order);
	} else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
		wrapper_gone(s);
	}
}

static void
timer_set(const struct supervision *s)
{
	int64_t at = s->kill_at_ms < s->scan_at_ms ? s->kill_at_ms : s->scan_at_ms;

	(void)wakeup_set(s->fds[WATCH_TIMER].fd, at);
}

static void
turn(struct supervision *s)
{
	struct signalfd_siginfo info;
	int64_t now;

	timer_set(s);
	if (poll(s->fds, WATCH_COUNT, -1) < 0) {
		return;
	}
	if (s->fds[WATCH_CONTROL].fd >= 0 && s->fds[WATCH_CONTROL].revents != 0) {
		control_read(s);
	}
	if (s->fds[WATCH_CHILDREN].revents != 0) {
		/* One record may stand for many children: all of them are reaped below. */
		while (read(s->fds[WATCH_CHILDREN].fd, &info, sizeof(info)) > 0) {
		}
	}
	now = clock_ms();
	if (now >= s->kill_at_ms) {
		kill_now(s);
	}
	if (s->fds[WATCH_CHILDREN].revents != 0 || s->fds[WATCH_MEMBER].revents != 0 ||
		s->fds[WATCH_TETHER].revents != 0 || now >= s->scan_at_ms) {
		s->fds[WATCH_TETHER].fd = -1;
		descendants_scan(s);
	}
}

static bool
supervision_open(struct supervision *s, int control)
{
	sigset_t children;

	(void)sigemptyset(&children);
	(void)sigaddset(&children, SIGCHLD);
	s->fds[WATCH_CONTROL] = (struct pollfd){descriptors_drop(control, &s->tether), POLLIN, 0};
	s->fds[WATCH_CHILDREN] =
		(struct pollfd){signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0};
	s->fds[WATCH_TIMER] = (struct pollfd){wakeup_open(), POLLIN, 0};
	s->fds[WATCH_MEMBER] = (struct pollfd){-1, POLLIN, 0};
	s->fds[WATCH_TETHER] = (struct pollfd){-1, 0, 0};
	/* If the wrapper has ended already, its pid may be reused, and must not be signalled. */
	s->wrapper = descendants_pidfd(getppid());
	return s->wrapper >= 0 && s->fds[WATCH_CHILDREN].fd >= 0 && s->fds[WATCH_TIMER].fd >= 0;
}

_Noreturn void
supervise(const struct supervisor_plan *plan, int control, int go)
{
	pid_t self = getpid();
	int left[2] = {-1, -1};
	int error;
	struct supervision s = {.tether = plan->tether.watch,
		.kill_after_ms = plan->kill_after_ms,
		.limit_ms = plan->limit_ms,
		.kill_at_ms = INT64_MAX,
		.scan_at_ms = INT64_MAX};

	s.descendants = (struct descendants){
		.group = getpgrp(), .root = self, .shared = plan->shared, .pipe = plan->tether.inode};
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	s.child = pipe2(left, O_CLOEXEC) == 0 ? fork() : -1;
	error = errno;
	if (s.child == 0) {
		child_run(plan, left, go, self);
	}
	s.descendants.command = s.child;
	if (s.child > 0 && !plan->shared) {
		/* Parent and child both do this, so that it is done before either continues. */
		(void)setpgid(s.child, s.child);
		s.descendants.group = s.child;
	}
	/* Only after the fork, because the command may have to stay in our old group. With a parent in its
	 * session, that group, stopped by ^Z, would also not be hung up when the shell is gone. */
	(void)(plan->shared ? setsid() : setpgid(0, 0));
	(void)!write(left[1], "!", 1);
	if (!supervision_open(&s, control) || s.child < 0) {
		news_send(&s, NEWS_FAILED, 0, s.child < 0 ? error : errno);
		_exit(STATUS_INTERNAL);
	}
	news_send(&s, NEWS_STARTED, s.child, 0);
	while (!s.gone || !s.orphaned) {
		turn(&s);
	}
	_exit(STATUS_DONE);
}

/* ---- the wrapper's side ---- */

static void
close_pair(const int pair[2])
{
	(void)close(pair[0]);
	(void)close(pair[1]);
}

bool
supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
{
	int control[2];
	int go[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
		return false;
	}
	if (pipe2(go, O_CLOEXEC) != 0) {
		close_pair(control);
		return false;
	}
	*s = (struct supervisor){fork(), -1, control[0], go[1]};
	if (s->pid == 0) {
		(void)close(control[0]);
		(void)close(go[1]);
		supervise(plan, control[1], go[0]);
	}
	(void)close(control[1]);
	(void)close(go[0]);
	if (s->pid > 0) {
		/* The supervisor is our unreaped child, so the pid cannot be reused. */
		s->pidfd = descendants_pidfd(s->pid);
	}
	if (s->pid < 0 || s->pidfd < 0) {
		int error = errno;

		(void)close(s->control);
		(void)close(s->go);
		errno = error;
		return false;
	}
	return true;
}

void
supervisor_go(struct supervisor *s)
{
	ssize_t n = write(s->go, "!", 1);

	/* If the command was killed already, the news says so. */
	(void)n;
	(void)close(s->go);
	s->go = -1;
}

static void
order_send(struct supervisor *s, struct order order)
{
	/* If the supervisor is gone, the news says so. */
	(void)send(s->control, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
supervisor_signal(struct supervisor *s, int signal)
{
	order_send(s, (struct order){.type = ORDER_SIGNAL, .signal = signal});
}

void
supervisor_continued(struct supervisor *s)
{
	order_send(s, (struct order){.type = ORDER_CONTINUED});
}

void
supervisor_limit(struct supervisor *s, int64_t limit_ms)
{
	order_send(s, (struct order){.type = ORDER_LIMIT, .limit_ms = limit_ms});
}

bool
supervisor_read(struct supervisor *s, struct news *news)
{
	ssize_t n = recv(s->control, news, sizeof(*news), 0);

	if (n == (ssize_t)sizeof(*news)) {
		return true;
	}
	if (n < 0 && errno == EINTR) {
		return false;
	}
	*news = (struct news){.type = NEWS_LOST, .pid = s->pid};
	return true;
}

void
supervisor_finish(struct supervisor *s)
{
	(void)close(s->control);
	if (s->go >= 0) {
		(void)close(s->go);
	}
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	(void)close(s->pidfd);
}

/* How often processes with the tether that cannot be watched are scanned for. */
#define TETHER_SCAN_MS 20

void
supervisor_kill_orphans(const struct supervisor_plan *plan, pid_t child, bool child_ended)
{
	const struct descendants descendants = {.group = plan->shared ? getpgrp() : child,
		.root = getpid(),
		.shared = plan->shared,
		.command = child_ended ? 0 : child,
		.pipe = plan->tether.inode};
	int fd;

	while (child > 0) {
		enum descendants_rest rest;

		(void)descendants_signal(&descendants, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG) > 0) {
		}
		rest = descendants_watch(&descendants, &fd);
		if (rest == DESCENDANTS_LIVES) {
			struct pollfd p = {fd, POLLIN, 0};

			(void)poll(&p, 1, -1);
			(void)close(fd);
		} else if (rest == DESCENDANTS_GONE && !tether_holds(plan->tether.watch)) {
			break;
		} else if (rest == DESCENDANTS_GONE) {
			(void)poll(NULL, 0, TETHER_SCAN_MS);
		}
	}
}
