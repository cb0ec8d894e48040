/*
 * redis: starts and stops a server process for a suite. Readiness is read from the server's own log, never
 * guessed by time. Used by suites only.
 */
#include "tests/support/redis.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY       "eady to accept connections" /* "The server is now ready ..." and "Ready ..." */
#define START_TRIES 5 /* another process may take the free port before the server does */
#define PORT_FIRST  10000
#define PORT_END    65536

__attribute__((format(printf, 1, 2), noreturn)) static void
give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("redis-server of the test: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

/* The name is free once in a network namespace. The descriptor stays open as long as the process. */
static bool
port_reserve(uint16_t port)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
	int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "holdfast-test-port-%u", port);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
	int reserved = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool free = reserved >= 0 && bind(reserved, (struct sockaddr *)&name, size) == 0 && probe >= 0 &&
		    bind(probe, (struct sockaddr *)&address, sizeof address) == 0;

	if (probe >= 0)
		close(probe);
	if (!free && reserved >= 0)
		close(reserved);
	return free;
}

uint16_t
free_port(void)
{
	unsigned low = 0, first = PORT_FIRST, start;
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");

	if (!file || fscanf(file, "%u", &low) != 1 || low <= 2 * first)
		low = PORT_END;
	if (file)
		fclose(file);
	if (getrandom(&start, sizeof start, 0) != (ssize_t)sizeof start)
		give_up("no random number: %s", strerror(errno));
	for (unsigned i = 0; i < low - first; i++) {
		uint16_t port = (uint16_t)(first + (start % (low - first) + i) % (low - first));
		if (port_reserve(port))
			return port;
	}
	give_up("no free port");
}

/* ---- a clock that stands still ---- */

#define CLOCK_STILL 2 /* of the numbers in the file, see tests/shim/clock.c */
#define CLOCK_BYTES ((CLOCK_STILL + 1) * sizeof(int64_t))

static void
clock_path(const struct redis_server *server, char *path, size_t room)
{
	snprintf(path, room, "%s/clock", server->dir.path);
}

static void
clock_make(struct redis_server *server, int64_t wall_us)
{
	char path[PATH_MAX];
	void *page = MAP_FAILED;
	int fd;

	clock_path(server, path, sizeof path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, CLOCK_BYTES) == 0)
		page = mmap(NULL, CLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		give_up("no clock: %s", strerror(errno));
	close(fd);
	server->clock_us = page;
	redis_clock(server, wall_us);
}

void
redis_clock(const struct redis_server *server, int64_t wall_us)
{
	atomic_store(&server->clock_us[CLOCK_STILL], wall_us);
}

/* The library is beside the suites. */
static void
clock_preload(const struct redis_server *server)
{
	static const char library[] = "shim/clock.so";
	char path[PATH_MAX], *base;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof library);

	if (n <= 0)
		_exit(127);
	path[n] = '\0';
	base = strrchr(path, '/') + 1;
	memcpy(base, library, sizeof library);
	setenv("LD_PRELOAD", path, 1);
	clock_path(server, path, sizeof path);
	setenv("HOLDFAST_CLOCK", path, 1);
}

static void
server_exec(struct redis_server *server, int out, pid_t parent)
{
	const char *argv[REDIS_ARGS_MAX + 24], *program = getenv("HOLDFAST_REDIS_SERVER");
	char port[8];
	const char *fixed[] = {program ? program : "redis-server", "--port", port, "--bind", "127.0.0.1",
		"--unixsocket", server->path, "--unixsocketperm", "700", "--dir", server->dir.path, "--save",
		"", "--appendonly", "no", "--loglevel", "notice", "--logfile", "", "--daemonize", "no"};
	size_t n = sizeof fixed / sizeof *fixed, i;

	snprintf(port, sizeof port, "%u", server->port);
	memcpy(argv, fixed, sizeof fixed);
	for (i = 0; i < REDIS_ARGS_MAX && server->args[i]; i++)
		argv[n++] = server->args[i];
	argv[n] = NULL;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(127);
	close_range(3, ~0U, 0);
	if (server->clock_us)
		clock_preload(server);
	execvp(argv[0], (char *const *)argv);
	if (!program && errno == ENOENT) {
		argv[0] = "valkey-server";
		execvp(argv[0], (char *const *)argv);
	}
	dprintf(1, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Reads the log until one of the words is in it. False: the server ended before. */
static bool
server_await(struct redis_server *server, const char *word, const char *other, char *said, size_t size)
{
	size_t n = 0;

	said[0] = 0;
	for (;;) {
		ssize_t got = read(server->log, said + n, size - 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		n += (size_t)got;
		said[n] = 0;
		if (strstr(said, word) || strstr(said, other))
			return true;
		if (n > size / 2) { /* keep the end: a word may be split between two reads */
			memmove(said, said + n - size / 4, size / 4 + 1);
			n = size / 4;
		}
	}
}

static bool
server_try(struct redis_server *server, const char *word, const char *other, char *said, size_t size)
{
	pid_t parent = getpid();
	int ends[2];

	unlink(server->path);
	if (pipe2(ends, O_CLOEXEC) != 0)
		give_up("pipe: %s", strerror(errno));
	server->pid = fork();
	if (server->pid < 0)
		give_up("fork: %s", strerror(errno));
	if (server->pid == 0)
		server_exec(server, ends[1], parent);
	close(ends[1]);
	server->log = ends[0];
	/* The log is not read again, so the pipe needs room for the rest of it. */
	fcntl(server->log, F_SETPIPE_SZ, 1 << 20);
	if (server_await(server, word, other, said, size))
		return true;
	close(server->log);
	waitpid(server->pid, NULL, 0);
	server->pid = 0;
	return false;
}

void
redis_start(struct redis_server *server)
{
	char said[8192];

	if (!server_try(server, READY, READY, said, sizeof said))
		give_up("did not start: %s", said);
}

void
redis_start_loading(struct redis_server *server)
{
	char said[8192];

	if (!server_try(server, "Server initialized", READY, said, sizeof said))
		give_up("did not start: %s", said);
}

/* Its directory is there, and it has not been started. */
static void
server_make(struct redis_server *server)
{
	memset(server, 0, sizeof *server);
	tempdir_init(&server->dir);
	snprintf(server->path, sizeof server->path, "%s/redis.sock", server->dir.path);
}

void
redis_init_still(struct redis_server *server, int64_t wall_us)
{
	server_make(server);
	clock_make(server, wall_us);
	redis_start(server);
}

void
redis_init(struct redis_server *server, bool tcp, const char *const *args)
{
	char said[8192];
	size_t i;
	int tries;

	server_make(server);
	for (i = 0; args && args[i]; i++) {
		if (i == REDIS_ARGS_MAX - 1)
			give_up("more than %d options", REDIS_ARGS_MAX - 1);
		server->args[i] = args[i];
	}
	for (tries = 0; tries < START_TRIES; tries++) {
		server->port = tcp ? free_port() : 0;
		if (server_try(server, READY, READY, said, sizeof said))
			return;
	}
	give_up("did not start: %s", said);
}

void
redis_kill(struct redis_server *server)
{
	if (server->control)
		redisFree(server->control);
	server->control = NULL;
	if (server->pid == 0)
		return;
	kill(server->pid, SIGKILL);
	while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(server->log);
	server->pid = 0;
}

void
redis_done(struct redis_server *server)
{
	redis_kill(server);
	if (server->clock_us)
		munmap((void *)server->clock_us, CLOCK_BYTES);
	tempdir_done(&server->dir);
}

void
redis_pause(struct redis_server *server)
{
	int status;

	kill(server->pid, SIGSTOP);
	if (waitpid(server->pid, &status, WUNTRACED) != server->pid || !WIFSTOPPED(status))
		give_up("did not stop");
}

void
redis_continue(struct redis_server *server)
{
	kill(server->pid, SIGCONT);
}

static redisReply *
command_run(struct redis_server *server, const char *format, va_list args)
{
	redisReply *reply;

	if (!server->control)
		server->control = redisConnectUnix(server->path);
	if (!server->control || server->control->err)
		give_up("%s: %s", server->path, server->control ? server->control->errstr : "no memory");
	reply = redisvCommand(server->control, format, args);
	if (!reply)
		give_up("%s: %s", format, server->control->errstr);
	return reply;
}

redisReply *
redis_command(struct redis_server *server, const char *format, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, format);
	reply = command_run(server, format, args);
	va_end(args);
	return reply;
}

void
redis_run(struct redis_server *server, const char *format, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, format);
	reply = command_run(server, format, args);
	va_end(args);
	if (reply->type == REDIS_REPLY_ERROR)
		give_up("%s: %s", format, reply->str);
	freeReplyObject(reply);
}

int64_t
redis_integer(struct redis_server *server, const char *format, ...)
{
	redisReply *reply;
	va_list args;
	int64_t value;

	va_start(args, format);
	reply = command_run(server, format, args);
	va_end(args);
	if (reply->type != REDIS_REPLY_INTEGER)
		give_up("%s: no integer but %s", format, reply->str ? reply->str : "another reply");
	value = reply->integer;
	freeReplyObject(reply);
	return value;
}
