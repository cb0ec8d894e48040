/*
 * tether: what every descendant of the command inherits, see run.h. run.c makes one before it starts the
 * supervisor, which watches it; client/process.c finds the processes that have it.
 */
#include "client/job/tether.h"

#include "client/job/run.h"
#include "client/lock.h"
#include "client/message.h"
#include "client/options.h"
#include "client/process.h"
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Scripts use the first descriptors, and shells keep those up to 63 for themselves. */
#define TETHER_FD_MIN 64

/* Before the next attempt to reach a daemon that is being restarted. */
#define AGAIN_MS 50

static const char *const tether_variable = "HOLDFAST_TETHER";

/* Moves a descriptor out of the way of scripts. The new one is close-on-exec. */
static int
descriptor_raise(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, TETHER_FD_MIN);

	if (high < 0) {
		return fd;
	}
	(void)close(fd);
	return high;
}

static void
descriptor_close(int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd);
	}
	*fd = -1;
}

/* Takes the socket out of a wire, and closes the rest of it. TLS says goodbye to /dev/null. */
static int
wire_take(struct wire *w)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd = null < 0 ? -1 : fcntl(w->fd, F_DUPFD_CLOEXEC, TETHER_FD_MIN);

	fd = fd < 0 && null >= 0 ? fcntl(w->fd, F_DUPFD_CLOEXEC, 3) : fd;
	if (fd >= 0) {
		(void)dup3(null, w->fd, O_CLOEXEC);
	}
	descriptor_close(&null);
	wire_close(w);
	return fd;
}

static int
tether_anchor(struct tether *t, const struct taking *taking, const struct grant *g)
{
	const struct answer *answer;
	struct wire w;
	int status;

	for (;;) {
		answer = take_join(&w, taking, g->secret, 2, (const char *const[]){"SESSION", "ANCHOR"});
		if (!take_away(&w, answer, false) || clock_ms() >= g->expire_ms) {
			break;
		}
		wire_close(&w);
		(void)poll(NULL, 0, AGAIN_MS);
	}
	if (answer != NULL && answer->type == ANSWER_STATUS) {
		t->anchor = wire_take(&w);
		return t->anchor >= 0 ? STATUS_DONE : STATUS_INTERNAL;
	}
	/* A daemon that does not know of anchors goes by the supervisor alone. */
	status = answer_is_error(answer, CODE_ERR)
			 ? STATUS_DONE
			 : take_refusal(&w, answer, "cannot tie the lock to the command");
	wire_close(&w);
	return status;
}

/* The tether of the run that this one is a part of. It may have been lost on the way: a program like sudo, or
 * Python's subprocess, closes what it has inherited. -1: there is none, or it may not be opened. */
static int
outer_open(void)
{
	const char *address = getenv(tether_variable);
	char path[64];
	int64_t pid, fd;
	size_t n = address != NULL ? strcspn(address, "/") : 0;
	struct stat what;
	int outer;

	if (address == NULL || address[n] != '/' ||
		!number_parse((struct slice){address, n}, 1, INT32_MAX, &pid) ||
		!number_parse(slice_of(address + n + 1), 0, INT32_MAX, &fd)) {
		return -1;
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)fd);
	if (stat(path, &what) != 0 || !S_ISFIFO(what.st_mode)) {
		return -1;
	}
	outer = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return outer < 0 ? -1 : descriptor_raise(outer);
}

static bool
tether_open(struct tether *t, bool nested)
{
	struct stat what;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0) {
		return false;
	}
	t->pipe = descriptor_raise(ends[0]);
	t->watch = descriptor_raise(ends[1]);
	t->outer = nested ? outer_open() : -1;
	t->inode = fstat(t->pipe, &what) == 0 ? what.st_ino : 0;
	return true;
}

int
tether_make(struct tether *t, const struct taking *taking, const struct grant *g, bool nested)
{
	*t = TETHER_NONE;
	if (taking->o->close) {
		return STATUS_DONE;
	}
	if (!tether_open(t, nested)) {
		message("cannot start the command: %s", strerror(errno));
		return STATUS_INTERNAL;
	}
	return tether_anchor(t, taking, g);
}

void
tether_inherit(const struct tether *t)
{
	const int fds[] = {t->pipe, t->anchor, t->outer};
	char address[64];

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0) {
			(void)fcntl(fds[i], F_SETFD, 0);
		}
	}
	if (t->watch >= 0) {
		(void)snprintf(address, sizeof(address), "%d/%d", (int)getppid(), TETHER_WATCH_FD);
		(void)setenv(tether_variable, address, 1);
	}
}

void
tether_leave(struct tether *t)
{
	descriptor_close(&t->pipe);
	descriptor_close(&t->anchor);
}

bool
tether_holds(int watch)
{
	struct pollfd p = {watch, 0, 0};

	/* The writing end of a pipe that nobody can read has an error. */
	return watch >= 0 && poll(&p, 1, 0) == 0;
}

void
tether_close(struct tether *t)
{
	tether_leave(t);
	descriptor_close(&t->watch);
	descriptor_close(&t->outer);
}
