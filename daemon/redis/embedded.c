/*
 * embedded: see embedded.h. main calls it. It must never leave a server behind, and never call an empty
 * master trusted that may have forgotten a live grant.
 */
#include "daemon/redis/embedded.h"

#include "daemon/base/child.h"
#include "daemon/base/clock.h"
#include "daemon/base/descriptors.h"
#include "daemon/base/fd_copy.h"
#include "daemon/base/log.h"
#include "daemon/base/loop.h"
#include "daemon/base/stats.h"
#include "daemon/redis/embedded_directory.h"
#include "daemon/redis/embedded_inner.h"
#include "daemon/redis/embedded_presence.h"
#include "proto/record.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETRY_MIN_MS 100 /* before the second restart; doubles from there, the first is at once */
#define RETRY_MAX_MS 5000
#define CLOSED_MS    1000  /* for a child to close what it has inherited */
#define STABLE_MS    10000 /* after this time without a death the next one counts as the first */
#define READY        "eady to accept connections" /* "The server is now ready ...", "Ready ..." */

/* The first executable of this name in PATH. */
static bool
find_in_path(const char *name, char out[PATH_BYTES])
{
	const char *path = getenv("PATH");

	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*path) {
		size_t n = strcspn(path, ":");
		int length = snprintf(out, PATH_BYTES, "%.*s/%s", (int)n, path, name);

		if (n > 0 && length < PATH_BYTES && access(out, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* One program is the server, the sentinel and two checkers; its argv[0] decides which. Debian has it in
 * redis-tools and valkey-tools, as a checker. The package of the server adds a link to it, and a service that
 * listens on a port. */
static const struct {
	const char *file;
	const char *called;
} servers[] = {
	{"redis-server", "redis-server"},
	{"valkey-server", "valkey-server"},
	{"redis-check-rdb", "redis-server"},
	{"valkey-check-rdb", "valkey-server"},
};

static bool
find_program(struct embedded *e, const char *program, char *why)
{
	if (program && access(program, X_OK) != 0)
		return embedded_explain(why, "cannot run %s: %s", program, strerror(errno));
	if (program) {
		snprintf(e->program, sizeof e->program, "%s", program);
		snprintf(e->called, sizeof e->called, "%s", program);
		return true;
	}
	for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++)
		if (find_in_path(servers[i].file, e->program)) {
			snprintf(e->called, sizeof e->called, "%s", servers[i].called);
			return true;
		}
	return embedded_explain(why,
		"no redis-server or valkey-server found in PATH: install one of them "
		"(Debian, Ubuntu: apt install redis-tools), or name a master under masters: in "
		"the configuration");
}

bool
embedded_has_program(const char *program, char why[EMBEDDED_WHY_MAX])
{
	struct embedded e;

	return find_program(&e, program, why);
}

/* closed: ends when all that this process has inherited is closed. */
static void
child_exec(const struct embedded *e, int out, int closed, pid_t parent)
{
	const char *const argv[] = {e->called, "--port", "0", "--unixsocket", e->path, "--unixsocketperm",
		"700", "--dir", e->directory, "--save", "", "--appendonly", "no", "--maxmemory", "0",
		"--maxmemory-policy", "noeviction", "--databases", "1", "--timeout", "0", "--daemonize", "no",
		"--supervised", "no", "--loglevel", "notice", "--logfile", "", NULL};
	sigset_t none;
	int null;

	/* First of all: if the daemon is killed now, the next one needs its sockets and locks. */
	if (dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(closed, 0) < 0)
		_exit(127);
	(void)syscall(SYS_close_range, 3, ~0U, 0); /* musl has no function for this call */
	/* Signals of the terminal are for the daemon, which needs its master until it has ended. */
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null = open("/dev/null", O_RDWR);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0)
		_exit(127);
	(void)syscall(SYS_close_range, 3, ~0U, 0);
	umask(077);
	execv(e->program, (char *const *)argv);
	dprintf(1, "%s: %s\n", e->program, strerror(errno));
	_exit(127);
}

static void on_said(evutil_socket_t fd, short what, void *arg);

/*
 * As fork(). A child has a copy of all descriptors, and its close of one may be the last if this process
 * closes the same one meanwhile. So another copy is held until the child has closed its own (fd_copy.h).
 */
static pid_t
child_fork(const struct embedded *e, int out)
{
	struct pollfd poller = {.events = POLLIN};
	struct fd_copy copy;
	pid_t parent = getpid(), pid = -1;
	int closed[2];

	fd_copy_keep(&copy);
	/* Not in the copy, so that it ends with the child's. */
	if (pipe2(closed, O_CLOEXEC) == 0) {
		pid = fork();
		if (pid == 0)
			child_exec(e, out, closed[1], parent);
		close(closed[1]);
		poller.fd = closed[0];
		(void)poll(&poller, pid > 0, CLOSED_MS);
		close(closed[0]);
	}
	fd_copy_end(&copy);
	return pid;
}

/* False, with errno. */
static bool
child_start(struct embedded *e)
{
	int ends[2];

	e->n = 0;
	e->last[0] = 0;
	e->ready = e->reaped = false;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	e->readable = event_new(e->base, ends[0], EV_READ | EV_PERSIST, on_said, e);
	e->pid = e->readable && event_add(e->readable, NULL) == 0 ? child_fork(e, ends[1]) : -1;
	close(ends[1]);
	if (e->pid < 0) {
		e->pid = 0;
		if (e->readable)
			event_free(e->readable);
		e->readable = NULL;
		close(ends[0]);
		return false;
	}
	e->said = ends[0];
	e->started_ms = clock_ms();
	e->stats->embedded_starts++;
	return true;
}

/* Kills the server if it still runs, and reaps it. Returns its status. */
static int
child_end(struct embedded *e)
{
	int status = e->status;

	if (!e->reaped) {
		status = 0;
		kill(e->pid, SIGKILL);
		while (waitpid(e->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	e->pid = 0;
	event_free(e->readable);
	e->readable = NULL;
	close(e->said);
	return status;
}

static void
line_done(struct embedded *e)
{
	if (e->n == 0)
		return;
	memcpy(e->last, e->line, e->n);
	e->last[e->n] = 0;
	e->n = 0;
	if (strstr(e->last, READY))
		e->ready = true;
	LOG_EVENT(e->log, LOG_DEBUG_LEVEL, "embedded.said", log_text("text", e->last));
}

/* Reads what the server has written. False: it has ended, or has written nothing more. */
static bool
child_read(struct embedded *e, bool *ended)
{
	char bytes[4096];
	ssize_t n = read(e->said, bytes, sizeof bytes), i;

	if (n < 0 && errno == EINTR)
		return true;
	*ended = n == 0 || (n < 0 && errno != EAGAIN);
	for (i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			line_done(e);
		else if (e->n < LINE_MAX_BYTES)
			e->line[e->n++] = bytes[i];
	}
	if (*ended)
		line_done(e);
	return n > 0;
}

static void
schedule_restart(struct embedded *e)
{
	int64_t ms = RETRY_MIN_MS;
	unsigned i;

	e->deaths++;
	for (i = 2; i < e->deaths && ms < RETRY_MAX_MS; i++)
		ms *= 2;
	if (ms > RETRY_MAX_MS)
		ms = RETRY_MAX_MS;
	if (e->deaths <= 1)
		ms = 0;
	timeout_set(e->timer, ms);
}

static void
on_said(evutil_socket_t fd, short what, void *arg)
{
	struct embedded *e = arg;
	bool ended = false;
	char status[CHILD_STATUS_MAX];

	(void)fd;
	(void)what;
	child_read(e, &ended);
	if (!ended)
		return;
	child_status_text(child_end(e), status);
	LOG_EVENT(e->log, LOG_ERROR_LEVEL, "embedded.died", log_text("why", status),
		log_text("said", e->last), log_text("text", "the private master is started again"));
	if (clock_ms() - e->started_ms >= STABLE_MS)
		e->deaths = 0;
	schedule_restart(e);
}

static void
on_timer(void *arg)
{
	struct embedded *e = arg;

	if (child_start(e)) {
		LOG_EVENT(e->log, LOG_WARNING_LEVEL, "embedded.restarted", log_number("pid", e->pid));
		return;
	}
	LOG_EVENT(e->log, LOG_ERROR_LEVEL, "embedded.not_started", log_text("program", e->program),
		log_text("why", strerror(errno)),
		log_text("text", "without it nothing is locked; it is tried again"));
	schedule_restart(e);
}

/* The daemon waits for the first start, so that a server that cannot run is reported on the terminal. */
static bool
await_ready(struct embedded *e, char *why)
{
	int64_t end_ms = clock_ms() + EMBEDDED_READY_MS;
	char status[CHILD_STATUS_MAX];
	bool ended = false;

	while (!e->ready && !ended && clock_ms() < end_ms) {
		struct pollfd poller = {.fd = e->said, .events = POLLIN};

		if (poll(&poller, 1, (int)(end_ms - clock_ms())) > 0) {
			while (child_read(e, &ended))
				;
		}
	}
	if (e->ready && !ended)
		return true;
	child_status_text(child_end(e), status);
	if (!ended)
		return embedded_explain(why, "%s was not ready within %d ms; it said: %s", e->program,
			EMBEDDED_READY_MS, e->last);
	return embedded_explain(why, "%s ended at once (%s); it said: %s", e->program, status, e->last);
}

/* Sets what follows from the settings, and opens the directory. */
static bool
embedded_prepare(struct embedded *e, const char *directory, const char *program, char *why)
{
	int n;

	e->directory = strdup(directory);
	e->timer = timeout_new(e->base, on_timer, e);
	if (!e->directory || !e->timer)
		return embedded_explain(why, "out of memory");
	n = snprintf(e->path, sizeof e->path, "%s/redis.sock", e->directory);
	if (n < 0 || (size_t)n >= sizeof e->path)
		return embedded_explain(why,
			"%s: a Unix socket's path has at most %zu bytes, choose a shorter directory",
			e->directory, sizeof e->path - sizeof "/redis.sock");
	return find_program(e, program, why) && embedded_open_directory(e, why);
}

static bool
embedded_open(struct embedded *e, const struct embedded_settings *settings, char *why)
{
	if (!embedded_prepare(e, settings->directory, settings->program, why) ||
		!embedded_claim_directory(e, settings, why))
		return false;
	if (!child_start(e))
		return embedded_explain(why, "cannot start %s: %s", e->program, strerror(errno));
	return await_ready(e, why) && embedded_claim_memory(e, settings, why);
}

/* NULL: out of memory. */
static struct embedded *
embedded_make(struct event_base *base, struct log *log, struct stats *stats)
{
	struct embedded *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->base = base;
	e->log = log;
	e->stats = stats;
	e->directory_fd = e->lock_fd = e->presence_fd = e->ending.fd = e->ending.mark_fd = -1;
	e->doubt = "nothing is known";
	return e;
}

struct embedded *
embedded_new(struct event_base *base, const struct embedded_settings *settings, struct log *log,
	struct stats *stats, char why[EMBEDDED_WHY_MAX])
{
	struct embedded *e = embedded_make(base, log, stats);

	if (!e) {
		embedded_explain(why, "out of memory");
		return NULL;
	}
	if (embedded_open(e, settings, why)) {
		LOG_EVENT(log, LOG_INFO_LEVEL, "embedded.started", log_text("program", e->program),
			log_number("pid", e->pid), log_text("socket", e->path),
			log_text("memory", e->doubt ? "guarded" : "trusted"), log_text("why", e->doubt));
		return e;
	}
	embedded_free(e, false, INT64_MAX); /* nothing was granted, so the record keeps its contents */
	return NULL;
}

void
embedded_relied_on(struct embedded *e, int64_t until_ms)
{
	if (!ending_extend(&e->ending, e->directory_fd, until_ms))
		LOG_EVENT(e->log, LOG_ERROR_LEVEL, "embedded.no_record", log_text("directory", e->directory),
			log_text("why", strerror(errno)), log_text("text", "the next start guards in full"));
}

void
embedded_free(struct embedded *e, bool clean, int64_t until_ms)
{
	if (!e)
		return;
	if (e->pid > 0)
		child_end(e);
	if (e->claimed) {
		unlinkat(e->directory_fd, "redis.sock", 0);
		embedded_leave_record(e, clean, until_ms);
	}
	ending_close(&e->ending);
	timeout_free(e->timer);
	if (e->lock_fd >= 0)
		close(e->lock_fd);
	if (e->directory_fd >= 0)
		close(e->directory_fd);
	if (e->presence_fd >= 0)
		close(e->presence_fd);
	free(e->directory);
	free(e);
}

bool
embedded_reaped(struct embedded *e, pid_t pid, int status)
{
	if (e->pid == 0 || pid != e->pid)
		return false;
	/* Its output, which ends now, is read first. */
	e->reaped = true;
	e->status = status;
	return true;
}

const char *
embedded_path(const struct embedded *e)
{
	return e->path;
}

bool
embedded_trusted(const struct embedded *e)
{
	return !e->doubt;
}

int64_t
embedded_doubted_until(const struct embedded *e)
{
	return e->doubted_until_ms;
}

const char *
embedded_doubt(const struct embedded *e)
{
	return e->doubt;
}

pid_t
embedded_pid(const struct embedded *e)
{
	return e->pid;
}

/* ---- saved and loaded ---- */

struct saved {
	struct slice directory;
	int64_t pid;
	int64_t started_ms;
	int64_t deaths;
	int64_t until_ms; /* of the record in the directory */
	int64_t begun_until_ms;
	uint64_t lock; /* identities, see descriptors.h; 0: none */
	uint64_t presence;
	uint64_t said;
};

static void
saved_fields(struct record *r, struct saved *saved)
{
	record_bytes(r, &saved->directory, PATH_BYTES - 1);
	saved->pid = record_range(r, saved->pid, 0, INT32_MAX);
	record_number(r, &saved->started_ms);
	saved->deaths = record_range(r, saved->deaths, 0, UINT32_MAX);
	record_number(r, &saved->until_ms);
	record_number(r, &saved->begun_until_ms);
	record_unsigned(r, &saved->lock);
	record_unsigned(r, &saved->presence);
	record_unsigned(r, &saved->said);
}

void
embedded_save(const struct embedded *e, struct record *r, struct descriptors *given)
{
	struct saved saved = {
		.directory = slice_of(e->directory),
		.pid = e->pid,
		.started_ms = e->started_ms,
		.deaths = e->deaths,
		.until_ms = e->ending.written_ms,
		.begun_until_ms = e->begun_until_ms,
		.lock = descriptors_add(given, e->lock_fd),
		.presence = descriptors_add(given, e->presence_fd),
		.said = descriptors_add(given, e->pid > 0 ? e->said : -1),
	};

	record_begin(r, RECORD_PRIVATE_MASTER);
	saved_fields(r, &saved);
	record_end(r);
}

/* Watches the server that runs; if none does, it is started. As process 1 the process before may have read
 * its status already, and not yet have noted that it ended. */
static bool
child_adopt(struct embedded *e, const struct saved *saved, struct descriptors *given)
{
	int said = descriptors_take(given, saved->said);
	siginfo_t info;

	/* It is killed when the daemon ends: no other process must be taken for it. */
	if (saved->pid == 0 || waitid(P_PID, (id_t)saved->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
		if (said >= 0)
			close(said);
		schedule_restart(e);
		return true;
	}
	if (said >= 0)
		e->readable = event_new(e->base, said, EV_READ | EV_PERSIST, on_said, e);
	if (!e->readable || event_add(e->readable, NULL) != 0) {
		if (e->readable)
			event_free(e->readable);
		e->readable = NULL;
		if (said >= 0)
			close(said);
		return false;
	}
	e->said = said;
	e->pid = (pid_t)saved->pid;
	e->started_ms = saved->started_ms;
	e->ready = true;
	return true;
}

struct embedded *
embedded_load(struct event_base *base, const struct embedded_settings *settings, struct log *log,
	struct stats *stats, struct record *r, struct descriptors *given)
{
	struct embedded *e = embedded_make(base, log, stats);
	struct saved saved = {0};
	char directory[PATH_BYTES], why[EMBEDDED_WHY_MAX] = "out of memory";

	saved_fields(r, &saved);
	slice_text(directory, sizeof(directory), saved.directory);
	if (!e || r->failed || !embedded_prepare(e, directory, settings->program, why) ||
		(e->lock_fd = descriptors_take(given, saved.lock)) < 0) {
		record_fail(r, "its private master cannot be taken over: %.100s", why);
		embedded_free(e, false, INT64_MAX);
		return NULL;
	}
	e->claimed = true;
	e->doubt = "the server may end at any time";
	e->presence_fd = descriptors_take(given, saved.presence);
	if (!embedded_show_presence(e))
		LOG_EVENT(e->log, LOG_ERROR_LEVEL, "embedded.no_record", log_text("directory", e->directory),
			log_text("why", strerror(errno)),
			log_text("text", "a daemon that makes the directory anew does not see this one"));
	e->begun_until_ms = saved.begun_until_ms;
	e->deaths = (unsigned)saved.deaths;
	if (!ending_go_on(&e->ending, e->directory, e->directory_fd, saved.until_ms))
		LOG_EVENT(e->log, LOG_ERROR_LEVEL, "embedded.no_record", log_text("directory", e->directory),
			log_text("why", strerror(errno)), log_text("text", "the next start guards in full"));
	if (!child_adopt(e, &saved, given)) {
		record_fail(r, "its private master cannot be watched");
		embedded_free(e, false, INT64_MAX);
		return NULL;
	}
	LOG_EVENT(log, LOG_INFO_LEVEL, "embedded.adopted", log_number("pid", e->pid),
		log_text("socket", e->path));
	return e;
}
