/*
 * process: see process.h. The driver calls it. It must never trust a pid without its start time, and never
 * send a signal.
 */
#include "daemon/net/process.h"

#include "daemon/net/access.h"
#include "proto/command.h"
#include "proto/record.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct watch {
	UT_hash_handle hh;
	UT_hash_handle hh_session;
	struct processes *set;
	struct process process;
	session_id session; /* 0: not bound yet */
	char *label;        /* NULL: none */
	struct quota_user *counted;
	int64_t uid; /* of the client that it was watched for */
	struct event event;
	int pidfd; /* -1: there was none to be had when it was loaded or restored: */
	enum process_sight sight;
};

struct processes {
	struct watch *watches;  /* by process */
	struct watch *sessions; /* bound processes, by session */
	struct quota quota;
	struct event_base *base;
	process_gone *gone;
	void *arg;
	size_t most;
};

struct processes *
processes_new(struct event_base *base, const struct processes_limits *limits, process_gone *gone, void *arg)
{
	struct processes *set = calloc(1, sizeof *set);
	if (!set) {
		return NULL;
	}
	set->base = base;
	set->gone = gone;
	set->arg = arg;
	processes_set_limits(set, limits);
	return set;
}

void
processes_set_limits(struct processes *set, const struct processes_limits *limits)
{
	set->most = limits->most;
	set->quota.most = limits->per_user;
}

static void
watch_free(struct watch *watch)
{
	struct processes *set = watch->set;
	HASH_DELETE(hh, set->watches, watch);
	if (watch->session != 0) {
		HASH_DELETE(hh_session, set->sessions, watch);
	}
	quota_leave(&set->quota, watch->counted);
	event_del(&watch->event);
	if (watch->pidfd >= 0) {
		close(watch->pidfd);
	}
	free(watch->label);
	free(watch);
}

void
processes_free(struct processes *set)
{
	if (!set) {
		return;
	}
	while (set->watches) {
		watch_free(set->watches);
	}
	quota_done(&set->quota);
	free(set);
}

size_t
processes_count(const struct processes *set)
{
	return HASH_COUNT(set->watches);
}

/* Reads a whole file of /proc and ends it with NUL. Returns its length, or -1 with errno. */
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
	int why = errno;
	close(fd);
	errno = why;
	out[n] = '\0';
	return got < 0 ? -1 : (ssize_t)n;
}

/* The number after the key of a line, such as "Pid:". False: no such line. */
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

/* The number under which /proc shows the process that a pidfd names: > 0; 0: it does not show it; -1: the
 * process has ended. It is the pid here if /proc is of our PID namespace. False with errno: it cannot be
 * read, or is not a pidfd. */
static bool
pidfd_pid(int pidfd, int64_t *pid)
{
	char path[64];
	char text[1024];
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	if (proc_read(path, text, sizeof text) <= 0) {
		return false;
	}
	errno = EBADF;
	return proc_number(text, "Pid:", pid);
}

/* Identifies our PID namespace; 0: unknown. Another one can have this number only when no process of the one
 * that had it is left. */
static uint64_t
process_space(void)
{
	struct stat seen;
	if (stat("/proc/self/ns/pid", &seen) == 0) {
		return (uint64_t)seen.st_ino;
	}
	/* The only one, in a kernel without them. */
	return errno == ENOENT && access("/proc/self/ns", F_OK) == 0 ? 1 : 0;
}

/* Field 22 of /proc/PID/stat, ticks after boot. The name of the command, before it, may hold any character,
 * ')' included. False with errno. */
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

/* When the process that a pidfd names began, in ticks after boot, whatever numbers /proc shows. False with
 * errno: it has ended, or cannot be seen. */
static bool
pidfd_started(int pidfd, uint64_t *out)
{
	int64_t pid = 0;
	int64_t again = 0;
	if (!pidfd_pid(pidfd, &pid)) {
		return false;
	}
	if (pid > 0 && !process_started(pid, out)) {
		return false;
	}
	/* If the pidfd still names it, the number was not given to another process while /proc was read. */
	errno = ESRCH;
	return pid > 0 && pidfd_pid(pidfd, &again) && again == pid;
}

/* Whether both the real and the effective user are uid: a client that binds a process may later speak for its
 * session. */
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
	return poll(&at, 1, 0) > 0;
}

/* Whether the process with this number is the one that /proc shows under it: each number there is that of one
 * process. */
static bool
number_is_ours(int64_t pid)
{
	int64_t shown = 0;
	int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	bool ours = pidfd >= 0 && pidfd_pid(pidfd, &shown) && shown == pid;
	if (pidfd >= 0) {
		close(pidfd);
	}
	return ours;
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
		reply_error(error, CODE_ERR, PROCESS_APART);
		return -1;
	}
	if (pid < 0 || pidfd_ended(pidfd)) {
		reply_error(error, CODE_ERR, "the process has ended");
		return -1;
	}
	struct process process = {.pid = pid, .space = process_space()};
	bool of = false;
	if (process.space == 0 || !process_is_of(pid, uid, &of) || !number_is_ours(pid) ||
		!pidfd_started(pidfd, &process.started)) {
		reply_error(error, CODE_ERR,
			"the process has ended, or /proc hides it from this daemon, or is of another PID "
			"namespace");
		return -1;
	}
	if (!of) {
		reply_error(error, CODE_NOPERM, "process %" PRId64 " belongs to another user", pid);
		return -1;
	}
	*out = process;
	return 0;
}

static bool watch_open(struct watch *watch);

static void
watch_ready(int fd, short what, void *arg)
{
	(void)fd;
	struct watch *watch = arg;
	struct processes *set = watch->set;
	if (what == EV_TIMEOUT && watch_open(watch)) {
		return;
	}
	struct process process = watch->process;
	/* Its pidfd says so, if it had one. */
	enum process_sight sight = watch->sight == PROCESS_RUNS ? PROCESS_ENDED : watch->sight;
	watch_free(watch);
	set->gone(set->arg, process, sight);
}

static struct watch *
watch_find(const struct processes *set, struct process process)
{
	struct watch *watch;
	HASH_FIND(hh, set->watches, &process, sizeof process, watch);
	return watch;
}

static struct watch *
watch_find_session(const struct processes *set, session_id session)
{
	struct watch *watch;
	HASH_FIND(hh_session, set->sessions, &session, sizeof session, watch);
	return watch;
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

/* Counts one more process of this user. False: refused. */
static bool
processes_count_user(struct processes *set, int64_t uid, struct quota_user **counted, struct reply *error)
{
	if (processes_count(set) >= set->most) {
		reply_error(error, CODE_LIMIT,
			"%zu sessions are bound to processes, as many as limits.bound-sessions allows",
			processes_count(set));
		return false;
	}
	*counted = quota_enter_uid(&set->quota, uid, 0);
	if (!*counted) {
		reply_error(error, CODE_LIMIT,
			"this user has as many bound sessions as one may: three quarters of "
			"limits.bound-sessions, and limits.sessions-per-user");
	}
	return *counted != NULL;
}

/* Adds the process, whose pidfd stays the caller's. NULL: out of memory. */
static struct watch *
watch_new(struct processes *set, struct process process, int pidfd)
{
	struct watch *watch = calloc(1, sizeof *watch);
	if (watch) {
		watch->process = process;
		HASH_ADD(hh, set->watches, process, sizeof watch->process, watch);
	}
	if (!watch || !watch->hh.tbl) {
		free(watch);
		return NULL;
	}
	watch->set = set;
	watch->pidfd = pidfd;
	event_assign(&watch->event, set->base, pidfd, EV_READ, watch_ready, watch);
	return watch;
}

int
processes_watch(struct processes *set, struct process process, int pidfd, int64_t uid, struct reply *error)
{
	struct quota_user *counted;
	if (watch_find(set, process)) {
		close(pidfd);
		return 0;
	}
	if (!processes_count_user(set, uid, &counted, error)) {
		close(pidfd);
		return -1;
	}
	struct watch *watch = watch_new(set, process, pidfd);
	if (!watch) {
		reply_error(error, CODE_LIMIT, "out of memory");
		quota_leave(&set->quota, counted);
		close(pidfd);
		return -1;
	}
	watch->counted = counted;
	watch->uid = uid;
	if (event_add(&watch->event, NULL) != 0) {
		reply_error(error, CODE_LIMIT, "the process cannot be watched: %s", strerror(errno));
		watch_free(watch);
		return -1;
	}
	return 0;
}

void
processes_bind(struct processes *set, struct process process, session_id session)
{
	struct watch *watch = watch_find(set, process);
	if (!watch || session == 0 || watch->session == session) {
		return;
	}
	/* An earlier session of this process has ended by silence. */
	if (watch->session != 0) {
		HASH_DELETE(hh_session, set->sessions, watch);
		free(watch->label);
		watch->label = NULL;
	}
	watch->session = session;
	HASH_ADD(hh_session, set->sessions, session, sizeof watch->session, watch);
	if (!watch->hh_session.tbl) {
		watch->session = 0; /* the session gets no label */
	}
}

void
processes_keep_label(struct processes *set, session_id session, const char *label)
{
	struct watch *watch = watch_find_session(set, session);
	char *copy = watch ? strdup(label) : NULL;
	if (copy) {
		free(watch->label);
		watch->label = copy;
	}
}

const char *
processes_label(const struct processes *set, session_id session)
{
	const struct watch *watch = watch_find_session(set, session);
	return watch ? watch->label : NULL;
}

int
process_open_peer(int64_t pid, int64_t since_ms)
{
	uint64_t started = 0;
	uint64_t ticks_s = (uint64_t)sysconf(_SC_CLK_TCK);
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	if (pidfd >= 0 &&
		(!pidfd_started(pidfd, &started) || started > (uint64_t)since_ms * ticks_s / 1000)) {
		close(pidfd);
		return -1;
	}
	return pidfd;
}

/* ---- saved and loaded ---- */

/* Without an error of want the process cannot be seen, however often it is looked for. */
static enum process_sight
sight_of(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == EINTR || error == EAGAIN
		       ? PROCESS_LATER
		       : PROCESS_UNSEEN;
}

/* What the pidfd says, which names the process that has the number now. */
static enum process_sight
pidfd_check(int pidfd, struct process process)
{
	uint64_t started = 0;
	if (pidfd_started(pidfd, &started)) {
		return started == process.started ? PROCESS_RUNS : PROCESS_ENDED;
	}
	int why = errno;
	/* Whichever it was, ours has ended as well. */
	return pidfd_ended(pidfd) ? PROCESS_ENDED : sight_of(why);
}

int
process_open(struct process process, enum process_sight *sight)
{
	*sight = PROCESS_UNSEEN;
	if (process.space == 0 || process.space != process_space()) {
		return -1;
	}
	int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)process.pid, 0);
	if (pidfd < 0) {
		/* EINVAL, ENOENT: the number is that of a thread by now. */
		bool ended = errno == ESRCH || errno == EINVAL || errno == ENOENT;
		*sight = ended ? PROCESS_ENDED : sight_of(errno);
		return -1;
	}
	*sight = pidfd_check(pidfd, process);
	if (*sight != PROCESS_RUNS) {
		close(pidfd);
		return -1;
	}
	return pidfd;
}

#define REOPEN_S 1

/* False: out of memory. */
static bool
watch_open(struct watch *watch)
{
	const struct timeval again = {.tv_sec = REOPEN_S};
	watch->pidfd = process_open(watch->process, &watch->sight);
	event_assign(&watch->event, watch->set->base, watch->pidfd, EV_READ, watch_ready, watch);
	if (watch->sight == PROCESS_ENDED || watch->sight == PROCESS_UNSEEN) {
		event_active(&watch->event, EV_READ, 1);
		return true;
	}
	return event_add(&watch->event, watch->pidfd >= 0 ? NULL : &again) == 0;
}

bool
processes_restore(struct processes *set, struct process process, session_id session, int64_t uid)
{
	struct watch *watch = watch_find(set, process) ? NULL : watch_new(set, process, -1);
	if (!watch || !watch_open(watch)) {
		if (watch) {
			watch_free(watch);
		}
		return false;
	}
	watch->uid = uid;
	watch->counted = quota_enter_uid(&set->quota, uid, 0);
	processes_bind(set, process, session);
	return true;
}

struct saved_watch {
	struct process process;
	session_id session;
	int64_t uid;
	struct slice label; /* p == NULL: none */
};

static void
saved_fields(struct record *r, struct saved_watch *saved)
{
	bool labelled = saved->label.p != NULL;
	record_number(r, &saved->process.pid);
	record_unsigned(r, &saved->process.started);
	record_unsigned(r, &saved->session);
	record_number(r, &saved->uid);
	record_flag(r, &labelled);
	if (labelled) {
		record_bytes(r, &saved->label, LABEL_BYTES_MAX);
	}
	record_unsigned(r, &saved->process.space);
}

void
processes_save(const struct processes *set, struct record *r)
{
	struct watch *watch;
	struct watch *after;
	HASH_ITER (hh, set->watches, watch, after) {
		struct saved_watch saved = {
			.process = watch->process,
			.session = watch->session,
			.uid = watch->uid,
			.label = watch->label ? slice_of(watch->label) : (struct slice){NULL, 0},
		};
		record_begin(r, RECORD_PROCESS);
		saved_fields(r, &saved);
		record_end(r);
	}
}

void
processes_load(struct processes *set, struct record *r)
{
	struct saved_watch saved = {0};
	char label[LABEL_BYTES_MAX + 1];
	saved_fields(r, &saved);
	if (r->failed || saved.process.pid <= 0 || watch_find(set, saved.process)) {
		record_fail(r, "a process of it makes no sense");
		return;
	}
	if (!processes_restore(set, saved.process, saved.session, saved.uid)) {
		record_no_memory(r);
		return;
	}
	if (saved.label.p) {
		slice_text(label, sizeof label, saved.label);
		processes_keep_label(set, saved.session, label);
	}
}
