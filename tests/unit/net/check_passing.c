/*
 * Tests of daemon/net/passing.h and daemon/base/closer.h: what clients pass never makes the daemon wait, and
 * what a request can use is found among it.
 */
#include "daemon/base/clock.h"
#include "daemon/base/closer.h"
#include "daemon/net/passing.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A close that waits waits for so long; what does not is much faster on any machine. */
#define LINGER_S  60
#define PROMPT_MS 20000

static struct {
	struct closer *closer;
	struct passing passing;
	int client;
	int server;
	int listening;
	int64_t began_ms;
} probe;

static void
setup(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int pair[2];

	probe.closer = closer_new();
	probe.passing = (struct passing){.closer = probe.closer};
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	probe.client = pair[0];
	probe.server = pair[1];
	passing_prepare(probe.server);
	probe.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(probe.listening, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(probe.listening, 512), 0);
	probe.began_ms = clock_ms();
}

static void
teardown(void)
{
	closer_free(probe.closer);
	close(probe.client);
	close(probe.listening);
}

/* A socket whose last close waits: it has unsent data, and nobody reads it. */
static int
lingering(void)
{
	static const char bytes[65536];
	const struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
	struct sockaddr_in at;
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(getsockname(probe.listening, (struct sockaddr *)&at, &n), 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, n), 0);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
	}
	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

static void
pass_by(int to, const int *fds, size_t count, int flags)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(PASSING_MOST * sizeof(int))];
	} control = {.room = {0}};
	struct iovec bytes = {.iov_base = (void *)"x", .iov_len = 1};
	struct msghdr message = {.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(count * sizeof(int))};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	ck_assert_int_eq(sendmsg(to, &message, flags), 1);
}

/* Passes a socket whose close waits, and keeps no copy. */
static void
pass_lingering(int to, int flags)
{
	int fd = lingering();

	pass_by(to, &fd, 1, flags);
	close(fd);
}

static size_t
open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 3; /* ".", "..", and dir itself */
}

static int
read_one(void)
{
	char room[64];
	int passed;

	ck_assert_int_eq(passing_read(&probe.passing, probe.server, room, sizeof(room), &passed), 1);
	return passed;
}

static void
expect_prompt(void)
{
	ck_assert_int_lt(clock_ms() - probe.began_ms, PROMPT_MS);
	ck_assert(closer_settle(probe.closer, PROMPT_MS));
	ck_assert_uint_eq(closer_count(probe.closer), 0);
	ck_assert_int_lt(clock_ms() - probe.began_ms, PROMPT_MS);
}

START_TEST(a_close_that_waits_holds_up_nobody)
{
	size_t before = open_descriptors();

	for (int i = 0; i < 20; i++)
		closer_put(probe.closer, lingering());
	expect_prompt();
	ck_assert_uint_eq(open_descriptors(), before);
	close(probe.server);
}
END_TEST

START_TEST(a_foreign_descriptor_goes_to_the_closer)
{
	size_t before = open_descriptors();

	pass_lingering(probe.client, 0);
	ck_assert_int_eq(read_one(), PASSING_FOREIGN);
	expect_prompt();
	ck_assert_uint_eq(open_descriptors(), before);
	close(probe.server);
}
END_TEST

START_TEST(what_a_request_can_use_is_found_among_many)
{
	int fds[PASSING_MOST], ends[2], passed;
	size_t before;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	for (size_t i = 0; i < PASSING_MOST; i++)
		fds[i] = i < 3 ? lingering() : probe.listening;
	fds[PASSING_MOST - 2] = (int)syscall(SYS_pidfd_open, getpid(), 0);
	fds[PASSING_MOST - 1] = ends[0];
	pass_by(probe.client, fds, PASSING_MOST, 0);
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
	before = open_descriptors();
	passed = read_one();
	ck_assert_int_ge(passed, 0);
	ck_assert(passing_takes(passed));
	ck_assert_int_le(fcntl(passed, F_GETPIPE_SZ), 0); /* the pidfd, which came first */
	ck_assert(fcntl(passed, F_GETFD) & FD_CLOEXEC);
	close(passed);
	expect_prompt();
	ck_assert_uint_eq(open_descriptors(), before);
	close(fds[PASSING_MOST - 2]);
	close(ends[0]);
	close(ends[1]);
	close(probe.server);
}
END_TEST

START_TEST(only_pidfds_and_pipes_are_taken)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), ends[2];
	int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int memory = (int)syscall(SYS_memfd_create, "[pidfd]", 1);

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert(passing_takes(pidfd));
	ck_assert(passing_takes(ends[0]));
	ck_assert(passing_takes(ends[1]));
	ck_assert(!passing_takes(file));
	ck_assert(!passing_takes(memory));
	ck_assert(!passing_takes(probe.listening));
	ck_assert(!passing_takes(probe.client));
	close(pidfd);
	close(ends[0]);
	close(ends[1]);
	close(file);
	close(memory);
	close(probe.server);
}
END_TEST

START_TEST(what_comes_out_of_band_is_read_and_not_dropped)
{
	pass_lingering(probe.client, MSG_OOB);
	ck_assert_int_eq(read_one(), PASSING_FOREIGN);
	expect_prompt();
	close(probe.server);
}
END_TEST

START_TEST(a_socket_with_unread_descriptors_is_ended_at_once)
{
	char room[8];

	pass_lingering(probe.client, 0);
	pass_lingering(probe.client, MSG_OOB);
	closer_end(probe.closer, probe.server);
	/* Its peer knows, and can pass no more. */
	ck_assert_int_le(recv(probe.client, room, sizeof(room), 0), 0);
	ck_assert_int_lt(send(probe.client, "x", 1, MSG_NOSIGNAL), 0);
	expect_prompt();
}
END_TEST

START_TEST(a_socket_inside_a_socket_waits_for_nobody_either)
{
	int inner[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, inner), 0);
	pass_lingering(inner[0], 0);
	pass_by(probe.client, &inner[1], 1, 0);
	close(inner[0]);
	close(inner[1]);
	ck_assert_int_eq(read_one(), PASSING_FOREIGN);
	expect_prompt();
	close(probe.server);
}
END_TEST

/* Leaves so many numbers, and no more. */
static void
leave_numbers(rlim_t free)
{
	struct rlimit limit;
	int lowest = fcntl(probe.client, F_DUPFD_CLOEXEC, 0);

	close(lowest);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)lowest + free;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(with_too_few_numbers_descriptors_stay_unread)
{
	char room[64];
	int passed, fds[2] = {lingering(), lingering()};

	pass_by(probe.client, fds, 2, 0);
	close(fds[0]);
	close(fds[1]);
	leave_numbers(1);
	ck_assert_int_eq(passing_read(&probe.passing, probe.server, room, sizeof(room), &passed), -1);
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_eq(passed, PASSING_NONE);
	closer_end(probe.closer, probe.server);
	expect_prompt();
}
END_TEST

START_TEST(with_few_numbers_what_can_be_used_is_read)
{
	char room[64];
	int passed, ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	leave_numbers(2);
	ck_assert_int_eq(send(probe.client, "one", 3, 0), 3);
	ck_assert_int_eq(passing_read(&probe.passing, probe.server, room, sizeof(room), &passed), 3);
	ck_assert_int_eq(passed, PASSING_NONE);
	pass_by(probe.client, ends, 2, 0);
	passed = read_one();
	ck_assert(passing_takes(passed));
	close(passed);
	ck_assert(closer_settle(probe.closer, PROMPT_MS));
	ck_assert_int_eq(passing_read(&probe.passing, probe.server, room, sizeof(room), &passed), -1);
	ck_assert_int_eq(errno, EAGAIN);
	close(ends[0]);
	close(ends[1]);
	close(probe.server);
}
END_TEST

START_TEST(with_few_numbers_what_is_foreign_stays_unread)
{
	char room[64];
	int passed, fds[2] = {lingering(), lingering()};

	pass_by(probe.client, fds, 2, 0);
	close(fds[0]);
	close(fds[1]);
	leave_numbers(PASSING_MOST);
	ck_assert_int_eq(passing_read(&probe.passing, probe.server, room, sizeof(room), &passed), -1);
	ck_assert_int_eq(errno, EMFILE);
	closer_end(probe.closer, probe.server);
	expect_prompt();
}
END_TEST

START_TEST(numbers_that_run_short_are_noticed_and_forgotten)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	passing_saw(&probe.passing, probe.server);
	if (probe.passing.few_from > 0) {
		ck_assert(!probe.passing.few);
		passing_saw(&probe.passing, (int)probe.passing.few_from);
		ck_assert(probe.passing.few);
		probe.passing.check_at_ms = 0;
		ck_assert_int_eq(send(probe.client, "x", 1, 0), 1);
		ck_assert_int_eq(read_one(), PASSING_NONE);
		ck_assert(!probe.passing.few);
		passing_saw(&probe.passing, -1);
		ck_assert(probe.passing.few);
	}
	close(probe.server);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("passing", setup, teardown, a_close_that_waits_holds_up_nobody,
		a_foreign_descriptor_goes_to_the_closer, what_a_request_can_use_is_found_among_many,
		only_pidfds_and_pipes_are_taken, what_comes_out_of_band_is_read_and_not_dropped,
		a_socket_with_unread_descriptors_is_ended_at_once,
		a_socket_inside_a_socket_waits_for_nobody_either,
		with_too_few_numbers_descriptors_stay_unread, with_few_numbers_what_can_be_used_is_read,
		with_few_numbers_what_is_foreign_stays_unread,
		numbers_that_run_short_are_noticed_and_forgotten);
}
