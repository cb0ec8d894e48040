/*
 * Tests of daemon/base/fdstore: what a service manager is told of descriptors that it keeps one by one, and
 * what is taken back of those that a process has left.
 */
#include "daemon/base/fdstore.h"

#include "daemon/base/notify.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct tempdir dir;
static struct notify notify;
static struct fdstore store;
static int manager;
static char said[256];
static int passed;

/* A service manager that keeps so many descriptors. */
static void
managed(const char *most)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/notify", dir.path);
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(manager, (struct sockaddr *)&at, sizeof(at)), 0);
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	setenv("FDSTORE", most, 1);
	ck_assert_int_eq(notify_init(&notify), 0);
	fdstore_init(&store, &notify);
}

static void
setup(void)
{
	tempdir_init(&dir);
	manager = passed = -1;
	notify = (struct notify){.fd = -1};
}

static void
teardown(void)
{
	fdstore_done(&store);
	notify_done(&notify);
	if (manager >= 0)
		close(manager);
	if (passed >= 0)
		close(passed);
	tempdir_done(&dir);
}

/* The next message, in one line, with '+' if a descriptor came with it; "": there is none. */
static const char *
hear(void)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = {said, sizeof(said) - 2};
	struct msghdr message = {.msg_iov = &bytes,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(manager, &message, MSG_CMSG_CLOEXEC);

	said[n > 0 ? n : 0] = '\0';
	for (char *p = said; *p != '\0'; p++)
		*p = (char)(*p == '\n' ? ' ' : *p);
	if (n > 0 && message.msg_controllen > 0) {
		strcat(said, "+");
		if (passed >= 0)
			close(passed);
		memcpy(&passed, CMSG_DATA(&control.header), sizeof(passed));
	}
	return said;
}

static int
put(int fd)
{
	int slot = fdstore_put(&store, fd);

	hear();
	return slot;
}

START_TEST(each_descriptor_has_a_name_of_its_own)
{
	int ends[2];

	managed("100");
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(fdstore_put(&store, ends[0]), 0);
	ck_assert_str_eq(hear(), "FDSTORE=1 FDPOLL=0 FDNAME=hf0 +");
	ck_assert(descriptor_identity(passed) == descriptor_identity(ends[0]));
	for (int i = 1; i < 18; i++)
		ck_assert_int_eq(put(ends[1]), i);
	ck_assert_str_eq(said, "FDSTORE=1 FDPOLL=0 FDNAME=hf11 +");
	fdstore_drop(&store, 16);
	ck_assert_str_eq(hear(), "FDSTOREREMOVE=1 FDNAME=hf10 ");
	ck_assert_str_eq(hear(), "");
	ck_assert_uint_eq(store.used, 17);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(without_a_store_nothing_is_kept)
{
	fdstore_init(&store, &notify);
	ck_assert_int_eq(fdstore_put(&store, 0), FDSTORE_NONE);
	ck_assert(!fdstore_turn(&store));
	fdstore_done(&store);
	managed("0");
	ck_assert_int_eq(fdstore_put(&store, 0), FDSTORE_NONE);
	ck_assert_str_eq(hear(), "");
	ck_assert(!store.behind);
}
END_TEST

START_TEST(no_more_are_kept_than_the_manager_has_room_for)
{
	managed("3");
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(put(0), i);
	ck_assert_int_eq(fdstore_put(&store, 0), FDSTORE_NONE);
	ck_assert_str_eq(hear(), "");
	fdstore_drop(&store, 1);
	hear();
	ck_assert_int_eq(put(0), 1);
	ck_assert_str_eq(said, "FDSTORE=1 FDPOLL=0 FDNAME=hf1 +");
}
END_TEST

START_TEST(a_manager_that_does_not_listen_is_told_later)
{
	int slots[1000] = {0}, n = 0, freed = 0;

	managed("1000");
	while (n < 1000 && (slots[n] = fdstore_put(&store, 0)) != FDSTORE_NONE)
		n++;
	/* The queue of its socket is full. */
	ck_assert_int_lt(n, 1000);
	ck_assert(store.behind);
	fdstore_drop(&store, slots[0]);
	fdstore_drop(&store, slots[1]);
	ck_assert(fdstore_turn(&store));
	/* A slot is not given away before the manager has heard that it is free. */
	while (hear()[0] != '\0')
		ck_assert_ptr_null(strstr(said, "REMOVE"));
	ck_assert_int_eq(fdstore_put(&store, 0), FDSTORE_NONE);
	ck_assert(!fdstore_turn(&store));
	while (hear()[0] != '\0')
		freed += strstr(said, "FDSTOREREMOVE=1") != NULL;
	ck_assert_int_eq(freed, 2);
	ck_assert_int_ne(fdstore_put(&store, 0), FDSTORE_NONE);
}
END_TEST

/* As notify_take_fds() gives them. */
static size_t
left(struct notify_fd *fds, size_t n, const char *const *names, const int *from)
{
	for (size_t i = 0; i < n; i++) {
		fds[i].fd = from[i];
		snprintf(fds[i].name, sizeof(fds[i].name), "%s", names[i]);
	}
	fdstore_take(&store, fds, &n);
	return n;
}

START_TEST(what_was_left_is_found_in_its_slot)
{
	static const char *const names[] = {"hf", "hf5", "holdfastd", "hf3fff", "hf4000", "hf05", "hfx"};
	struct notify_fd fds[7];
	int from[7];
	uint64_t identity;

	managed("100");
	for (int i = 0; i < 7; i++)
		from[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	identity = descriptor_identity(from[1]);
	/* Names that are of no slot are for others. */
	ck_assert_uint_eq(left(fds, 7, names, from), 5);
	ck_assert_str_eq(fds[1].name, "holdfastd");
	ck_assert_int_eq(fdstore_find(&store, 5, identity + 1), -1);
	ck_assert_int_eq(fdstore_find(&store, 6, identity), -1);
	ck_assert_int_eq(fdstore_find(&store, 5, identity), from[1]);
	ck_assert_int_eq(fdstore_find(&store, 5, identity), -1);
	fdstore_end_left(&store);
	ck_assert_int_eq(fcntl(from[3], F_GETFD), -1);
	/* The manager forgets what was not found. */
	ck_assert_str_eq(hear(), "");
	ck_assert(!fdstore_turn(&store));
	ck_assert_str_eq(hear(), "FDSTOREREMOVE=1 FDNAME=hf3fff ");
	ck_assert_str_eq(hear(), "");
	ck_assert_uint_eq(store.used, 1);
	for (int i = 0; i < 7; i++)
		close(from[i]);
}
END_TEST

START_TEST(a_connection_that_is_not_taken_ends_though_the_manager_has_it)
{
	static const char *const name[] = {"hf0"};
	struct notify_fd fds[1];
	int pair[2], has;
	char byte;

	managed("100");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	has = dup(pair[1]);
	ck_assert_uint_eq(left(fds, 1, name, &pair[1]), 0);
	fdstore_end_left(&store);
	ck_assert_int_eq(recv(pair[0], &byte, 1, MSG_DONTWAIT), 0);
	close(pair[0]);
	close(has);
}
END_TEST

START_TEST(a_slot_that_came_in_another_way_is_in_use)
{
	managed("100");
	ck_assert(fdstore_has(&store, 0));
	ck_assert(!fdstore_has(&store, 0));
	ck_assert(!fdstore_has(&store, -1));
	ck_assert(!fdstore_has(&store, FDSTORE_SLOTS));
	ck_assert_int_eq(put(0), 1);
	fdstore_drop(&store, 0);
	ck_assert_str_eq(hear(), "FDSTOREREMOVE=1 FDNAME=hf0 ");
}
END_TEST

START_TEST(a_listening_socket_goes_on_when_it_is_closed)
{
	int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), other, client;
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/listens", dir.path);
	ck_assert_int_eq(bind(one, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(one, 1), 0);
	other = dup(one);
	descriptor_end(one);
	client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	close(client);
	close(other);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("fdstore", setup, teardown, each_descriptor_has_a_name_of_its_own,
		without_a_store_nothing_is_kept, no_more_are_kept_than_the_manager_has_room_for,
		a_manager_that_does_not_listen_is_told_later, what_was_left_is_found_in_its_slot,
		a_connection_that_is_not_taken_ends_though_the_manager_has_it,
		a_slot_that_came_in_another_way_is_in_use, a_listening_socket_goes_on_when_it_is_closed);
}
