/*
 * Tests of daemon/net/listener.h and daemon/net/socket.h: who may listen where, and who is at the other
 * end.
 */
#include "daemon/base/clock.h"
#include "daemon/net/listener.h"
#include "daemon/net/listeners.h"
#include "tests/support/await.h"
#include "tests/support/suite.h"
#include "tests/support/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A user who owns nothing, and a group he is no member of. */
#define NOBODY 65534
#define OTHERS 471147

struct probe {
	struct event_base *base;
	struct tempdir dir;
	char path[128];
	char error[256];
	unsigned accepted;
	unsigned paused;
	int64_t busy_ns; /* what each takes */
	struct peer peer;
	int fd; /* the latest accepted */
};

static struct probe probe;

static void
on_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer)
{
	struct probe *p = arg;
	int64_t until_ns = clock_ns() + p->busy_ns;
	(void)listener;
	p->accepted++;
	p->peer = *peer;
	if (p->fd >= 0) {
		close(p->fd);
	}
	p->fd = fd;
	while (clock_ns() < until_ns) {
	}
}

static void
on_paused(void *arg, struct listener *listener, int error)
{
	struct probe *p = arg;
	(void)listener;
	ck_assert_int_eq(error, EMFILE);
	p->paused++;
}

static const struct listener_hooks hooks = {.accepted = on_accepted, .paused = on_paused};

static void
setup(void)
{
	probe = (struct probe){.base = event_base_new(), .fd = -1};
	tempdir_init(&probe.dir);
	snprintf(probe.path, sizeof probe.path, "%s/run/hf.sock", probe.dir.path);
}

static void
teardown(void)
{
	if (probe.fd >= 0) {
		close(probe.fd);
	}
	event_base_free(probe.base);
	tempdir_done(&probe.dir);
}

static struct socket_settings
at_path(void)
{
	return (struct socket_settings){.path = probe.path, .mode = 0660};
}

static int
try_open(const struct socket_settings *settings, struct listener **out)
{
	return listener_open(probe.base, settings, &hooks, &probe, out, probe.error, sizeof probe.error);
}

static struct listener *
must_open(const struct socket_settings *settings)
{
	struct listener *listener = NULL;
	int failed = try_open(settings, &listener);
	ck_assert_msg(!failed, "%s", probe.error);
	ck_assert_int_eq(listener_start(listener), 0);
	return listener;
}

static int
connect_path(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static unsigned
mode_of(const char *path)
{
	struct stat seen;
	ck_assert_int_eq(stat(path, &seen), 0);
	return seen.st_mode & 0777;
}

static bool
has_accepted(void *arg)
{
	return ((struct probe *)arg)->accepted > 0;
}

static bool
has_paused(void *arg)
{
	return ((struct probe *)arg)->paused > 0;
}

START_TEST(a_unix_socket_has_its_rights_and_knows_its_peer)
{
	struct socket_settings settings = at_path();
	struct listener *listener = must_open(&settings);
	ck_assert_uint_eq(mode_of(probe.path), 0660);
	ck_assert(listener_local(listener));
	ck_assert_str_eq(listener_address(listener), probe.path);
	int fd = connect_path(probe.path);
	ck_assert_int_ge(fd, 0);
	ck_assert(await(probe.base, has_accepted, &probe));
	ck_assert_int_eq(probe.peer.pid, getpid());
	ck_assert_int_eq(probe.peer.uid, geteuid());
	ck_assert(probe.peer.admin);
	ck_assert_str_eq(probe.peer.address, "unix");
	ck_assert(fcntl(probe.fd, F_GETFL) & O_NONBLOCK);
	ck_assert(fcntl(probe.fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	listener_free(listener);
	ck_assert_int_ne(access(probe.path, F_OK), 0);
	strcat(probe.path, ".lock");
	ck_assert_int_ne(access(probe.path, F_OK), 0);
}
END_TEST

START_TEST(a_second_instance_is_refused)
{
	struct socket_settings settings = at_path();
	struct listener *first = must_open(&settings);
	struct listener *second = NULL;
	ck_assert_int_eq(try_open(&settings, &second), SOCKET_BUSY);
	ck_assert_ptr_nonnull(strstr(probe.error, probe.path));
	int fd = connect_path(probe.path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	listener_free(first);
	listener_free(must_open(&settings));
}
END_TEST

START_TEST(a_socket_of_somebody_without_a_lock_is_not_taken_over)
{
	struct socket_settings settings = at_path();
	struct listener *listener = must_open(&settings);
	char lock[160];
	snprintf(lock, sizeof lock, "%s.lock", probe.path);
	ck_assert_int_eq(unlink(lock), 0);
	struct listener *second = NULL;
	ck_assert_int_eq(try_open(&settings, &second), SOCKET_BUSY);
	ck_assert_int_eq(access(probe.path, F_OK), 0);
	listener_free(listener);
}
END_TEST

START_TEST(a_dead_socket_is_replaced)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct socket_settings settings = at_path();
	char directory[128];
	snprintf(directory, sizeof directory, "%s/run", probe.dir.path);
	ck_assert_int_eq(mkdir(directory, 0755), 0);
	int dead = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(to.sun_path, probe.path);
	ck_assert_int_eq(bind(dead, (struct sockaddr *)&to, sizeof to), 0);
	close(dead);
	struct listener *listener = must_open(&settings);
	int fd = connect_path(probe.path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	listener_free(listener);
}
END_TEST

START_TEST(a_file_in_the_way_stays)
{
	struct socket_settings settings = {.path = probe.path, .mode = 0600};
	struct listener *listener = NULL;
	snprintf(probe.path, sizeof probe.path, "%s/file", probe.dir.path);
	close(open(probe.path, O_CREAT | O_WRONLY, 0600));
	ck_assert_int_eq(try_open(&settings, &listener), SOCKET_DENIED);
	ck_assert_ptr_nonnull(strstr(probe.error, "not a socket"));
	ck_assert_int_eq(access(probe.path, F_OK), 0);
}
END_TEST

START_TEST(a_directory_open_to_everybody_is_refused)
{
	struct socket_settings settings = at_path();
	struct listener *listener = NULL;
	char directory[128];
	snprintf(directory, sizeof directory, "%s/run", probe.dir.path);
	ck_assert_int_eq(mkdir(directory, 0755), 0);
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert_int_eq(try_open(&settings, &listener), SOCKET_DENIED);
	ck_assert_int_eq(chmod(directory, 01777), 0);
	listener_free(must_open(&settings));
}
END_TEST

START_TEST(a_group_that_may_not_be_given_is_an_error_and_nothing_stays)
{
	/* Relative, since nobody else may pass through the directories above. */
	const struct socket_settings settings = {
		.path = "hf.sock", .mode = 0600, .group = "others", .gid = OTHERS};
	struct listener *listener = NULL;
	uid_t user = geteuid();
	int here = open(".", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(chdir(probe.dir.path), 0);
	if (user == 0) {
		ck_assert_int_eq(chown(".", NOBODY, NOBODY), 0);
		ck_assert_int_eq(setegid(NOBODY) | seteuid(NOBODY), 0);
	}
	int failed = try_open(&settings, &listener);
	bool stays = access("hf.sock", F_OK) == 0 || access("hf.sock.lock", F_OK) == 0;
	ck_assert_int_eq(seteuid(user) | setegid(getgid()), 0);
	ck_assert_int_eq(fchdir(here), 0);
	close(here);
	ck_assert_int_eq(failed, SOCKET_DENIED);
	ck_assert_str_eq(probe.error, "cannot give hf.sock to the group others: Operation not permitted");
	ck_assert(!stays);
}
END_TEST

START_TEST(a_path_that_is_too_long_is_refused)
{
	char path[300];
	struct socket_settings settings = {.path = path, .mode = 0600};
	struct listener *listener = NULL;
	memset(path, 'x', sizeof path);
	path[0] = '/';
	path[sizeof path - 1] = '\0';
	ck_assert_int_eq(try_open(&settings, &listener), SOCKET_DENIED);
	ck_assert_ptr_nonnull(strstr(probe.error, "too long"));
}
END_TEST

static int
option_of(int fd, int level, int option)
{
	int value = -1;
	socklen_t n = sizeof value;
	ck_assert_int_eq(getsockopt(fd, level, option, &value, &n), 0);
	return value;
}

static int
connect_tcp(const struct listener *listener)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	to.sin_port = htons((uint16_t)atoi(strrchr(listener_address(listener), ':') + 1));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

START_TEST(a_vanished_tcp_peer_is_noticed_within_20_s)
{
	struct socket_settings settings = {.host = "127.0.0.1", .release = true};
	struct listener *listener = must_open(&settings);
	int fd = connect_tcp(listener);
	ck_assert(await(probe.base, has_accepted, &probe));
	ck_assert(!listener_local(listener));
	ck_assert(listener_releases(listener));
	ck_assert(!probe.peer.admin);
	ck_assert_int_eq(probe.peer.uid, -1);
	ck_assert_int_eq(strncmp(probe.peer.address, "127.0.0.1:", 10), 0);
	ck_assert_int_ne(option_of(probe.fd, IPPROTO_TCP, TCP_NODELAY), 0);
	ck_assert_int_ne(option_of(probe.fd, SOL_SOCKET, SO_KEEPALIVE), 0);
	int idle_s = option_of(probe.fd, IPPROTO_TCP, TCP_KEEPIDLE);
	int interval_s = option_of(probe.fd, IPPROTO_TCP, TCP_KEEPINTVL);
	int limit_ms = option_of(probe.fd, IPPROTO_TCP, TCP_USER_TIMEOUT);
	/* A probe after idle_s; given up at the first interval past the limit. */
	ck_assert_int_le(idle_s, 5);
	ck_assert_int_le(limit_ms + interval_s * 1000, 20000);
	close(fd);
	listener_free(listener);
}
END_TEST

START_TEST(a_port_in_use_is_told)
{
	struct socket_settings settings = {.host = "127.0.0.1"};
	struct listener *first = must_open(&settings);
	struct listener *second = NULL;
	settings.port = (uint16_t)atoi(strrchr(listener_address(first), ':') + 1);
	ck_assert_int_eq(try_open(&settings, &second), SOCKET_BUSY);
	ck_assert_ptr_nonnull(strstr(probe.error, "127.0.0.1"));
	listener_free(first);
}
END_TEST

START_TEST(without_descriptors_the_client_is_told_and_the_loop_rests)
{
	struct socket_settings settings = at_path();
	struct listener *listener = must_open(&settings);
	struct rlimit limit;
	char text[128] = "";
	int clients[2] = {connect_path(probe.path), connect_path(probe.path)};
	/* The highest descriptor in use is one of the above: nothing can be opened beyond. */
	getrlimit(RLIMIT_NOFILE, &limit);
	rlim_t before = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)clients[1] + 1;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(await(probe.base, has_paused, &probe));
	ck_assert_uint_eq(probe.accepted, 0);
	ck_assert_int_gt(recv(clients[0], text, sizeof text - 1, 0), 0);
	ck_assert_int_eq(strncmp(text, "-LIMIT ", 7), 0);
	ck_assert_int_eq(recv(clients[0], text, 1, 0), 0);
	unsigned paused = probe.paused;
	limit.rlim_cur = before;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(await(probe.base, has_accepted, &probe));
	ck_assert_uint_eq(probe.paused, paused);
	close(clients[0]);
	close(clients[1]);
	listener_free(listener);
}
END_TEST

START_TEST(an_inherited_socket_serves_and_stays_in_place)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct listener *listener = NULL;
	snprintf(probe.path, sizeof probe.path, "%s/inherited", probe.dir.path);
	strcpy(to.sun_path, probe.path);
	int inherited = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(inherited, (struct sockaddr *)&to, sizeof to), 0);
	ck_assert_int_eq(listen(inherited, 8), 0);
	ck_assert_int_eq(listener_adopt(probe.base, inherited, &hooks, &probe, &listener, probe.error,
				 sizeof probe.error),
		0);
	ck_assert_int_eq(listener_start(listener), 0);
	int fd = connect_path(probe.path);
	ck_assert(await(probe.base, has_accepted, &probe));
	close(fd);
	listener_free(listener);
	ck_assert_int_eq(access(probe.path, F_OK), 0);
}
END_TEST

START_TEST(an_inherited_descriptor_that_does_not_listen_is_refused)
{
	struct listener *listener = NULL;
	int datagram = socket(AF_UNIX, SOCK_DGRAM, 0);
	ck_assert_int_eq(listener_adopt(probe.base, datagram, &hooks, &probe, &listener, probe.error,
				 sizeof probe.error),
		SOCKET_DENIED);
	ck_assert_int_eq(fcntl(datagram, F_GETFD), -1);
}
END_TEST

START_TEST(a_reload_opens_what_is_new_and_closes_what_is_gone)
{
	char other[128];
	struct listeners set = {.base = probe.base, .hooks = &hooks, .arg = &probe};
	snprintf(other, sizeof other, "%s/run/other.sock", probe.dir.path);
	struct socket_settings settings[] = {at_path(), {.path = other, .mode = 0600}};
	ck_assert_int_eq(listeners_set(&set, settings, 1, probe.error, sizeof probe.error), 0);
	ck_assert_int_eq(listeners_start(&set), 0);
	settings[0].mode = 0600;
	ck_assert_int_eq(listeners_set(&set, settings, 2, probe.error, sizeof probe.error), 0);
	ck_assert_uint_eq(set.count, 2);
	ck_assert_uint_eq(mode_of(probe.path), 0600);
	int fd = connect_path(other);
	ck_assert(await(probe.base, has_accepted, &probe));
	close(fd);
	ck_assert_int_eq(listeners_set(&set, settings + 1, 1, probe.error, sizeof probe.error), 0);
	ck_assert_int_ne(access(probe.path, F_OK), 0);
	ck_assert_int_eq(access(other, F_OK), 0);
	listeners_close(&set);
	ck_assert_int_ne(access(other, F_OK), 0);
}
END_TEST

static bool
has_stirred(void *arg)
{
	return ((struct listeners *)arg)->stirred;
}

START_TEST(a_socket_that_is_removed_or_replaced_is_missed_at_once)
{
	char other[128];
	const char *why = NULL;
	struct listeners set = {.base = probe.base, .hooks = &hooks, .arg = &probe};
	snprintf(other, sizeof other, "%s/run/other.sock", probe.dir.path);
	struct socket_settings settings[] = {at_path(), {.path = other, .mode = 0600}};
	ck_assert_int_eq(listeners_set(&set, settings, 2, probe.error, sizeof probe.error), 0);
	ck_assert_int_eq(listeners_start(&set), 0);
	ck_assert_ptr_null(listeners_lost(&set, 5000, &why));
	/* One of ours over another of ours. */
	ck_assert_int_eq(rename(other, probe.path), 0);
	ck_assert(await(probe.base, has_stirred, &set));
	ck_assert_ptr_null(listeners_lost(&set, 5000, &why));
	/* Gone. Nothing is said of it a second time within a second, unless something happens. */
	ck_assert_int_eq(unlink(probe.path), 0);
	ck_assert(await(probe.base, has_stirred, &set));
	ck_assert_ptr_nonnull(listeners_lost(&set, 5000, &why));
	ck_assert_str_eq(why, "was removed");
	ck_assert_ptr_null(listeners_lost(&set, 5999, &why));
	ck_assert_ptr_nonnull(listeners_lost(&set, 6000, &why));
	/* Somebody else's, which stays. */
	int fd = open(probe.path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert(await(probe.base, has_stirred, &set));
	ck_assert_ptr_nonnull(listeners_lost(&set, 6000, &why));
	ck_assert_str_eq(why, "was replaced by another");
	listeners_close(&set);
	ck_assert_int_eq(access(probe.path, F_OK), 0);
	ck_assert_int_eq(unlink(probe.path), 0);
}
END_TEST

START_TEST(nobody_can_have_known_a_socket_in_a_directory_that_was_not_there)
{
	struct listeners set = {.base = probe.base, .hooks = &hooks, .arg = &probe};
	struct socket_settings settings[] = {at_path()}, tcp = {.host = "127.0.0.1"};
	ck_assert_int_eq(listeners_set(&set, settings, 1, probe.error, sizeof probe.error), 0);
	ck_assert_ptr_null(listeners_known_before(&set));
	int fd = socket_listen_tcp(&tcp, probe.error, sizeof probe.error);
	ck_assert_int_eq(listeners_adopt(&set, fd, probe.error, sizeof probe.error), 0);
	ck_assert_ptr_nonnull(strstr(listeners_known_before(&set), "TCP"));
	listeners_close(&set);
	ck_assert_int_eq(listeners_set(&set, settings, 1, probe.error, sizeof probe.error), 0);
	ck_assert_ptr_nonnull(strstr(listeners_known_before(&set), "directory"));
	listeners_close(&set);
}
END_TEST

START_TEST(a_reload_that_fails_leaves_all_as_it_was)
{
	struct listeners set = {.base = probe.base, .hooks = &hooks, .arg = &probe};
	char other[128];
	snprintf(other, sizeof other, "%s/run/other.sock", probe.dir.path);
	struct socket_settings first = at_path();
	struct socket_settings next[] = {
		{.path = other, .mode = 0600}, {.path = "/proc/nowhere/hf.sock", .mode = 0600}};
	ck_assert_int_eq(listeners_set(&set, &first, 1, probe.error, sizeof probe.error), 0);
	ck_assert_int_ne(listeners_set(&set, next, 2, probe.error, sizeof probe.error), 0);
	ck_assert_uint_eq(set.count, 1);
	ck_assert_int_eq(access(probe.path, F_OK), 0);
	ck_assert_int_ne(access(other, F_OK), 0);
	listeners_close(&set);
}
END_TEST

/* As to end a connection with many locks, which makes room for the client. */
START_TEST(clients_that_take_long_to_admit_wait_for_several_turns)
{
	struct socket_settings settings = at_path();
	struct listener *listener = must_open(&settings);
	int clients[3];
	for (int i = 0; i < 3; i++) {
		clients[i] = connect_path(probe.path);
		ck_assert_int_ge(clients[i], 0);
	}
	probe.busy_ns = LISTENER_ACCEPT_NS;
	for (unsigned turns = 1; turns <= 2; turns++) {
		event_base_loop(probe.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		ck_assert_uint_eq(probe.accepted, turns);
	}
	for (int i = 0; i < 3; i++) {
		close(clients[i]);
	}
	listener_free(listener);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("listener", setup, teardown, a_unix_socket_has_its_rights_and_knows_its_peer,
		a_second_instance_is_refused, a_socket_of_somebody_without_a_lock_is_not_taken_over,
		a_dead_socket_is_replaced, a_file_in_the_way_stays, a_directory_open_to_everybody_is_refused,
		a_group_that_may_not_be_given_is_an_error_and_nothing_stays,
		a_path_that_is_too_long_is_refused, a_vanished_tcp_peer_is_noticed_within_20_s,
		a_port_in_use_is_told, without_descriptors_the_client_is_told_and_the_loop_rests,
		an_inherited_socket_serves_and_stays_in_place,
		an_inherited_descriptor_that_does_not_listen_is_refused,
		a_reload_opens_what_is_new_and_closes_what_is_gone,
		a_socket_that_is_removed_or_replaced_is_missed_at_once,
		nobody_can_have_known_a_socket_in_a_directory_that_was_not_there,
		a_reload_that_fails_leaves_all_as_it_was,
		clients_that_take_long_to_admit_wait_for_several_turns);
}
