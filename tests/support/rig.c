/*
 * rig: see rig.h.
 */
#include "tests/support/rig.h"

#include "daemon/base/clock.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 20000

struct rig rig;

/* The daemon stands still while a test does something else, which on a busy machine takes seconds: a lease
 * lasts for longer than that, unless a test is about its end. */
#define LEASE_MS 60000
static const struct rule rules[] = {{.match = "short/*", .lease_ms = RIG_SHORT_MS, .wait_ms = -1},
	{.match = "*", .lease_ms = LEASE_MS, .wait_ms = -1}};

static int
on_reload(void *arg, char *text, size_t room)
{
	struct rig *r = arg;
	r->reloads++;
	snprintf(text, room, "%s", r->reload_fails ? "line 3 is wrong" : "reloaded");
	return r->reload_fails ? -1 : 0;
}

static bool
on_prepare(void *arg, char *why, size_t room)
{
	return on_reload(arg, why, room) == 0;
}

static int
on_find_master(void *arg, struct slice name, struct master_address *out, char *why, size_t room)
{
	(void)arg;
	if (name.n > 0 && name.p[0] == '?') {
		snprintf(why, room, "%.*s: no such place", (int)name.n, name.p);
		return -1;
	}
	snprintf(out->address, sizeof out->address, "%.*s", (int)name.n, name.p);
	snprintf(out->way, sizeof out->way, "url");
	return 0;
}

static void
on_relied_on(void *arg, int64_t until_ms)
{
	(void)arg;
	(void)until_ms;
	if (rig.relied++ == 0) {
		rig.relied_bytes = rig.stats.ledger_bytes;
	}
}

struct driver_settings
rig_settings(void)
{
	struct driver_settings settings = {
		.core = {.rules = rules,
			.rule_count = 2,
			.namespace_ = "holdfast",
			.daemon_id = "00112233445566778899aabbccddeeff",
			.lease_max_ms = LEASE_MS,
			.margin_ms = 100,
			.masters = 1,
			.links = 1,
			.streak = 64,
			.streak_ms = 100,
			.grants_per_session = 100,
			.waiters_per_session = 100,
			.lost_per_session = 10,
			.name_bytes = 512},
		.pools = {POOL_SETTINGS_DEFAULT},
		.limits = {.connections = {.request = {.bytes = 65536, .arguments = 128},
				   .output_bytes = 1 << 20},
			.admission = {.clients = 800, .per_user = 700, .login_ms = 3600000},
			.processes = {.most = 20, .per_user = 20},
			.grace = {.sessions = 20, .per_user = 20, .most_ms = 60000, .ttl_ms = 60000},
			.per_user = {.locks = 1000, .latches = 1000}},
		.facts = {.version = "9.8.7",
			.secret = "",
			.daemon_id = "00112233445566778899aabbccddeeff",
			.config = "",
			.pending = "",
			.namespace = "holdfast",
			.ledger = "",
			.host = "here",
			.only_address = "",
			.only_way = "",
			.margin_ms = 100},
		.find_master = on_find_master,
		.reload = on_reload,
		.relied_on = on_relied_on,
		.prepare = on_prepare,
		.program = &rig.program,
		.arg = &rig,
	};
	settings.pools[0].path = rig.redis.path;
	settings.pools[0].daemon_id = settings.facts.daemon_id;
	settings.pools[0].lease_max_ms = LEASE_MS;
	settings.pools[0].margin_ms = 100;
	settings.pools[0].unguarded = true;
	settings.facts.started_ms = clock_ms();
	return settings;
}

/* A port that is free now may be one at which a client of another test, which runs beside this one, looks for
 * its daemon again. Its logins would count as guesses here: so the daemon listens at an address where nobody
 * looks for another one. Connections to it come from 127.0.0.1. */
static void
rig_choose_host(void)
{
	unsigned pid = (unsigned)getpid();

	snprintf(rig.host, sizeof rig.host, "127.%u.%u.%u", 64 + (pid >> 16) % 64, (pid >> 8) % 256,
		pid % 256);
}

void
rig_init(void)
{
	char error[256] = "";
	static char *argv[] = {"/nowhere/holdfastd", NULL};
	rig = (struct rig){.notify.fd = -1, .program = {argv[0], argv}};
	redis_init(&rig.redis, false, NULL);
	log_init(&rig.log, -1, LOG_ERROR_LEVEL, 0);
	stats_init(&rig.stats);
	snprintf(rig.path, sizeof rig.path, "%s/run/hf.sock", rig.redis.dir.path);
	rig.port = free_port();
	rig_choose_host();
	const struct socket_settings sockets[] = {
		{.path = rig.path, .mode = 0600, .release = true}, {.host = rig.host, .port = rig.port}};
	const struct driver_settings settings = rig_settings();
	rig.driver = driver_new(&rig.log, &rig.stats, &rig.notify);
	ck_assert_ptr_nonnull(rig.driver);
	int failed = driver_listen(rig.driver, sockets, 2, error, sizeof error);
	ck_assert_msg(!failed, "%s", error);
	ck_assert_int_eq(driver_start(rig.driver, &settings), 0);
}

void
rig_done(void)
{
	driver_free(rig.driver);
	redis_done(&rig.redis);
}

int
rig_client(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(to.sun_path, rig.path, sizeof to.sun_path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

int
rig_client_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(inet_pton(AF_INET, rig.host, &to.sin_addr), 1);
	to.sin_port = htons(rig.port);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

void
rig_say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Runs the loop until the client has received n bytes or, with n == 0, the end of the stream. */
const char *
rig_hear(int fd, size_t n)
{
	size_t have = 0;
	int64_t until_ms = clock_ms() + PATIENCE_MS;
	while (n == 0 || have < n) {
		ssize_t got =
			recv(fd, rig.heard + have, n ? n - have : sizeof rig.heard - have - 1, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN)) {
			break;
		}
		have += got > 0 ? (size_t)got : 0;
		rig.heard[have] = '\0';
		ck_assert_msg(clock_ms() < until_ms, "heard only: %s", rig.heard);
		if (got < 0) {
			driver_turn(rig.driver);
		}
	}
	rig.heard[have] = '\0';
	return rig.heard;
}

const char *
rig_hear_line(int fd)
{
	size_t n = 0;
	char line[8192];
	do {
		line[n] = rig_hear(fd, 1)[0];
		ck_assert_msg(line[n] != '\0', "the connection has ended");
	} while (line[n++] != '\n');
	memcpy(rig.heard, line, n);
	rig.heard[n] = '\0';
	return rig.heard;
}

void
rig_ask(int fd, const char *request, const char *answer)
{
	rig_say(fd, request);
	rig_say(fd, "\r\n");
	ck_assert_str_eq(rig_hear(fd, strlen(answer)), answer);
}

/* Expects an answer that begins with `begins`; returns its line. */
const char *
rig_ask_line(int fd, const char *request, const char *begins)
{
	rig_say(fd, request);
	rig_say(fd, "\r\n");
	const char *line = rig_hear_line(fd);
	ck_assert_msg(strncmp(line, begins, strlen(begins)) == 0, "%s: %s", request, line);
	return line;
}

/* All bytes up to the line that ends with `last`. */
const char *
rig_hear_until(int fd, const char *last)
{
	static char all[16384];
	size_t n = 0;
	do {
		const char *line = rig_hear_line(fd);
		ck_assert_uint_lt(n + strlen(line), sizeof all);
		n += (size_t)snprintf(all + n, sizeof all - n, "%s", line);
	} while (n < strlen(last) || strcmp(all + n - strlen(last), last) != 0);
	return all;
}

void
rig_hello3(int fd)
{
	rig_say(fd, "HELLO 3\r\n");
	rig_hear_until(fd, "modules\r\n*0\r\n");
}

/* Returns the bulk string of the answer, without its header. */
const char *
rig_ask_bulk(int fd, const char *request)
{
	size_t n = (size_t)atoi(rig_ask_line(fd, request, "$") + 1);
	rig_hear(fd, n + 2);
	rig.heard[n] = '\0';
	return rig.heard;
}

/* Returns when all requests that were sent before have been handled. */
void
rig_sync_all(void)
{
	int fd = rig_client();
	rig_ask(fd, "PING", "+PONG\r\n");
	close(fd);
}

pid_t
rig_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		for (;;) {
			pause();
		}
	}
	return pid;
}

void
rig_bind(int fd, pid_t pid, const char *answer)
{
	static const char request[] = "SESSION BIND\r\n";
	int passed = (int)syscall(SYS_pidfd_open, pid, 0);
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec bytes = {.iov_base = (void *)request, .iov_len = sizeof request - 1};
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &passed, sizeof(int));
	ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)sizeof request - 1);
	close(passed);
	ck_assert_str_eq(rig_hear(fd, strlen(answer)), answer);
}
