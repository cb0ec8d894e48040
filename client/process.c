/*
 * process: finds the descendants of a command in /proc, and signals or watches them; and names the client of
 * a session by the keys that INSPECT, LOCKS and SESSIONS have in common.
 *
 * A snapshot of /proc is never consistent: if it shows no member and processes changed meanwhile, the caller
 * has to scan again.
 */
#include "client/process.h"

#include "client/options.h"
#include "proto/escape.h"
#include "proto/slice.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Limit on the ancestors of a process; more means a cycle, made of reused pids. */
#define ANCESTORS_MAX 4096
/* A member that is in the kernel for longer, as on a file system that does not answer, is not waited for. */
#define STILL_TRIES   100

struct member {
	pid_t pid;
	pid_t parent;
	pid_t group;
	bool dead;
	bool stopped;
};

struct snapshot {
	struct member *list; /* in ascending order of pid */
	size_t n;
	size_t room;
};

int
descendants_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* False if the process is gone or the text is malformed. */
static bool
member_read(struct member *m, const char *name)
{
	char path[64];
	char text[1024];
	const char *rest;
	char state;
	int threads;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return false;
	}
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0) {
		return false;
	}
	text[n] = '\0';
	/* The command's name may contain any byte, also parentheses and spaces. */
	rest = strrchr(text, ')');
	if (rest == NULL ||
		sscanf(rest + 1, " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
			&state, &m->parent, &m->group, &threads) != 4) {
		return false;
	}
	/* A leader that ended while its other threads run looks like a zombie, but is alive. */
	m->dead = (state == 'Z' || state == 'X') && threads <= 1;
	m->stopped = state == 'T' || state == 't';
	return true;
}

pid_t
descendants_parent(pid_t pid)
{
	char name[NUMBER_TEXT_MAX];
	struct member m;

	return member_read(&m, number_text(name, pid)) ? m.parent : 0;
}

static bool
snapshot_add(struct snapshot *s, const struct member *m)
{
	if (s->n == s->room) {
		size_t room = s->room == 0 ? 256 : s->room * 2;
		struct member *list = reallocarray(s->list, room, sizeof(*list));

		if (list == NULL) {
			return false;
		}
		s->list = list;
		s->room = room;
	}
	s->list[s->n++] = *m;
	return true;
}

static int
member_compare(const void *a, const void *b)
{
	pid_t left = ((const struct member *)a)->pid;
	pid_t right = ((const struct member *)b)->pid;

	return (left > right) - (left < right);
}

static bool
snapshot_take(struct snapshot *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool whole = true;

	*s = (struct snapshot){NULL, 0, 0};
	if (dir == NULL) {
		return false;
	}
	while (whole && (entry = readdir(dir)) != NULL) {
		struct member m;
		int64_t pid;

		if (number_parse(slice_of(entry->d_name), 1, INT32_MAX, &pid) &&
			member_read(&m, entry->d_name)) {
			m.pid = (pid_t)pid;
			whole = snapshot_add(s, &m);
		}
	}
	(void)closedir(dir);
	if (s->n > 0) {
		qsort(s->list, s->n, sizeof(*s->list), member_compare);
	}
	return whole;
}

static const struct member *
snapshot_find(const struct snapshot *s, pid_t pid)
{
	const struct member key = {.pid = pid};

	return s->n == 0 ? NULL : bsearch(&key, s->list, s->n, sizeof(*s->list), member_compare);
}

/* Whether m descends from root; *broken: an ancestor was missing, so the result is unknown. */
static bool
descends(const struct snapshot *s, const struct member *m, pid_t root, bool *broken)
{
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (m->parent == root) {
			return true;
		}
		/* 0 is the kernel, or a parent outside of our PID namespace. */
		if (m->parent <= 1) {
			return false;
		}
		m = snapshot_find(s, m->parent);
		if (m == NULL) {
			break;
		}
	}
	*broken = true;
	return false;
}

static bool
belongs(const struct descendants *d, const struct snapshot *s, const struct member *m, bool *broken)
{
	if (m->dead || m->pid == d->root) {
		return false;
	}
	if (m->pid == d->command) {
		return true;
	}
	if (m->group != d->group) {
		return false;
	}
	return !d->shared || descends(s, m, d->root, broken);
}

/* Whether a process has the pipe open. One whose descriptors may not be seen runs as another user: it has not
 * closed them, as far as is known. */
static bool
has_pipe(pid_t pid, uint64_t inode)
{
	char path[64], target[64], wanted[64];
	struct dirent *entry;
	bool found = false;
	ssize_t n;
	DIR *dir;

	(void)snprintf(wanted, sizeof(wanted), "pipe:[%" PRIu64 "]", inode);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (dir == NULL) {
		return errno == EACCES;
	}
	while (!found && (entry = readdir(dir)) != NULL) {
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, wanted) == 0;
	}
	(void)closedir(dir);
	return found;
}

static bool
belongs_far(const struct descendants *d, const struct snapshot *s, const struct member *m)
{
	bool broken = false;

	return d->pipe != 0 && !m->dead && m->pid != d->root && descends(s, m, d->root, &broken) &&
	       has_pipe(m->pid, d->pipe);
}

static bool
reaches_far(int signal)
{
	return signal == SIGTERM || signal == SIGKILL || signal == SIGSTOP || signal == SIGCONT;
}

bool
descendants_signal(const struct descendants *d, int signal)
{
	bool far = d->pipe != 0 && reaches_far(signal);
	bool broken = false;
	bool any = false;
	struct snapshot s;

	if (!d->shared) {
		any = kill(-d->group, signal) == 0;
	}
	if (!d->shared && !far) {
		return any;
	}
	(void)snapshot_take(&s);
	for (size_t i = 0; i < s.n; i++) {
		const struct member *m = &s.list[i];
		bool near = d->shared && belongs(d, &s, m, &broken);

		if (near || (far && (d->shared || m->group != d->group) && belongs_far(d, &s, m))) {
			any = kill(m->pid, signal) == 0 || any;
		}
	}
	free(s.list);
	return any;
}

/* Whether each living member is stopped. */
static bool
descendants_still(const struct descendants *d)
{
	bool broken = false, still = true;
	struct snapshot s;

	(void)snapshot_take(&s);
	for (size_t i = 0; i < s.n && still; i++) {
		still = s.list[i].stopped || !belongs(d, &s, &s.list[i], &broken);
	}
	free(s.list);
	return still;
}

void
descendants_continue(const struct descendants *d)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < STILL_TRIES && !descendants_still(d); i++) {
		(void)nanosleep(&moment, NULL);
	}
	(void)descendants_signal(d, SIGCONT);
}

enum descendants_rest
descendants_watch(const struct descendants *d, int *pidfd)
{
	struct snapshot s;
	bool broken;
	int fd = -1;

	/* The kernel checks the whole group atomically, but it counts zombies. */
	if (!d->shared && kill(-d->group, 0) != 0 && errno == ESRCH) {
		return DESCENDANTS_GONE;
	}
	broken = !snapshot_take(&s);
	for (size_t i = 0; i < s.n && fd < 0; i++) {
		if (belongs(d, &s, &s.list[i], &broken)) {
			fd = descendants_pidfd(s.list[i].pid);
			broken = broken || fd < 0;
		}
	}
	free(s.list);
	if (fd >= 0) {
		*pidfd = fd;
		return DESCENDANTS_LIVES;
	}
	return broken ? DESCENDANTS_UNSURE : DESCENDANTS_GONE;
}

/* ---- names for people ---- */

#define PEER_COMMAND_BYTES 4096 /* of a command line; more is not shown anyway */
#define PEER_WORDS_MAX     256

static const char *
program_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

void
process_program(int64_t pid, char name[PROCESS_PROGRAM_MAX])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, PROCESS_PROGRAM_MAX - 1);
		(void)close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
}

/* If a name is withheld, its process has mostly ended, and the pid may be reused. */
static bool
is_withheld(const struct answer *map)
{
	return answer_get_int(map, "withheld", 0) != 0 ||
	       slice_equal(answer_get_text(map, "state"), SLICE("withheld"));
}

/* The command of the `holdfast run` in that process, in one line. False: it is another program, or may not be
 * read.
 */
static bool
peer_command(int64_t pid, char out[PEER_TEXT_MAX])
{
	char path[64], bytes[PEER_COMMAND_BYTES], why[OPTIONS_TEXT_MAX];
	char *argv[PEER_WORDS_MAX + 1];
	struct options o;
	ssize_t n = -1;
	size_t used = 0;
	int fd, argc = 0;

	(void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, bytes, sizeof(bytes) - 1);
		(void)close(fd);
	}
	if (n <= 0) {
		return false;
	}
	bytes[n] = '\0';
	for (char *at = bytes; at < bytes + n && argc < PEER_WORDS_MAX; at += strlen(at) + 1) {
		argv[argc++] = at;
	}
	argv[argc] = NULL;
	if (strcmp(program_base(argv[0]), "holdfast") != 0 || !options_parse(&o, argc, argv, why) ||
		o.task != TASK_RUN) {
		return false;
	}
	if (o.shell != NULL) {
		(void)snprintf(out, PEER_TEXT_MAX, "%s", o.shell);
	}
	for (char **word = o.command; o.shell == NULL && *word != NULL && used < PEER_TEXT_MAX; word++) {
		int more = snprintf(
			out + used, PEER_TEXT_MAX - used, "%s%s", word == o.command ? "" : " ", *word);

		used += more > 0 ? (size_t)more : 0;
	}
	return out[0] != '\0';
}

const char *
peer_name(char out[PEER_TEXT_MAX], const struct answer *map, bool local)
{
	struct slice client = answer_get_text(map, "client");
	int64_t pid = answer_get_int(map, "pid", 0);

	out[0] = '\0';
	if (local && pid > 0 && peer_command(pid, out)) {
		return out;
	}
	if (client.n > 0) {
		(void)escape_text(out, PEER_TEXT_MAX, client, ESCAPE_PLAIN);
	} else if (local && pid > 0 && !is_withheld(map)) {
		process_program(pid, out);
	}
	if (out[0] == '\0') {
		(void)snprintf(out, PEER_TEXT_MAX, "-");
	}
	return out;
}

const char *
peer_address(char out[PEER_TEXT_MAX], const struct answer *map)
{
	int64_t pid = answer_get_int(map, "pid", 0);

	if (pid > 0) {
		(void)number_text(stpcpy(out, "pid "), pid);
	} else {
		(void)escape_text(out, PEER_TEXT_MAX, answer_get_text(map, "address"), ESCAPE_PLAIN);
	}
	return out;
}

const char *
peer_origin(char out[PEER_TEXT_MAX], const struct answer *map, const char *host)
{
	char address[PEER_TEXT_MAX], who[160] = "";
	struct slice user = answer_get_text(map, "user");
	int64_t uid = answer_get_int(map, "uid", -1);

	if (uid >= 0) {
		(void)snprintf(who, sizeof(who), ", uid %" PRId64, uid);
	} else if (user.n > 0) {
		(void)snprintf(who, sizeof(who), ", user %.*s", SLICE_ARG(user));
	}
	(void)snprintf(out, PEER_TEXT_MAX, "%.160s%s%.60s%.90s", peer_address(address, map),
		host[0] != '\0' ? " on " : "", host, who);
	return out;
}
