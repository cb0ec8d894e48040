/*
 * child: see child.h.
 */
#include "daemon/base/child.h"

#include "daemon/base/fd_copy.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_UNKNOWN (255 << 8) /* this process could not read the status: the program counts as failed */

/* ---- a program ---- */

/* Other libraries than glibc since 2.34 leave it to close-on-exec. 0, or the number of an error. */
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
#define CAN_CLOSE_REST
#endif
#endif

static int
files_close_rest(posix_spawn_file_actions_t *files, int from)
{
#ifdef CAN_CLOSE_REST
	return posix_spawn_file_actions_addclosefrom_np(files, from);
#else
	(void)files;
	(void)from;
	return 0;
#endif
}

/* A program that was killed has so long to end. One that a debugger keeps, or a disk that does not answer, is
 * then left behind. */
#define LEFT_MS 1000

struct child {
	struct event ends;   /* of pidfd, which becomes readable when the program has ended */
	struct event output; /* of said */
	struct timeout *limit;
	int64_t most_ms;
	pid_t pid;
	int pidfd;
	int said;                                     /* the end of the pipe that its output goes to */
	char first[CHILD_WHY_MAX - CHILD_STATUS_MAX]; /* of what it wrote, without an end */
	size_t first_n;
	bool late;
	bool reaped;
	int status;
	child_ended *ended;
	void *arg;
};

void
child_status_text(int status, char text[CHILD_STATUS_MAX])
{
	if (WIFSIGNALED(status))
		snprintf(text, CHILD_STATUS_MAX, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, CHILD_STATUS_MAX, "exit status %d", WEXITSTATUS(status));
}

/* Until its status is read, no other process or process group can have its number. A program that has left
 * its group is killed by its own number. */
static void
child_kill(const struct child *child)
{
	if (child->reaped || child->pid <= 0)
		return;
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
}

/* Never waits: a process that was killed need not end soon, and one that is traced has no status for us. */
static void
child_reap(struct child *child)
{
	pid_t reaped;

	if (child->reaped || child->pid <= 0)
		return;
	do {
		reaped = waitpid(child->pid, &child->status, WNOHANG);
	} while (reaped < 0 && errno == EINTR);
	if (reaped != child->pid)
		child->status = STATUS_UNKNOWN;
	child->reaped = reaped != 0;
}

bool
child_reaped(struct child *child, pid_t pid, int status)
{
	if (child->reaped || pid != child->pid)
		return false;
	child->reaped = true;
	child->status = status;
	return true;
}

/* What comes behind the beginning is read and dropped: so the program can go on, and cannot fill the memory
 * of this process. */
static void
child_hear(struct child *child)
{
	char rest[16384];
	size_t room = sizeof child->first - 1 - child->first_n;
	ssize_t n = read(
		child->said, room > 0 ? child->first + child->first_n : rest, room > 0 ? room : sizeof rest);

	if (n > 0 && room > 0)
		child->first_n += (size_t)n;
	else if (n == 0)
		event_del(&child->output);
}

static void
child_said(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	child_hear(arg);
}

static char *
child_first_line(struct child *child)
{
	char *line = child->first;

	for (size_t i = 0; i < child->first_n; i++)
		if (line[i] == '\0')
			line[i] = ' ';
	line[child->first_n] = '\0';
	line += strspn(line, "\n");
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* The hook frees the child: nothing of it is used afterwards. */
static void
child_tell(struct child *child)
{
	char how[CHILD_STATUS_MAX] = "", failed[CHILD_WHY_MAX];
	const char *line;

	child_hear(child);
	line = child_first_line(child);
	if (child->late)
		snprintf(how, sizeof how, "it had not ended after %lld ms", (long long)child->most_ms);
	else if (child->status != 0)
		child_status_text(child->status, how);
	snprintf(failed, sizeof failed, "%s%s%s", how, line[0] != '\0' ? ": " : "", line);
	child->ended(child->arg, how[0] != '\0' ? failed : NULL);
}

/* What it has started ends with it. */
static void
child_came(evutil_socket_t fd, short what, void *arg)
{
	struct child *child = arg;

	(void)fd;
	(void)what;
	child_kill(child);
	child_reap(child);
	child_tell(child);
}

static void
child_is_late(void *arg)
{
	struct child *child = arg;

	if (child->late) {
		child_tell(child);
		return;
	}
	child->late = true;
	child_kill(child);
	timeout_set(child->limit, LEFT_MS);
}

/* Its descriptors. Those of this process are closed first of all, and not only when the program begins: if
 * this process is killed meanwhile, the next one needs its sockets and locks. 0, or the number of an error.
 */
static int
child_files(posix_spawn_file_actions_t *files, int said, int given)
{
	int failed;

	if (!(failed = posix_spawn_file_actions_adddup2(files, said, STDOUT_FILENO)) &&
		!(failed = posix_spawn_file_actions_adddup2(files, said, STDERR_FILENO)) &&
		!(failed = posix_spawn_file_actions_adddup2(files, given, CHILD_GIVEN)) &&
		!(failed = files_close_rest(files, CHILD_GIVEN + 1)))
		failed = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	return failed;
}

/* Signals that this process ignores or blocks are as usual for the program. 0, or the number of an error. */
static int
child_spawn(struct child *child, const char *path, char *const argv[], int said, int given)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, ignored;
	int failed = posix_spawn_file_actions_init(&files);

	if (failed)
		return failed;
	failed = posix_spawnattr_init(&attributes);
	if (failed) {
		posix_spawn_file_actions_destroy(&files);
		return failed;
	}
	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	sigaddset(&ignored, SIGXFSZ);
	if (!(failed = child_files(&files, said, given)) &&
		!(failed = posix_spawnattr_setsigmask(&attributes, &none)) &&
		!(failed = posix_spawnattr_setsigdefault(&attributes, &ignored)) &&
		!(failed = posix_spawnattr_setflags(&attributes,
			  POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)))
		failed = posix_spawn(&child->pid, path, &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	if (failed)
		child->pid = 0;
	return failed;
}

/* False with errno. */
static bool
child_begin(struct child *child, struct event_base *base, const char *path, char *const argv[], int given)
{
	struct fd_copy copy;
	int ends[2], failed;

	child->limit = timeout_new(base, child_is_late, child);
	if (!child->limit || pipe2(ends, O_CLOEXEC) != 0)
		return false;
	child->said = ends[0];
	(void)fcntl(child->said, F_SETFL, O_NONBLOCK);
	/* The child closes its descriptors, and this thread waits until then. */
	fd_copy_keep(&copy);
	failed = child_spawn(child, path, argv, ends[1], given);
	fd_copy_end(&copy);
	close(ends[1]);
	if (failed) {
		errno = failed;
		return false;
	}
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0)
		return false;
	event_assign(&child->ends, base, child->pidfd, EV_READ, child_came, child);
	event_assign(&child->output, base, child->said, EV_READ | EV_PERSIST, child_said, child);
	if (event_add(&child->ends, NULL) != 0 || event_add(&child->output, NULL) != 0) {
		errno = ENOMEM;
		return false;
	}
	timeout_set(child->limit, child->most_ms);
	return true;
}

struct child *
child_run(struct event_base *base, const char *path, char *const argv[], int given, int64_t most_ms,
	child_ended *ended, void *arg)
{
	struct child *child = calloc(1, sizeof *child);
	int why;

	if (!child)
		return NULL;
	child->pidfd = child->said = -1;
	child->most_ms = most_ms;
	child->ended = ended;
	child->arg = arg;
	if (child_begin(child, base, path, argv, given))
		return child;
	why = errno;
	child_free(child);
	errno = why;
	return NULL;
}

/* What was killed ends at once as a rule. Its status stays behind if it does not. */
static void
child_await(const struct child *child)
{
	struct pollfd ends = {.fd = child->pidfd, .events = POLLIN};

	if (!child->reaped && child->pidfd >= 0)
		(void)poll(&ends, 1, LEFT_MS);
}

void
child_free(struct child *child)
{
	if (!child)
		return;
	if (event_initialized(&child->ends)) {
		event_del(&child->ends);
		event_del(&child->output);
	}
	timeout_free(child->limit);
	child_kill(child);
	child_await(child);
	child_reap(child);
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->said >= 0)
		close(child->said);
	free(child);
}

/* ---- orphans ---- */

struct reaper {
	struct event *ended;
	child_known *known;
	void *arg;
	struct log *log;
};

/* One signal may be for several children. */
static void
reaper_reap(struct reaper *reaper)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (reaper->known(reaper->arg, pid, status))
			continue;
		LOG_EVENT(reaper->log, LOG_DEBUG_LEVEL, "orphan.reaped", log_number("pid", pid),
			log_number("status", status));
	}
}

static void
reaper_on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	reaper_reap(arg);
}

struct reaper *
reaper_new(struct event_base *base, child_known *known, void *arg, struct log *log)
{
	struct reaper *reaper = calloc(1, sizeof *reaper);

	if (!reaper)
		return NULL;
	reaper->known = known;
	reaper->arg = arg;
	reaper->log = log;
	reaper->ended = evsignal_new(base, SIGCHLD, reaper_on_signal, reaper);
	if (!reaper->ended || event_add(reaper->ended, NULL) != 0) {
		reaper_free(reaper);
		return NULL;
	}
	reaper_reap(reaper); /* children that ended before sent no signal */
	return reaper;
}

void
reaper_free(struct reaper *reaper)
{
	if (!reaper)
		return;
	if (reaper->ended)
		event_free(reaper->ended);
	free(reaper);
}
