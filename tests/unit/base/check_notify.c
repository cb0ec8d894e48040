/*
 * Tests of daemon/base/notify: what a service manager sees, and what is taken from it.
 */
#include "daemon/base/notify.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct manager {
	struct tempdir dir;
	int fd;
	char said[1024];
};

/* A service manager's end: a datagram socket that NOTIFY_SOCKET points to. */
static void
manager_init(struct manager *manager, bool abstract)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n;

	tempdir_init(&manager->dir);
	n = (size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s%s/notify", abstract ? "@" : "",
		manager->dir.path);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	if (abstract)
		address.sun_path[0] = 0;
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(manager->fd, (struct sockaddr *)&address,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
		0);
}

static void
manager_done(struct manager *manager)
{
	close(manager->fd);
	tempdir_done(&manager->dir);
}

static const char *
manager_hear(struct manager *manager)
{
	ssize_t n = recv(manager->fd, manager->said, sizeof manager->said - 1, MSG_DONTWAIT);

	manager->said[n < 0 ? 0 : n] = 0;
	return manager->said;
}

START_TEST(each_state_is_told_as_the_protocol_says)
{
	struct manager manager;
	struct notify notify;

	manager_init(&manager, false);
	ck_assert_int_eq(notify_init(&notify), 0);
	notify_ready(&notify, "serving");
	ck_assert_str_eq(manager_hear(&manager), "READY=1\nSTATUS=serving");
	notify_ready(&notify, NULL);
	ck_assert_str_eq(manager_hear(&manager), "READY=1\n");
	notify_status(&notify, "guarded for 3 s");
	ck_assert_str_eq(manager_hear(&manager), "STATUS=guarded for 3 s");
	notify_watchdog(&notify);
	ck_assert_str_eq(manager_hear(&manager), "WATCHDOG=1\n");
	notify_stopping(&notify, "draining", 3000);
	ck_assert_str_eq(manager_hear(&manager), "STOPPING=1\nEXTEND_TIMEOUT_USEC=3000000\nSTATUS=draining");
	notify_done(&notify);
	manager_done(&manager);
}
END_TEST

START_TEST(a_reload_carries_the_time_it_began)
{
	struct manager manager;
	struct notify notify;
	struct timespec before, after;
	long long us;

	manager_init(&manager, false);
	ck_assert_int_eq(notify_init(&notify), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	notify_reloading(&notify);
	clock_gettime(CLOCK_MONOTONIC, &after);
	ck_assert_int_eq(sscanf(manager_hear(&manager), "RELOADING=1\nMONOTONIC_USEC=%lld\n", &us), 1);
	ck_assert_int_ge(us, (long long)before.tv_sec * 1000000 + before.tv_nsec / 1000);
	ck_assert_int_le(us, (long long)after.tv_sec * 1000000 + after.tv_nsec / 1000);
	notify_done(&notify);
	manager_done(&manager);
}
END_TEST

START_TEST(an_abstract_address_works)
{
	struct manager manager;
	struct notify notify;

	manager_init(&manager, true);
	ck_assert_int_eq(notify_init(&notify), 0);
	notify_ready(&notify, NULL);
	ck_assert_str_eq(manager_hear(&manager), "READY=1\n");
	notify_done(&notify);
	manager_done(&manager);
}
END_TEST

START_TEST(children_do_not_inherit_the_manager)
{
	struct manager manager;
	struct notify notify;
	struct notify_fd *fds;

	manager_init(&manager, false);
	setenv("WATCHDOG_USEC", "4000000", 1);
	setenv("LISTEN_FDS", "0", 1);
	setenv("LISTEN_PID", "1", 1);
	setenv("LISTEN_FDNAMES", "a", 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert_int_eq(notify.watchdog_ms, 2000);
	ck_assert_uint_eq(notify_take_fds(&fds), 0);
	ck_assert_ptr_null(fds);
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
	ck_assert_ptr_null(getenv("LISTEN_FDS"));
	ck_assert_ptr_null(getenv("LISTEN_PID"));
	ck_assert_ptr_null(getenv("LISTEN_FDNAMES"));
	ck_assert_int_eq(fcntl(notify.fd, F_GETFD), FD_CLOEXEC);
	notify_done(&notify);
	manager_done(&manager);
}
END_TEST

START_TEST(a_watchdog_for_another_process_is_not_ours)
{
	struct notify notify;

	unsetenv("NOTIFY_SOCKET");
	setenv("WATCHDOG_USEC", "4000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert_int_eq(notify.watchdog_ms, 0);
	setenv("WATCHDOG_USEC", "nonsense", 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert_int_eq(notify.watchdog_ms, 0);
}
END_TEST

START_TEST(without_a_manager_everything_is_silent)
{
	struct notify notify;

	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert_int_eq(notify.fd, -1);
	notify_ready(&notify, "x");
	notify_reloading(&notify);
	notify_watchdog(&notify);
	notify_done(&notify);
}
END_TEST

START_TEST(an_address_that_is_none_is_an_error_and_not_the_end)
{
	static const char *const addresses[] = {"relative", "/nowhere/at/all", "@", "vsock:2:1"};
	struct notify notify;
	size_t i;

	for (i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		setenv("NOTIFY_SOCKET", addresses[i], 1);
		ck_assert_int_eq(notify_init(&notify), -1);
		ck_assert_int_ne(errno, 0);
		notify_ready(&notify, "still usable");
	}
}
END_TEST

START_TEST(a_manager_that_does_not_read_never_makes_us_wait)
{
	struct manager manager;
	struct notify notify;
	int i;

	manager_init(&manager, false);
	ck_assert_int_eq(notify_init(&notify), 0);
	for (i = 0; i < 10000; i++)
		notify_watchdog(&notify);
	ck_assert_str_eq(manager_hear(&manager), "WATCHDOG=1\n");
	close(manager.fd);
	notify_watchdog(&notify);
	notify_done(&notify);
	tempdir_done(&manager.dir);
}
END_TEST

/* Puts count sockets at 3, 4, ... as a service manager does, and says for whom. */
static void
pass_fds(int count, pid_t pid, const char *names)
{
	char text[16];
	int i;

	for (i = 0; i < count; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		ck_assert_int_ge(dup2(fd, 3 + i), 0);
		if (fd >= 3 + count || fd < 3)
			close(fd);
	}
	snprintf(text, sizeof text, "%d", count);
	setenv("LISTEN_FDS", text, 1);
	snprintf(text, sizeof text, "%d", pid);
	setenv("LISTEN_PID", text, 1);
	if (names)
		setenv("LISTEN_FDNAMES", names, 1);
	else
		unsetenv("LISTEN_FDNAMES");
}

/* In a child, so that descriptors of Check itself are not overwritten. */
static void
in_child(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		test();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}

/* ck_assert() speaks through descriptors that are gone here: the number of the check is the exit status. */
#define EXPECT(number, condition)                                                                            \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			_exit(number);                                                                       \
	} while (0)

static void
take_named(void)
{
	struct notify_fd *fds, *none;

	close_range(3, ~0U, 0);
	pass_fds(3, getpid(), "unix::tcp");
	EXPECT(1, notify_take_fds(&fds) == 3);
	EXPECT(2, fds[0].fd == 3 && strcmp(fds[0].name, "unix") == 0);
	EXPECT(3, fds[1].fd == 4 && strcmp(fds[1].name, "unknown") == 0);
	EXPECT(4, fds[2].fd == 5 && strcmp(fds[2].name, "tcp") == 0);
	EXPECT(5, fcntl(3, F_GETFD) == FD_CLOEXEC);
	EXPECT(6, notify_take_fds(&none) == 0 && !none);
	free(fds);
}

START_TEST(inherited_sockets_come_with_their_names)
{
	in_child(take_named);
}
END_TEST

static void
take_unnamed(void)
{
	struct notify_fd *fds;

	close_range(3, ~0U, 0);
	pass_fds(20, getpid(), NULL);
	EXPECT(1, notify_take_fds(&fds) == 20);
	EXPECT(2, strcmp(fds[19].name, "unknown") == 0 && fds[19].fd == 22);
	free(fds);
}

START_TEST(sockets_without_names_are_unknown)
{
	in_child(take_unnamed);
}
END_TEST

static void
take_foreign(void)
{
	struct notify_fd *fds;

	close_range(3, ~0U, 0);
	pass_fds(1, 1, NULL);
	EXPECT(1, notify_take_fds(&fds) == 0);
	EXPECT(2, fcntl(3, F_GETFD) >= 0);
}

START_TEST(sockets_meant_for_another_process_are_left_alone)
{
	in_child(take_foreign);
}
END_TEST

/* Takes a message with its descriptors, and returns how many came. */
static size_t
manager_take(struct manager *manager)
{
	char room[CMSG_SPACE(256 * sizeof(int))];
	struct iovec bytes = {.iov_base = manager->said, .iov_len = sizeof manager->said - 1};
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	ssize_t n = recvmsg(manager->fd, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *first = CMSG_FIRSTHDR(&message);
	size_t count = n >= 0 && first ? (first->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	int fd;

	manager->said[n < 0 ? 0 : n] = 0;
	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(first) + i * sizeof fd, sizeof fd);
		close(fd);
	}
	return count;
}

START_TEST(many_descriptors_are_stored_with_several_messages)
{
	enum { COUNT = 700 };
	struct manager manager;
	struct notify notify;
	int fds[COUNT];
	size_t taken = 0;
	pid_t pid;

	manager_init(&manager, false);
	setenv("FDSTORE", "5000", 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert_uint_eq(notify.store_max, 5000);
	for (int i = 0; i < COUNT; i++)
		fds[i] = dup(STDERR_FILENO);
	pid = fork();
	if (pid == 0)
		_exit(notify_store(&notify, fds, COUNT, "kept", 30000) &&
					notify_unstore(&notify, "kept", 30000) &&
					notify_barrier(&notify, 30000)
				? 0
				: 1);
	for (int i = 0; i < 3; i++) {
		taken += manager_take(&manager);
		ck_assert_str_eq(manager.said, "FDSTORE=1\nFDPOLL=0\nFDNAME=kept\n");
	}
	ck_assert_uint_eq(taken, COUNT);
	ck_assert_uint_eq(manager_take(&manager), 0);
	ck_assert_str_eq(manager.said, "FDSTOREREMOVE=1\nFDNAME=kept\n");
	ck_assert_uint_eq(manager_take(&manager), 1);
	ck_assert_str_eq(manager.said, "BARRIER=1");
	ck_assert_int_eq(waitpid(pid, &(int){0}, 0), pid);
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
	notify_done(&notify);
	manager_done(&manager);
}
END_TEST

START_TEST(a_manager_that_takes_nothing_is_not_waited_for_without_end)
{
	struct manager manager;
	struct notify notify;
	int fd = dup(STDERR_FILENO);
	bool stored = true;

	manager_init(&manager, false);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert(!notify_barrier(&notify, 10));
	ck_assert_int_eq(errno, ETIMEDOUT);
	for (int i = 0; i < 10000 && stored; i++)
		stored = notify_store(&notify, &fd, 1, "kept", 10);
	ck_assert(!stored);
	close(fd);
	notify_done(&notify);
	ck_assert(!notify_store(&notify, &fd, 1, "kept", 10));
	manager_done(&manager);
}
END_TEST

START_TEST(the_next_program_finds_the_manager_again)
{
	struct manager manager;
	struct notify notify, next;

	manager_init(&manager, false);
	setenv("WATCHDOG_USEC", "4000000", 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	ck_assert(notify_pass_on(&notify));
	ck_assert_int_eq(notify_init(&next), 0);
	ck_assert_int_eq(next.watchdog_ms, 2000);
	notify_status(&next, "next");
	ck_assert_str_eq(manager_hear(&manager), "STATUS=next");
	ck_assert(notify_pass_on(&notify));
	notify_keep_back();
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
	notify_done(&notify);
	notify_done(&next);
	manager_done(&manager);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("notify", NULL, NULL, each_state_is_told_as_the_protocol_says,
		a_reload_carries_the_time_it_began, an_abstract_address_works,
		children_do_not_inherit_the_manager, a_watchdog_for_another_process_is_not_ours,
		without_a_manager_everything_is_silent, an_address_that_is_none_is_an_error_and_not_the_end,
		a_manager_that_does_not_read_never_makes_us_wait, inherited_sockets_come_with_their_names,
		sockets_without_names_are_unknown, sockets_meant_for_another_process_are_left_alone,
		many_descriptors_are_stored_with_several_messages,
		a_manager_that_takes_nothing_is_not_waited_for_without_end,
		the_next_program_finds_the_manager_again);
}
