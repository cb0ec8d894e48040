/*
 * process: see process.h. The driver calls it; it must never trust a pid without its start time, and never
 * signal anybody.
 */
#include "daemon/process.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watch {
	LIST_ENTRY(watch) entry;
	struct processes *set;
	struct process process;
	struct event event;
	int pidfd;
};

/* Few sessions are bound, and looking one up happens once per binding: a list does. */
struct processes {
	LIST_HEAD(watch_list, watch) list;
	struct event_base *base;
	process_ended *ended;
	void *arg;
	size_t count;
	size_t most;
};

struct processes *
processes_new(struct event_base *base, size_t most, process_ended *ended, void *arg)
{
	struct processes *set = calloc(1, sizeof *set);
	if (!set) {
		return NULL;
	}
	LIST_INIT(&set->list);
	set->base = base;
	set->most = most;
	set->ended = ended;
	set->arg = arg;
	return set;
}

static void
watch_free(struct watch *watch)
{
	LIST_REMOVE(watch, entry);
	watch->set->count--;
	event_del(&watch->event);
	close(watch->pidfd);
	free(watch);
}

void
processes_free(struct processes *set)
{
	if (!set) {
		return;
	}
	while (!LIST_EMPTY(&set->list)) {
		watch_free(LIST_FIRST(&set->list));
	}
	free(set);
}

size_t
processes_count(const struct processes *set)
{
	return set->count;
}

/* Reads a file of /proc whole and closes it with NUL; its length, or -1. */
static ssize_t
proc_read(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return -1;
	}
	size_t n = 0;
	ssize_t got = 0;
	while (n < room - 1 && (got = read(fd, out + n, room - 1 - n)) > 0) {
		n += (size_t)got;
	}
	close(fd);
	out[n] = '\0';
	return got < 0 ? -1 : (ssize_t)n;
}

/* The number after a line's key, such as "Pid:"; false when there is no such line. */
static bool
proc_number(const char *text, const char *key, int64_t *out)
{
	const char *line = strstr(text, key);
	if (!line || (line != text && line[-1] != '\n')) {
		return false;
	}
	char *end;
	const char *digits = line + strlen(key);
	errno = 0;
	intmax_t n = strtoimax(digits, &end, 10);
	if (errno != 0 || end == digits) {
		return false;
	}
	*out = n;
	return true;
}

/* The pid a pidfd names in our namespace: > 0, 0: none here, -1: it ended. False: not a pidfd. */
static bool
pidfd_pid(int pidfd, int64_t *pid)
{
	char path[64];
	char text[1024];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	return proc_read(path, text, sizeof text) > 0 && proc_number(text, "Pid:", pid);
}

/* Field 22 of /proc/PID/stat, ticks after boot. The command's name before it may hold anything, ')' included.
 */
static bool
process_started(int64_t pid, uint64_t *out)
{
	char path[64];
	char text[1024];
	snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
	if (proc_read(path, text, sizeof text) <= 0) {
		return false;
	}
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at + 1, ' ');
	}
	if (!at) {
		return false;
	}
	char *end;
	errno = 0;
	*out = strtoull(at + 1, &end, 10);
	return errno == 0 && end != at + 1;
}

/* Real and effective user both: whoever binds a process may later speak for its session. */
static bool
process_is_of(int64_t pid, int64_t uid, bool *of)
{
	char path[64];
	char text[4096];
	snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
	if (proc_read(path, text, sizeof text) <= 0) {
		return false;
	}
	const char *line = strstr(text, "\nUid:");
	int64_t real = -1;
	int64_t effective = -1;
	if (!line || sscanf(line, "\nUid: %" SCNd64 " %" SCNd64, &real, &effective) != 2) {
		return false;
	}
	*of = uid == 0 || (real == uid && effective == uid);
	return true;
}

static bool
pidfd_ended(int pidfd)
{
	struct pollfd at = {.fd = pidfd, .events = POLLIN};
	return poll(&at, 1, 0) != 0;
}

int
process_identify(int pidfd, int64_t uid, struct process *out, struct reply *error)
{
	int64_t pid;
	if (!pidfd_pid(pidfd, &pid)) {
		reply_error(error, CODE_ERR, "the descriptor passed with SESSION BIND is not a pidfd");
		return -1;
	}
	if (pid == 0) {
		reply_error(error, CODE_ERR, "the process is in a PID namespace this daemon does not see");
		return -1;
	}
	if (pid < 0 || pidfd_ended(pidfd)) {
		reply_error(error, CODE_ERR, "the process has ended");
		return -1;
	}
	struct process process = {.pid = pid};
	bool of = false;
	int64_t again = -1;
	bool seen = process_is_of(pid, uid, &of) && process_started(pid, &process.started);
	/* As long as the pidfd still names it, the pid was not recycled while /proc was read. */
	if (!seen || !pidfd_pid(pidfd, &again) || again != pid) {
		reply_error(error, CODE_ERR, "the process has ended, or /proc hides it from this daemon");
		return -1;
	}
	if (!of) {
		reply_error(error, CODE_NOPERM, "process %" PRId64 " belongs to another user", pid);
		return -1;
	}
	*out = process;
	return 0;
}

static void
watch_ready(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct watch *watch = arg;
	struct processes *set = watch->set;
	struct process process = watch->process;
	watch_free(watch);
	set->ended(set->arg, process);
}

static struct watch *
watch_find(const struct processes *set, struct process process)
{
	struct watch *watch;
	LIST_FOREACH (watch, &set->list, entry) {
		if (watch->process.pid == process.pid && watch->process.started == process.started) {
			return watch;
		}
	}
	return NULL;
}

bool
processes_has(const struct processes *set, struct process process)
{
	return watch_find(set, process) != NULL;
}

void
processes_forget(struct processes *set, struct process process)
{
	struct watch *watch = watch_find(set, process);
	if (watch) {
		watch_free(watch);
	}
}

int
processes_watch(struct processes *set, struct process process, int pidfd, struct reply *error)
{
	if (watch_find(set, process)) {
		close(pidfd);
		return 0;
	}
	if (set->count >= set->most) {
		reply_error(error, CODE_LIMIT, "sessions are bound to %zu processes already", set->count);
		close(pidfd);
		return -1;
	}
	struct watch *watch = calloc(1, sizeof *watch);
	if (!watch) {
		reply_error(error, CODE_LIMIT, "out of memory");
		close(pidfd);
		return -1;
	}
	watch->set = set;
	watch->process = process;
	watch->pidfd = pidfd;
	LIST_INSERT_HEAD(&set->list, watch, entry);
	set->count++;
	event_assign(&watch->event, set->base, pidfd, EV_READ, watch_ready, watch);
	if (event_add(&watch->event, NULL) != 0) {
		watch_free(watch);
		reply_error(error, CODE_LIMIT, "the process cannot be watched");
		return -1;
	}
	return 0;
}
