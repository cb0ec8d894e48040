/*
 * passing: see passing.h.
 */
#include "daemon/net/passing.h"

#include "daemon/base/clock.h"
#include "daemon/base/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* If no more numbers than these are left, or a quarter of all, there may be too few for what a message can
 * carry. */
#define FEW_NUMBERS  1024
#define FEW_CHECK_MS 1000

/* ---- numbers ---- */

static void
numbers_limit(struct passing *passing)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		limit.rlim_cur = 0;
	passing->counted = true;
	passing->few_from = limit.rlim_cur > 4 * FEW_NUMBERS ? limit.rlim_cur - FEW_NUMBERS : 0;
}

void
passing_saw(struct passing *passing, int fd)
{
	if (!passing->counted)
		numbers_limit(passing);
	if ((fd < 0 || (uint64_t)fd >= passing->few_from) && !passing->few) {
		passing->few = true;
		passing->check_at_ms = clock_ms() + FEW_CHECK_MS;
	}
}

/* Whether a message with as many descriptors as there can be finds numbers for all of them, these or greater
 * ones: takes them for a moment. */
static bool
numbers_are_free(int like, uint64_t from)
{
	int got[PASSING_MOST];
	size_t n = 0;

	while (n < PASSING_MOST && (got[n] = fcntl(like, F_DUPFD_CLOEXEC, (int)from)) >= 0)
		n++;
	for (size_t i = 0; i < n; i++)
		close(got[i]);
	return n == PASSING_MOST;
}

/* The last numbers are the last to be given, so if they are free there are enough until one of them is seen.
 */
static bool
numbers_are_few(struct passing *passing, int like)
{
	int64_t now_ms;

	if (!passing->counted)
		passing_saw(passing, like);
	if (!passing->few || passing->few_from == 0)
		return passing->few;
	now_ms = clock_ms();
	if (now_ms >= passing->check_at_ms) {
		passing->few = !numbers_are_free(like, passing->few_from);
		passing->check_at_ms = now_ms + FEW_CHECK_MS;
	}
	return passing->few;
}

/* ---- what is taken ---- */

bool
passing_takes(int fd)
{
	static const char pidfd[] = "anon_inode:[pidfd]";
	char path[64], target[sizeof(pidfd)];
	ssize_t n;

	if (fcntl(fd, F_GETPIPE_SZ) > 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target));
	return n == (ssize_t)sizeof(pidfd) - 1 && memcmp(target, pidfd, sizeof(pidfd) - 1) == 0;
}

/* Room for all that one message can carry. */
union passing_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(PASSING_MOST * sizeof(int))];
};

static size_t
message_count(const struct msghdr *message)
{
	const struct cmsghdr *part = CMSG_FIRSTHDR(message);

	if (part == NULL || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
		return 0;
	return (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

static int
message_fd(const struct msghdr *message, size_t i)
{
	int fd;

	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(message)) + i * sizeof(int), sizeof(fd));
	return fd;
}

static void
message_take(struct passing *passing, const struct msghdr *message, int *passed)
{
	size_t count = message_count(message);

	if (count > 0 || message->msg_flags & MSG_CTRUNC)
		*passed = message->msg_flags & MSG_CTRUNC ? PASSING_LOST : PASSING_FOREIGN;
	for (size_t i = 0; i < count; i++) {
		int fd = message_fd(message, i);

		passing_saw(passing, fd);
		if (*passed < 0 && passing_takes(fd))
			*passed = fd;
		else
			closer_put(passing->closer, fd);
	}
}

/* ---- reading ---- */

void
passing_prepare(int fd)
{
	int on = 1;

	/* Else the kernel drops an out-of-band byte and what came with it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
}

static ssize_t
message_read(struct passing *passing, int fd, void *room, size_t n, int *passed)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(PASSING_MOST * sizeof(int))];
	} control;
	struct iovec into = {.iov_base = room, .iov_len = n};
	struct msghdr message = {.msg_iov = &into,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (got >= 0 && (message.msg_controllen > 0 || message.msg_flags & MSG_CTRUNC))
		message_take(passing, &message, passed);
	return got;
}

/* How much there is to be read without what comes behind descriptors, and whether some come with it; as
 * recv(). It takes nothing out of the socket. */
static ssize_t
message_peek(int fd, void *room, size_t n, bool *carries)
{
	struct iovec into = {.iov_base = room, .iov_len = n};
	struct msghdr message = {.msg_iov = &into, .msg_iovlen = 1};
	ssize_t got = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);

	*carries = got >= 0 && message.msg_flags & MSG_CTRUNC;
	return got;
}

/* Whether all that comes with the message finds numbers now, and is taken. The copies of what is taken are
 * closed, and leave their numbers to the read that follows. */
static bool
message_fits(struct passing *passing, int fd, void *room, size_t n)
{
	union passing_control control;
	struct iovec into = {.iov_base = room, .iov_len = n};
	struct msghdr message = {.msg_iov = &into,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(fd, &message, MSG_PEEK | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	bool fits = got > 0 && !(message.msg_flags & MSG_CTRUNC);
	size_t count = got > 0 ? message_count(&message) : 0;

	for (size_t i = 0; i < count; i++) {
		int copy = message_fd(&message, i);

		if (passing_takes(copy)) {
			close(copy);
		} else {
			closer_put(passing->closer, copy);
			fits = false;
		}
	}
	return fits;
}

ssize_t
passing_read(struct passing *passing, int fd, void *room, size_t n, int *passed)
{
	bool carries;
	ssize_t there;

	*passed = PASSING_NONE;
	if (!numbers_are_few(passing, fd))
		return message_read(passing, fd, room, n, passed);
	there = message_peek(fd, room, n, &carries);
	if (there <= 0)
		return there;
	if (carries && !message_fits(passing, fd, room, (size_t)there)) {
		errno = EMFILE;
		return -1;
	}
	/* What has come meanwhile may carry others. */
	return message_read(passing, fd, room, (size_t)there, passed);
}
