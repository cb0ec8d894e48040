/*
 * Tests of the whole daemon but main: a driver on a real redis-server, spoken to over its sockets. What each
 * verb answers, byte for byte where PROTOCOL.md section 9 says so.
 */
#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/base/notify.h"
#include "daemon/base/stats.h"
#include "daemon/driver.h"
#include "tests/support/redis.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000

struct probe {
	struct redis_server redis;
	struct log log;
	struct stats stats;
	struct notify notify;
	struct driver *driver;
	char path[108];
	uint16_t port;
	char heard[65536]; /* the latest answer */
	int reloads;
	bool reload_fails;
};

static struct probe probe;

static const struct rule rules[] = {{.match = "*", .lease_ms = 1000, .wait_ms = -1}};

static int
on_reload(void *arg, char *text, size_t room)
{
	struct probe *p = arg;
	p->reloads++;
	snprintf(text, room, "%s", p->reload_fails ? "line 3 is wrong" : "reloaded");
	return p->reload_fails ? -1 : 0;
}

static struct driver_settings
settings_make(void)
{
	struct driver_settings settings = {
		.core = {.rules = rules,
			.rule_count = 1,
			.lease_max_ms = 1000,
			.margin_ms = 100,
			.links = 1,
			.streak = 64,
			.streak_ms = 100,
			.grants_per_session = 100,
			.waiters_per_session = 100,
			.lost_per_session = 10,
			.name_bytes = 512},
		.pool = POOL_SETTINGS_DEFAULT,
		.limits = {.connections = {.request = {.bytes = 65536, .arguments = 128},
				   .output_bytes = 1 << 20},
			.door = {.clients = 50, .per_user = 40, .login_ms = 3600000},
			.processes = {.most = 20, .per_user = 20}},
		.facts = {.version = "9.8.7",
			.daemon_id = "00112233445566778899aabbccddeeff",
			.config = "",
			.master = "here",
			.namespace = "holdfast",
			.lease_max_ms = 1000,
			.margin_ms = 100},
		.reload = on_reload,
		.arg = &probe,
	};
	settings.pool.path = probe.redis.path;
	settings.pool.daemon_id = settings.facts.daemon_id;
	settings.pool.lease_max_ms = 1000;
	settings.pool.margin_ms = 100;
	settings.pool.unguarded = true;
	settings.facts.started_ms = clock_ms();
	return settings;
}

static void
setup(void)
{
	char error[256] = "";
	probe = (struct probe){.notify.fd = -1};
	redis_init(&probe.redis, false, NULL);
	log_init(&probe.log, -1, LOG_ERROR_LEVEL, 0);
	stats_init(&probe.stats);
	snprintf(probe.path, sizeof probe.path, "%s/run/hf.sock", probe.redis.dir.path);
	probe.port = free_port();
	const struct socket_settings sockets[] = {
		{.path = probe.path, .mode = 0600}, {.host = "127.0.0.1", .port = probe.port}};
	const struct driver_settings settings = settings_make();
	probe.driver = driver_new(&probe.log, &probe.stats, &probe.notify);
	ck_assert_ptr_nonnull(probe.driver);
	int failed = driver_listen(probe.driver, sockets, 2, error, sizeof error);
	ck_assert_msg(!failed, "%s", error);
	ck_assert_int_eq(driver_start(probe.driver, &settings), 0);
}

static void
teardown(void)
{
	driver_free(probe.driver);
	redis_done(&probe.redis);
}

static int
client(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	memcpy(to.sun_path, probe.path, sizeof to.sun_path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static int
client_tcp(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	to.sin_port = htons(probe.port);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void
say(int fd, const char *text)
{
	ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Turns until the client has heard n bytes or, with n == 0, the end. */
static const char *
hear(int fd, size_t n)
{
	size_t have = 0;
	int64_t until_ms = clock_ms() + PATIENCE_MS;
	while (n == 0 || have < n) {
		ssize_t got = recv(
			fd, probe.heard + have, n ? n - have : sizeof probe.heard - have - 1, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN)) {
			break;
		}
		have += got > 0 ? (size_t)got : 0;
		probe.heard[have] = '\0';
		ck_assert_msg(clock_ms() < until_ms, "heard only: %s", probe.heard);
		if (got < 0) {
			driver_turn(probe.driver);
		}
	}
	probe.heard[have] = '\0';
	return probe.heard;
}

static const char *
hear_line(int fd)
{
	size_t n = 0;
	char line[8192];
	do {
		line[n] = hear(fd, 1)[0];
		ck_assert_msg(line[n] != '\0', "the connection has ended");
	} while (line[n++] != '\n');
	memcpy(probe.heard, line, n);
	probe.heard[n] = '\0';
	return probe.heard;
}

static void
ask(int fd, const char *request, const char *answer)
{
	say(fd, request);
	say(fd, "\r\n");
	ck_assert_str_eq(hear(fd, strlen(answer)), answer);
}

/* The answer begins so; all of its line is taken. */
static const char *
ask_line(int fd, const char *request, const char *begins)
{
	say(fd, request);
	say(fd, "\r\n");
	const char *line = hear_line(fd);
	ck_assert_msg(strncmp(line, begins, strlen(begins)) == 0, "%s: %s", request, line);
	return line;
}

/* All up to the line that ends so. */
static const char *
hear_until(int fd, const char *last)
{
	static char all[16384];
	size_t n = 0;
	do {
		const char *line = hear_line(fd);
		ck_assert_uint_lt(n + strlen(line), sizeof all);
		n += (size_t)snprintf(all + n, sizeof all - n, "%s", line);
	} while (n < strlen(last) || strcmp(all + n - strlen(last), last) != 0);
	return all;
}

static void
hello3(int fd)
{
	say(fd, "HELLO 3\r\n");
	hear_until(fd, "modules\r\n*0\r\n");
}

/* A bulk string, without its header. */
static const char *
ask_bulk(int fd, const char *request)
{
	size_t n = (size_t)atoi(ask_line(fd, request, "$") + 1);
	hear(fd, n + 2);
	probe.heard[n] = '\0';
	return probe.heard;
}

/* Whatever was said before has arrived. */
static void
sync_all(void)
{
	int fd = client();
	ask(fd, "PING", "+PONG\r\n");
	close(fd);
}

START_TEST(a_lock_is_taken_checked_and_given_back)
{
	int fd = client();
	ask_line(fd, "LOCK a", ":1");
	ask_line(fd, "CHECK a", ":");
	ask(fd, "LOCK a", "-HELD ");
	hear_line(fd);
	ask(fd, "UNLOCK a", ":0\r\n");
	ask(fd, "CHECK a", "$-1\r\n");
	ask_line(fd, "UNLOCK a", "-NOTHELD ");
	close(fd);
}
END_TEST

START_TEST(a_lock_passes_on_when_its_holder_dies)
{
	int first = client(), second = client();
	ask_line(first, "LOCK a", ":1");
	say(second, "LOCK a\r\nCHECK a\r\n");
	sync_all();
	close(first);
	ck_assert_int_eq(hear_line(second)[0], ':');
	ck_assert_int_eq(hear_line(second)[0], ':');
	close(second);
}
END_TEST

START_TEST(an_end_of_file_makes_a_wait_give_up)
{
	int first = client(), second = client();
	ask_line(first, "LOCK a", ":1");
	say(second, "LOCK a\r\nLOCK b\r\nLOCK a\r\n");
	shutdown(second, SHUT_WR);
	ck_assert_str_eq(hear_line(second), "$-1\r\n");
	ck_assert_int_eq(hear_line(second)[0], ':');
	ck_assert_str_eq(hear_line(second), "$-1\r\n");
	ck_assert_str_eq(hear(second, 0), "");
	close(first);
	close(second);
}
END_TEST

START_TEST(what_libraries_send_is_answered_as_redis_does)
{
	int fd = client();
	ask(fd, "PING", "+PONG\r\n");
	ask(fd, "PING hi", "$2\r\nhi\r\n");
	ask(fd, "ECHO hi", "$2\r\nhi\r\n");
	ask(fd, "SELECT 0", "+OK\r\n");
	ask_line(fd, "SELECT 1", "-ERR DB index is out of range");
	ask(fd, "CLIENT ID", ":1\r\n");
	ask(fd, "CLIENT GETNAME", "$-1\r\n");
	ask(fd, "CLIENT SETNAME me", "+OK\r\n");
	ask(fd, "CLIENT GETNAME", "$2\r\nme\r\n");
	ask(fd, "CLIENT SETINFO LIB-NAME x", "+OK\r\n");
	ask(fd, "CLIENT SETINFO lib-ver 1", "+OK\r\n");
	ask(fd, "CONFIG GET save", "*0\r\n");
	ask_line(fd, "CLIENT PAUSE", "-ERR unknown subcommand 'PAUSE'");
	ask_line(fd, "SET a 1", "-ERR unknown command 'SET'");
	ask_line(fd, "COMMAND COUNT", ":");
	ck_assert_ptr_nonnull(strstr(ask_bulk(fd, "CLIENT INFO"), "id=1 addr=unix name=me "));
	ck_assert_ptr_nonnull(strstr(probe.heard, " lib-name=x lib-ver=1 cmd=client|info "));
	ask_line(fd, "AUTH x", "-ERR AUTH");
	ask(fd, "QUIT", "+OK\r\n");
	ck_assert_str_eq(hear(fd, 0), "");
	close(fd);
}
END_TEST

START_TEST(hello_switches_the_protocol_and_back)
{
	int fd = client();
	ask(fd, "HELLO 3 SETNAME me",
		"%7\r\n$6\r\nserver\r\n$8\r\nholdfast\r\n$7\r\nversion\r\n$5\r\n9.8.7\r\n$5\r\nproto\r\n:"
		"3\r\n"
		"$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
		"$7\r\nmodules\r\n*0\r\n");
	ask(fd, "CHECK a", "_\r\n");
	ask(fd, "CONFIG GET save", "%0\r\n");
	ask(fd, "CLIENT GETNAME", "$2\r\nme\r\n");
	ask_line(fd, "HELLO 4", "-NOPROTO ");
	ask(fd, "HELLO 2", "*14\r\n");
	hear_until(fd, "modules\r\n*0\r\n");
	close(fd);
	fd = client();
	ask_line(fd, "LOCK a ASYNC j", "-ERR ");
	ask_line(fd, "SESSION ONLOSS PUSH", "-ERR ");
	close(fd);
}
END_TEST

START_TEST(an_asynchronous_lock_is_pushed)
{
	int first = client(), second = client();
	ask_line(first, "LOCK a", ":1");
	hello3(second);
	ask(second, "LOCK a ASYNC j1", "+QUEUED\r\n");
	ask(second, "LOCK a WAIT 1 OWNER x ASYNC j2", "+QUEUED\r\n");
	ck_assert_str_eq(hear(second, 33), ">4\r\n$6\r\nfailed\r\n$2\r\nj2\r\n_\r\n$0\r\n\r\n");
	ask(second, "PING", "+PONG\r\n");
	ask(first, "UNLOCK a", ":0\r\n");
	ck_assert_str_eq(hear(second, 23), ">3\r\n$5\r\ngrant\r\n$2\r\nj1\r\n");
	ck_assert_int_eq(hear_line(second)[0], ':');
	close(first);
	close(second);
}
END_TEST

START_TEST(an_end_of_file_waits_for_the_pushes_that_are_due)
{
	int first = client(), second = client();
	ask_line(first, "LOCK a", ":1");
	hello3(second);
	ask(second, "LOCK a ASYNC j1", "+QUEUED\r\n");
	ask(second, "LOCK a OWNER x ASYNC j2", "+QUEUED\r\n");
	ask(second, "CANCEL j2", ":1\r\n");
	say(second, "LOCK b ASYNC j3\r\nPING\r\n");
	shutdown(second, SHUT_WR);
	/* In no promised order. */
	const char *all = hear(second, 0);
	ck_assert_ptr_nonnull(strstr(all, ">4\r\n$6\r\nfailed\r\n$2\r\nj1\r\n_\r\n$0\r\n\r\n"));
	ck_assert_ptr_nonnull(strstr(all, "+QUEUED\r\n"));
	ck_assert_ptr_nonnull(strstr(all, ">3\r\n$5\r\ngrant\r\n$2\r\nj3\r\n:1"));
	ck_assert_ptr_nonnull(strstr(all, "+PONG\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(reset_ends_the_session_and_begins_another)
{
	int fd = client(), other = client();
	ask(fd, "SESSION ID", ":1\r\n");
	ask(other, "PING", "+PONG\r\n");
	ask(fd, "CLIENT SETNAME me", "+OK\r\n");
	hello3(fd);
	ask_line(fd, "LOCK a", ":1");
	ask(fd, "EVENTS", "+OK\r\n");
	ask(fd, "RESET", "+RESET\r\n");
	ask(fd, "CHECK a", "$-1\r\n");
	ask(fd, "CLIENT GETNAME", "$-1\r\n");
	ask(fd, "SESSION ID", ":3\r\n");
	ask(fd, "CLIENT ID", ":3\r\n");
	ask_line(other, "LOCK a WAIT 0", ":");
	ask(fd, "PING", "+PONG\r\n");
	close(fd);
	close(other);
}
END_TEST

START_TEST(events_come_as_lines_or_pushes)
{
	int plain = client(), pushed = client(), some = client(), actor = client();
	ask_line(actor, "LOCK the-master-is-in-use", ":1");
	ask(plain, "EVENTS", "+OK\r\n");
	hello3(pushed);
	ask(pushed, "EVENTS", "+OK\r\n");
	ask(some, "EVENTS MATCH b*", "+OK\r\n");
	ask_line(actor, "LOCK a", ":1");
	ck_assert_ptr_eq(strstr(hear_line(plain), "+lease.acquired name=a "), probe.heard);
	ck_assert_ptr_eq(strstr(hear_line(plain), "+lock.granted name=a session=4 token="), probe.heard);
	ck_assert_ptr_nonnull(strstr(probe.heard, " at_ms="));
	ck_assert_str_eq(hear(pushed, 15), ">2\r\n$5\r\nevent\r\n");
	ask_line(plain, "LOCK b", "-ERR ");
	ask(plain, "PING", "+PONG\r\n");
	ask_line(actor, "LOCK b", ":1");
	ck_assert_ptr_eq(strstr(hear_line(some), "+lease.acquired name=b "), probe.heard);
	close(plain);
	ask(actor, "UNLOCK a", ":0\r\n");
	ask(actor, "UNLOCK b", ":0\r\n");
	close(pushed);
	close(some);
	close(actor);
}
END_TEST

START_TEST(a_watcher_that_does_not_read_is_cut)
{
	int watcher = client(), actor = client();
	ask(watcher, "EVENTS", "+OK\r\n");
	for (int i = 0; i < 20000 && probe.stats.client_output_closed == 0; i++) {
		ask_line(actor, "LOCK a", ":");
		ask(actor, "UNLOCK a", ":0\r\n");
	}
	ck_assert_int_eq(probe.stats.client_output_closed, 1);
	ck_assert_ptr_nonnull(strstr(ask_bulk(actor, "INFO clients"), "event_streams:0"));
	close(watcher);
	close(actor);
}
END_TEST

START_TEST(inspect_shows_holder_and_waiters)
{
	int first = client(), second = client();
	ask(first, "CLIENT SETNAME one", "+OK\r\n");
	ask_line(first, "LOCK a WHY \"some work\" OWNER t", ":1");
	say(second, "LOCK a WHY patience\r\n");
	sync_all();
	ask(first, "INSPECT a",
		"*24\r\n$4\r\nname\r\n$1\r\na\r\n$4\r\nkind\r\n$9\r\nexclusive\r\n$5\r\nstate\r\n$"
		"4\r\nheld\r\n");
	const char *rest = hear_until(first, "patience\r\n");
	ck_assert_ptr_nonnull(
		strstr(rest, "$6\r\nholder\r\n*24\r\n$7\r\nsession\r\n:1\r\n$6\r\nclient\r\n$3\r\none\r\n"));
	ck_assert_ptr_nonnull(strstr(rest, "$3\r\nwhy\r\n$9\r\nsome work\r\n"));
	ck_assert_ptr_nonnull(strstr(rest, "$7\r\nwaiters\r\n*1\r\n*20\r\n$8\r\nposition\r\n:1\r\n"));
	close(first);
	close(second);
}
END_TEST

START_TEST(a_name_nobody_knows_is_free)
{
	int fd = client();
	ask(fd, "INSPECT nobody",
		"*24\r\n$4\r\nname\r\n$6\r\nnobody\r\n$4\r\nkind\r\n$9\r\nexclusive\r\n$5\r\nstate\r\n$"
		"4\r\nfree\r\n"
		"$5\r\nlease\r\n$4\r\nnone\r\n$8\r\nlease_ms\r\n:0\r\n$9\r\nelsewhere\r\n$-1\r\n$"
		"8\r\nposition\r\n:0\r\n"
		"$6\r\nwanted\r\n:0\r\n$11\r\ntokens_left\r\n:0\r\n$6\r\nmaster\r\n");
	close(fd);
}
END_TEST

START_TEST(locks_are_listed_as_far_as_asked)
{
	int fd = client();
	for (int i = 0; i < 20; i++) {
		char request[64];
		snprintf(request, sizeof request, "LOCK %s%d", i < 10 ? "job/" : "x/", i);
		ask_line(fd, request, ":");
	}
	ask_line(fd, "LOCKS", "*20\r\n");
	close(fd);
	fd = client();
	ask_line(fd, "LOCK job/1", ":");
	ask_line(fd, "LOCK y", ":");
	ask_line(fd, "LOCKS MATCH job/*", "*1\r\n");
	close(fd);
	fd = client();
	for (int i = 0; i < 5; i++) {
		char request[64];
		snprintf(request, sizeof request, "LOCK z%d", i);
		ask_line(fd, request, ":");
	}
	ask_line(fd, "LOCKS COUNT 3", "*3\r\n");
	close(fd);
}
END_TEST

START_TEST(info_has_the_fields_libraries_look_for)
{
	int fd = client();
	const char *text = ask_bulk(fd, "INFO");
	static const char *const wanted[] = {"# Server\r\n", "redis_version:7", "redis_mode:standalone",
		"role:master", "loading:0", "connected_clients:1", "# Masters\r\n", "# Stats\r\n",
		"# Commandstats\r\n", "holdfast_version:9.8.7", "maxclients:50"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		ck_assert_msg(strstr(text, wanted[i]) != NULL, "%s is not in %s", wanted[i], text);
	}
	text = ask_bulk(fd, "INFO CLIENTS locks");
	ck_assert_ptr_eq(strstr(text, "# Clients\r\n"), text);
	ck_assert_ptr_nonnull(strstr(text, "\r\n\r\n# Locks\r\n"));
	ck_assert_ptr_null(strstr(text, "# Server"));
	/* StackExchange.Redis and others ask for sections of Redis by themselves. */
	ck_assert_ptr_nonnull(strstr(ask_bulk(fd, "INFO SERVER"), "redis_version:7"));
	ck_assert_ptr_nonnull(strstr(ask_bulk(fd, "INFO Everything"), "# Commandstats\r\n"));
	ck_assert_str_eq(ask_bulk(fd, "INFO replication"), "");
	ck_assert_str_eq(ask_line(fd, "INFO server nothing", "-ERR "),
		"-ERR INFO: there is no section 'nothing': Server, Clients, Locks, Masters, Stats, "
		"Commandstats, "
		"or all\r\n");
	close(fd);
}
END_TEST

START_TEST(a_stranger_logs_in_first)
{
	static const struct access_user users[] = {
		{.name = "ann", .password = "pw", .admin = true}, {.name = "bob", .password = "pw2"}};
	int tcp = client_tcp(), local = client();
	ask(tcp, "PING", "+PONG\r\n");
	ck_assert_int_eq(driver_set_users(probe.driver, users, 2), 0);
	ask_line(tcp, "PING", "-NOAUTH ");
	ask_line(tcp, "NONSENSE", "-NOAUTH ");
	ask_line(tcp, "LOCK a", "-NOAUTH ");
	ask_line(tcp, "HELLO 3", "-NOAUTH ");
	ask_line(tcp, "AUTH bob pw", "-WRONGPASS ");
	ask_line(tcp, "HELLO 3 AUTH bob pw", "-WRONGPASS ");
	ask(tcp, "AUTH bob pw2", "+OK\r\n");
	ask(tcp, "PING", "+PONG\r\n");
	ask_line(tcp, "CLIENT KILL ID 99", "-NOPERM ");
	ask(tcp, "AUTH ann pw", "+OK\r\n");
	ask_line(tcp, "CLIENT KILL ID 99", "-ERR ");
	ask_line(tcp, "BREAK a TOKEN 1", "-NOTHELD ");
	ask(tcp, "AUTH bob pw2", "+OK\r\n");
	ask_line(tcp, "BREAK a TOKEN 1", "-NOPERM ");
	ask(tcp, "RESET", "+RESET\r\n");
	ask_line(tcp, "PING", "-NOAUTH ");
	ask(local, "PING", "+PONG\r\n");
	ask(tcp, "AUTH bob pw2", "+OK\r\n");
	ck_assert_int_eq(driver_set_users(probe.driver, users, 1), 0);
	ck_assert_str_eq(hear(tcp, 0), "");
	ask(local, "PING", "+PONG\r\n");
	close(tcp);
	close(local);
}
END_TEST

static const struct access_user bob[] = {{.name = "bob", .password = "pw"}};

static void
limit_clients(size_t clients, size_t per_user, int64_t login_ms)
{
	struct driver_limits limits = settings_make().limits;
	limits.door = (struct door_limits){.clients = clients, .per_user = per_user, .login_ms = login_ms};
	driver_set_limits(probe.driver, &limits);
}

/* Clients that come until one is turned away, whoever they are; how many came in. */
static size_t
come_until_refused(int (*come)(void), int *fds, const char *refusal)
{
	for (size_t n = 0;; n++) {
		ck_assert_uint_lt(n, 40);
		fds[n] = come();
		say(fds[n], "PING\r\n");
		if (hear(fds[n], 1)[0] == '-') {
			ck_assert_str_eq(hear(fds[n], 0), refusal);
			close(fds[n]);
			return n;
		}
		ck_assert_str_eq(hear(fds[n], 6), "PONG\r\n");
	}
}

START_TEST(nobody_takes_all_connections)
{
	int local[40], remote[40];
	/* The owner of the socket is an administrator. */
	limit_clients(50, 2, 3600000);
	ck_assert_uint_eq(
		come_until_refused(client, local,
			"LIMIT this user has as many clients as limits.sessions-per-user allows\r\n"),
		2 + DOOR_ADMIN_ROOM);
	limit_clients(4, 2, 3600000);
	ck_assert_uint_eq(come_until_refused(client_tcp, remote,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		2);
	close(local[0]);
	for (bool in = false; !in;) {
		int again = client_tcp();
		say(again, "PING\r\n");
		in = hear(again, 7)[0] == '+';
		close(again);
	}
	ck_assert_int_ge(probe.stats.connections_rejected, 2);
	for (int i = 1; i < 2 + DOOR_ADMIN_ROOM; i++) {
		close(local[i]);
	}
	close(remote[0]);
	close(remote[1]);
}
END_TEST

START_TEST(an_administrator_finds_room_when_all_is_taken)
{
	int remote[40], local[40];
	limit_clients(3, 40, 3600000);
	ck_assert_uint_eq(come_until_refused(client_tcp, remote,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		3);
	ck_assert_uint_eq(come_until_refused(client, local,
				  "LIMIT this daemon serves as many clients as limits.clients allows\r\n"),
		DOOR_ADMIN_ROOM);
	for (int i = 0; i < DOOR_ADMIN_ROOM; i++) {
		close(local[i]);
	}
	for (bool in = false; !in;) {
		int again = client();
		say(again, "PING\r\n");
		in = hear(again, 7)[0] == '+';
		close(again);
	}
	for (int i = 0; i < 3; i++) {
		close(remote[i]);
	}
}
END_TEST

START_TEST(strangers_make_way_the_oldest_first)
{
	int fds[10], known[6], local;
	limit_clients(8, 40, 3600000);
	ck_assert_int_eq(driver_set_users(probe.driver, bob, 1), 0);
	for (int i = 0; i < 6; i++) {
		known[i] = client_tcp();
		ask(known[i], "AUTH bob pw", "+OK\r\n");
	}
	for (int i = 0; i < 10; i++) {
		fds[i] = client_tcp();
		ask_line(fds[i], "PING", "-NOAUTH ");
	}
	/* A quarter of eight. */
	for (int i = 0; i < 8; i++) {
		ck_assert_ptr_eq(strstr(hear(fds[i], 0), "-LIMIT more clients than have room"), probe.heard);
	}
	ck_assert_ptr_nonnull(strstr(ask_bulk(known[0], "INFO clients"), "strangers:2\r\n"));
	/* All eight places are taken: who has a right to one gets a stranger's. */
	local = client();
	ask(local, "PING", "+PONG\r\n");
	ck_assert_ptr_eq(strstr(hear(fds[8], 0), "-LIMIT "), probe.heard);
	ask(fds[9], "AUTH bob pw", "+OK\r\n");
	ask(fds[9], "PING", "+PONG\r\n");
	for (int i = 0; i < 6; i++) {
		ask(known[i], "PING", "+PONG\r\n");
		close(known[i]);
	}
	for (int i = 0; i < 10; i++) {
		close(fds[i]);
	}
	close(local);
}
END_TEST

START_TEST(a_stranger_has_its_time_to_log_in)
{
	int known = client_tcp(), early = client_tcp(), local = client();
	ask(early, "PING", "+PONG\r\n");
	ck_assert_int_eq(driver_set_users(probe.driver, bob, 1), 0);
	ask(known, "AUTH bob pw", "+OK\r\n");
	int late = client_tcp();
	ask_line(late, "PING", "-NOAUTH ");
	limit_clients(50, 40, 1);
	ck_assert_str_eq(
		hear(late, 0), "-NOAUTH nobody logged in for 1 ms: connect again, and begin with AUTH\r\n");
	ck_assert_ptr_eq(strstr(hear(early, 0), "-NOAUTH nobody logged in"), probe.heard);
	ask(known, "PING", "+PONG\r\n");
	ask(local, "PING", "+PONG\r\n");
	ask(known, "RESET", "+RESET\r\n");
	ck_assert_ptr_eq(strstr(hear(known, 0), "-NOAUTH nobody logged in"), probe.heard);
	close(known);
	close(early);
	close(late);
	/* Without users nobody is a stranger. */
	limit_clients(50, 40, 3600000);
	late = client_tcp();
	ask_line(late, "PING", "-NOAUTH ");
	ck_assert_int_eq(driver_set_users(probe.driver, NULL, 0), 0);
	limit_clients(50, 40, 1);
	ask(late, "PING", "+PONG\r\n");
	ck_assert_ptr_nonnull(strstr(ask_bulk(late, "INFO clients"), "strangers:0\r\n"));
	close(late);
	close(local);
}
END_TEST

START_TEST(an_admin_may_kill_a_client)
{
	int admin = client(), victim = client(), waiter = client();
	ask(victim, "CLIENT ID", ":2\r\n");
	ask_line(victim, "LOCK a", ":1");
	ask(waiter, "LOCK a WAIT 0", "$-1\r\n");
	ask(admin, "CLIENT KILL ID 2", ":1\r\n");
	ck_assert_str_eq(hear(victim, 0), "");
	/* It may still be working: its lock is withheld. */
	ask(waiter, "LOCK a WAIT 0", "$-1\r\n");
	ask_line(waiter, "LOCK a WAIT 5000", ":");
	ask_line(admin, "CLIENT KILL ID 2", "-ERR ");
	ask(admin, "CLIENT KILL ID 1", ":1\r\n");
	ck_assert_str_eq(hear(admin, 0), "");
	close(admin);
	close(victim);
	close(waiter);
}
END_TEST

static pid_t
child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		for (;;) {
			pause();
		}
	}
	return pid;
}

static void
bind_to(int fd, pid_t pid, const char *answer)
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
	ck_assert_str_eq(hear(fd, strlen(answer)), answer);
}

START_TEST(a_bound_session_lives_as_long_as_its_process)
{
	pid_t pid = child();
	int first = client(), other = client();
	bind_to(first, pid, ":0\r\n");
	ask_line(first, "LOCK a", ":1");
	close(first);
	ask(other, "LOCK a WAIT 0", "$-1\r\n");
	int second = client();
	bind_to(second, pid, ":1\r\n");
	ask_line(second, "CHECK a", ":");
	ask(other, "LOCK a WAIT 10", "$-1\r\n");
	say(other, "LOCK a\r\n");
	sync_all();
	kill(pid, SIGKILL);
	ck_assert_int_eq(hear_line(other)[0], ':');
	ck_assert_str_eq(hear(second, 0), "");
	waitpid(pid, NULL, 0);
	close(second);
	close(other);
}
END_TEST

START_TEST(a_binding_without_a_process_is_refused)
{
	int local = client(), tcp = client_tcp();
	ask_line(local, "SESSION BIND", "-ERR no descriptor");
	ask_line(tcp, "SESSION BIND", "-ERR no descriptor");
	ask(local, "PING", "+PONG\r\n");
	pid_t first = child(), second = child();
	bind_to(local, first, ":0\r\n");
	bind_to(local, second, "-ERR this session is bound to process ");
	hear_line(local);
	kill(first, SIGKILL);
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
	close(local);
	close(tcp);
}
END_TEST

START_TEST(bound_sessions_are_limited)
{
	struct driver_limits limits = settings_make().limits;
	pid_t first = child(), second = child();
	int one = client(), other = client();
	limits.processes.most = 1;
	driver_set_limits(probe.driver, &limits);
	bind_to(one, first, ":0\r\n");
	bind_to(one, first, ":0\r\n");
	bind_to(other, second,
		"-LIMIT 1 sessions are bound to processes, as many as limits.bound-sessions allows\r\n");
	kill(first, SIGKILL);
	ck_assert_str_eq(hear(one, 0), "");
	bind_to(other, second, ":0\r\n");
	kill(second, SIGKILL);
	waitpid(first, NULL, 0);
	waitpid(second, NULL, 0);
	close(one);
	close(other);
}
END_TEST

START_TEST(who_a_bound_session_was_is_known_without_a_connection)
{
	pid_t pid = child();
	int first = client(), second = client(), viewer = client();
	bind_to(first, pid, ":0\r\n");
	bind_to(second, pid, ":0\r\n");
	ask(first, "CLIENT SETNAME early", "+OK\r\n");
	ask(second, "CLIENT SETNAME late", "+OK\r\n");
	ask_line(second, "LOCK a", ":1");
	close(first);
	close(second);
	sync_all();
	ask_line(viewer, "INSPECT a", "*24");
	ck_assert_ptr_nonnull(strstr(hear_until(viewer, "waiters\r\n*0\r\n"), "client\r\n$4\r\nlate\r\n"));
	ask_line(viewer, "LOCKS", "*1");
	ck_assert_ptr_nonnull(strstr(hear_until(viewer, "waiters\r\n:0\r\n"), "client\r\n$4\r\nlate\r\n"));
	second = client();
	bind_to(second, pid, ":1\r\n");
	ask(second, "CLIENT SETNAME again", "+OK\r\n");
	ask(second, "RESET", "+RESET\r\n");
	ask_line(viewer, "LOCKS", "*1");
	ck_assert_ptr_nonnull(strstr(hear_until(viewer, "waiters\r\n:0\r\n"), "client\r\n$5\r\nagain\r\n"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(second);
	close(viewer);
}
END_TEST

START_TEST(a_reload_is_asked_for_by_verb_and_by_signal)
{
	int fd = client();
	ask(fd, "RELOAD", "$8\r\nreloaded\r\n");
	probe.reload_fails = true;
	ask(fd, "RELOAD", "-ERR line 3 is wrong\r\n");
	kill(getpid(), SIGHUP);
	while (probe.reloads < 3) {
		driver_turn(probe.driver);
	}
	ask(fd, "PING", "+PONG\r\n");
	close(fd);
}
END_TEST

START_TEST(a_drain_tells_holders_frees_the_rest_and_ends)
{
	int holder = client(), admin = client();
	ask_line(holder, "LOCK a", ":1");
	ask_line(admin, "LOCK b", ":1");
	ask(admin, "UNLOCK b", ":0\r\n");
	say(admin, "DRAIN\r\nLOCK c WAIT 0\r\n");
	driver_run(probe.driver);
	ck_assert_str_eq(hear(holder, 0), "");
	ck_assert_str_eq(hear_line(admin), "+OK\r\n");
	ck_assert_int_eq(strncmp(hear_line(admin), "-DRAINING ", 10), 0);
	ck_assert_int_ne(access(probe.path, F_OK), 0);
	ck_assert_int_eq(redis_integer(&probe.redis, "EXISTS holdfast:{a}"), 1);
	ck_assert_int_eq(redis_integer(&probe.redis, "EXISTS holdfast:{b}"), 0);
	ck_assert(!driver_is_clean(probe.driver));
	close(holder);
	close(admin);
}
END_TEST

START_TEST(a_signal_ends_an_idle_daemon_cleanly)
{
	int fd = client();
	ask_line(fd, "LOCK a", ":1");
	ask(fd, "UNLOCK a", ":0\r\n");
	kill(getpid(), SIGTERM);
	driver_run(probe.driver);
	ck_assert(driver_is_clean(probe.driver));
	ck_assert_int_eq(redis_integer(&probe.redis, "EXISTS holdfast:{a}"), 0);
	close(fd);
}
END_TEST

START_TEST(a_late_turn_looks_at_its_leases_before_its_clients)
{
	const struct timespec stall = {.tv_sec = 1, .tv_nsec = 200000000}; /* longer than a lease */
	int fd = client(), watcher = client();
	ask(fd, "SESSION ONLOSS NEXT", "+OK\r\n");
	ask_line(fd, "LOCK a", ":1");
	ask(watcher, "EVENTS", "+OK\r\n");
	say(fd, "UNLOCK a\r\n");
	nanosleep(&stall, NULL);
	ck_assert_ptr_eq(strstr(hear_line(fd), "-LOST expired"), probe.heard);
	ck_assert_ptr_eq(strstr(hear_line(watcher), "+lock.lost name=a "), probe.heard);
	ck_assert_ptr_nonnull(strstr(probe.heard, "text=expired"));
	ck_assert_ptr_eq(strstr(hear_line(watcher), "+daemon.stalled ttl_ms="), probe.heard);
	close(fd);
	close(watcher);
}
END_TEST

START_TEST(a_browser_is_cut_off)
{
	int fd = client_tcp();
	say(fd, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\nLOCK a\r\n");
	ck_assert_str_eq(hear(fd, 0), "");
	close(fd);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("driver", setup, teardown, a_lock_is_taken_checked_and_given_back,
		a_lock_passes_on_when_its_holder_dies, an_end_of_file_makes_a_wait_give_up,
		what_libraries_send_is_answered_as_redis_does, hello_switches_the_protocol_and_back,
		an_asynchronous_lock_is_pushed, an_end_of_file_waits_for_the_pushes_that_are_due,
		reset_ends_the_session_and_begins_another, events_come_as_lines_or_pushes,
		a_watcher_that_does_not_read_is_cut, inspect_shows_holder_and_waiters,
		a_name_nobody_knows_is_free, locks_are_listed_as_far_as_asked,
		info_has_the_fields_libraries_look_for, a_stranger_logs_in_first,
		nobody_takes_all_connections, an_administrator_finds_room_when_all_is_taken,
		strangers_make_way_the_oldest_first, a_stranger_has_its_time_to_log_in,
		an_admin_may_kill_a_client, a_bound_session_lives_as_long_as_its_process,
		a_binding_without_a_process_is_refused, bound_sessions_are_limited,
		who_a_bound_session_was_is_known_without_a_connection,
		a_reload_is_asked_for_by_verb_and_by_signal, a_drain_tells_holders_frees_the_rest_and_ends,
		a_signal_ends_an_idle_daemon_cleanly, a_late_turn_looks_at_its_leases_before_its_clients,
		a_browser_is_cut_off);
}
