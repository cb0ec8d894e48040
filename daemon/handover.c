/*
 * handover: see handover.h. main and the driver call it.
 */
#include "daemon/handover.h"

#include "daemon/base/clock.h"
#include "daemon/base/notify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "HOLDFAST_HANDOVER" /* the number of the memfd */

/* The names under which the service manager keeps what it was given. LISTEN_FDNAMES repeats them for each
 * descriptor, and no variable may be longer than 128 KiB. */
#define NAME_STATE "holdfast-state"
#define NAME_OTHER "hf"

#define STORE_MS 2000 /* for the service manager to take everything */

/* What the memfd begins with: this line, then the numbers of the descriptors that come with exec, then the
 * records. */
#define HEAD_BYTES 64
#define LIST_PART  1024 /* of these numbers are read at once */
#define HEAD       "holdfast hand-over 1 %s descriptors=%zu child=%ld"
#define FRESH      "fresh"
#define TAKEN      "taken"

static void
head_write(char head[HEAD_BYTES], const char *word, size_t count, pid_t child)
{
	memset(head, ' ', HEAD_BYTES);
	head[snprintf(head, HEAD_BYTES, HEAD, word, count, (long)child)] = ' ';
	head[HEAD_BYTES - 1] = '\n';
}

/* ---- the first record ---- */

static void
daemon_fields(struct record *r, struct handover_daemon *daemon)
{
	record_text(r, daemon->version, sizeof(daemon->version));
	record_text(r, daemon->id, sizeof(daemon->id));
	record_number(r, &daemon->started_ms);
	record_number(r, &daemon->silent_ms);
	record_unsigned(r, &daemon->asked_by);
	record_unsigned(r, &daemon->last_conn);
	record_flag(r, &daemon->private_master);
}

/* Times are of this boot, and what a connection may do depends on the user that the daemon runs as. */
static void
place_fields(struct record *r)
{
	char ours[CLOCK_NAME_MAX], its[CLOCK_NAME_MAX];
	int64_t uid = geteuid();

	clock_name(ours);
	memcpy(its, ours, sizeof(its));
	record_text(r, its, sizeof(its));
	record_number(r, &uid);
	if (strcmp(its, ours) != 0 || ours[0] == '\0')
		record_fail(r, "it is of another boot");
	else if (uid != (int64_t)geteuid())
		record_fail(r, "it is of user %lld, and this process is of user %lld", (long long)uid,
			(long long)geteuid());
}

void
handover_begin(struct handover *h, struct handover_daemon *daemon)
{
	*h = (struct handover){.child = 0};
	buffer_init(&h->bytes, SIZE_MAX / 4);
	record_save(&h->record, &h->bytes);
	record_begin(&h->record, RECORD_DAEMON);
	place_fields(&h->record);
	daemon_fields(&h->record, daemon);
	record_end(&h->record);
}

void
handover_done(struct handover *h)
{
	buffer_done(&h->bytes);
	descriptors_done(&h->given);
}

/* ---- giving ---- */

static bool
explain(char why[HANDOVER_WHY_MAX], const char *what)
{
	snprintf(why, HANDOVER_WHY_MAX, "%s: %s", what, strerror(errno));
	return false;
}

static bool
write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n > 0) {
		ssize_t put = write(fd, p, n);

		if (put < 0 && errno != EINTR)
			return false;
		if (put > 0) {
			p += put;
			n -= (size_t)put;
		}
	}
	return true;
}

/* The state, close-on-exec; listed: with the numbers of its descriptors. -1 with errno. */
static int
memfd_make(const struct handover *h, bool listed)
{
	size_t count = listed ? h->given.count : 0;
	struct buffer numbers;
	char head[HEAD_BYTES];
	int fd = memfd_create("holdfast-state", MFD_CLOEXEC), why;
	bool written;

	buffer_init(&numbers, count * sizeof(int32_t));
	for (size_t i = 0; i < count; i++) {
		int32_t number = h->given.list[i].fd;

		buffer_put(&numbers, &number, sizeof(number));
	}
	head_write(head, FRESH, count, h->child);
	if (numbers.failed)
		errno = ENOMEM;
	written = fd >= 0 && !numbers.failed && write_all(fd, head, sizeof(head)) &&
		  write_all(fd, buffer_bytes(&numbers), buffer_length(&numbers)) &&
		  write_all(fd, buffer_bytes(&h->bytes), buffer_length(&h->bytes));
	why = errno;
	buffer_done(&numbers);
	if (!written && fd >= 0)
		close(fd);
	errno = why;
	return written ? fd : -1;
}

bool
handover_find_program(const char *argv0, char *path, size_t room)
{
	static const char deleted[] = " (deleted)";
	ssize_t n;

	/* It may be a link that leads to another version meanwhile. */
	if (strchr(argv0, '/') && access(argv0, X_OK) == 0)
		return (size_t)snprintf(path, room, "%s", argv0) < room;
	n = readlink("/proc/self/exe", path, room - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if ((size_t)n >= sizeof(deleted) && strcmp(path + n - (sizeof(deleted) - 1), deleted) == 0)
		path[n - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	return access(path, X_OK) == 0;
}

/* {"holdfastd", "-t", ...}; the caller frees the array. NULL: out of memory. */
static char **
test_arguments(char **argv)
{
	size_t count = 0;
	char **with;

	while (argv[count])
		count++;
	with = calloc(count + 2, sizeof(*with));
	if (!with)
		return NULL;
	with[0] = argv[0];
	with[1] = (char *)"-t";                            /* as every argument of exec, it is only read */
	memcpy(with + 2, argv + 1, count * sizeof(*with)); /* with the NULL */
	return with;
}

struct child *
handover_try(const struct handover_program *program, struct handover_daemon *daemon, struct event_base *base,
	child_ended *ended, void *arg, char why[HANDOVER_WHY_MAX])
{
	struct handover h;
	struct child *child = NULL;
	char **argv = test_arguments(program->argv), number[16];
	int memfd;

	handover_begin(&h, daemon);
	record_begin(&h.record, RECORD_END);
	record_end(&h.record);
	memfd = memfd_make(&h, false);
	snprintf(number, sizeof(number), "%d", CHILD_GIVEN);
	if (!argv || memfd < 0 || setenv(VARIABLE, number, 1) != 0) {
		explain(why, "the program cannot be tried");
	} else {
		child = child_run(base, program->path, argv, memfd, HANDOVER_TRY_MS, ended, arg);
		if (!child)
			explain(why, program->path);
	}
	unsetenv(VARIABLE);
	if (memfd >= 0)
		close(memfd);
	free(argv);
	handover_done(&h);
	return child;
}

void
handover_exec(struct handover *h, const struct handover_program *program, const struct notify *notify,
	char why[HANDOVER_WHY_MAX])
{
	int memfd = memfd_make(h, true);
	char number[16];

	snprintf(number, sizeof(number), "%d", memfd);
	if (memfd < 0 || setenv(VARIABLE, number, 1) != 0 || !notify_pass_on(notify) ||
		!descriptors_pass_on(&h->given, true) || fcntl(memfd, F_SETFD, 0) != 0) {
		explain(why, "the state cannot be written");
	} else {
		execv(program->path, program->argv);
		explain(why, program->path);
	}
	(void)descriptors_pass_on(&h->given, false);
	unsetenv(VARIABLE);
	notify_keep_back();
	if (memfd >= 0)
		close(memfd);
}

/* The descriptors come before the state: where there is a state, there is everything. */
static bool
store_all(const struct handover *h, const struct notify *notify, int memfd)
{
	int *fds = calloc(h->given.count + 1, sizeof(*fds));
	size_t count = 0;
	bool stored;

	if (!fds)
		return false;
	for (size_t i = 0; i < h->given.count; i++) {
		if (!h->given.list[i].stored)
			fds[count++] = h->given.list[i].fd;
	}
	stored = notify_store(notify, fds, count, NAME_OTHER, STORE_MS) &&
		 notify_store(notify, &memfd, 1, NAME_STATE, STORE_MS) && notify_barrier(notify, STORE_MS);
	free(fds);
	return stored;
}

static bool
store_forget(const struct notify *notify)
{
	return notify_unstore(notify, NAME_STATE, STORE_MS) && notify_unstore(notify, NAME_OTHER, STORE_MS) &&
	       notify_barrier(notify, STORE_MS);
}

bool
handover_store(struct handover *h, const struct notify *notify, char why[HANDOVER_WHY_MAX])
{
	int memfd;
	bool stored;

	memfd = memfd_make(h, false);
	if (memfd < 0)
		return explain(why, "the state cannot be written");
	stored = store_all(h, notify, memfd);
	if (!stored) {
		explain(why, "the service manager does not take the descriptors");
		/* A state that the next process finds all the same must not be used: this process goes on. */
		(void)!pwrite(memfd, TAKEN, sizeof(TAKEN) - 1, sizeof("holdfast hand-over 1 ") - 1);
		(void)store_forget(notify);
	}
	close(memfd);
	return stored;
}

/* ---- taking ---- */

/* The number in the environment, which is removed. -1: there is none. */
static int
take_number(void)
{
	const char *text = getenv(VARIABLE);
	char *end;
	long n;

	if (!text)
		return -1;
	n = strtol(text, &end, 10);
	if (end == text || *end != '\0' || n < 3 || n > INT32_MAX || fcntl((int)n, F_SETFD, FD_CLOEXEC) != 0)
		n = -1;
	unsetenv(VARIABLE);
	return (int)n;
}

/* Takes those that were stored for us out of the list. */
static void
take_stored(struct handed *h, struct notify_fd *fds, size_t *count)
{
	size_t left = 0;

	for (size_t i = 0; i < *count; i++) {
		if (strcmp(fds[i].name, NAME_STATE) == 0 && h->memfd < 0)
			h->memfd = fds[i].fd;
		else if (strcmp(fds[i].name, NAME_STATE) == 0 || strcmp(fds[i].name, NAME_OTHER) == 0)
			descriptors_add(&h->given, fds[i].fd);
		else
			fds[left++] = fds[i];
	}
	*count = left;
}

/* False: the list is damaged. */
static bool
take_listed(struct handed *h, size_t count)
{
	int32_t numbers[LIST_PART];

	for (size_t i = 0, n; i < count; i += n) {
		off_t at = (off_t)(HEAD_BYTES + i * sizeof(*numbers));

		n = count - i < LIST_PART ? count - i : LIST_PART;
		if (pread(h->memfd, numbers, n * sizeof(*numbers), at) != (ssize_t)(n * sizeof(*numbers)))
			return false;
		for (size_t k = 0; k < n; k++) {
			if (numbers[k] <= STDERR_FILENO || descriptors_add(&h->given, numbers[k]) == 0)
				return false;
		}
	}
	return descriptors_pass_on(&h->given, false);
}

/* The state has no list of its descriptors. Those that came with exec are not close-on-exec; those that this
 * process has opened are. */
static void
take_unlisted(struct handed *h)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *one;

	while (all && (one = readdir(all))) {
		int fd = (int)strtol(one->d_name, NULL, 10);

		if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
			descriptors_add(&h->given, fd);
	}
	if (all)
		closedir(all);
}

/* Reads the first line, and marks the state as taken. */
static bool
take_head(struct handed *h, size_t *count, char why[HANDOVER_WHY_MAX])
{
	char head[HEAD_BYTES + 1] = "", word[8];
	long child;

	if (pread(h->memfd, head, HEAD_BYTES, 0) != HEAD_BYTES ||
		sscanf(head, "holdfast hand-over 1 %7s descriptors=%zu child=%ld", word, count, &child) !=
			3 ||
		child < 0) {
		snprintf(why, HANDOVER_WHY_MAX, "it does not begin as a state of holdfast");
		return false;
	}
	if (strcmp(word, FRESH) != 0) {
		snprintf(why, HANDOVER_WHY_MAX, "it was taken before");
		*count = 0;
		return false;
	}
	h->child = (pid_t)child;
	head_write(head, TAKEN, *count, h->child);
	if (pwrite(h->memfd, head, HEAD_BYTES, 0) != HEAD_BYTES)
		return explain(why, "it cannot be marked as taken");
	return true;
}

static bool
take_records(struct handed *h, size_t count, char why[HANDOVER_WHY_MAX])
{
	struct stat seen;
	size_t begin = HEAD_BYTES + count * sizeof(int32_t);
	struct record *r = &h->record;

	if (fstat(h->memfd, &seen) != 0 || (size_t)seen.st_size <= begin) {
		snprintf(why, HANDOVER_WHY_MAX, "it ends in the middle");
		return false;
	}
	h->size = (size_t)seen.st_size;
	h->map = mmap(NULL, h->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, h->memfd, 0);
	if (h->map == MAP_FAILED) {
		h->map = NULL;
		return explain(why, "it cannot be read");
	}
	if (record_load(r, (struct slice){(const char *)h->map + begin, h->size - begin})) {
		if (record_next(r) != RECORD_DAEMON)
			record_fail(r, "it does not say whose it is");
		place_fields(r);
		daemon_fields(r, &h->daemon);
	}
	snprintf(why, HANDOVER_WHY_MAX, "%s", r->failed ? r->why : "");
	return !r->failed;
}

bool
handed_take(struct handed *h, const struct notify *notify, struct notify_fd *fds, size_t *count,
	char why[HANDOVER_WHY_MAX])
{
	size_t listed = 0;
	bool stored;

	*h = (struct handed){.memfd = take_number()};
	why[0] = '\0';
	stored = h->memfd < 0;
	if (stored)
		take_stored(h, fds, count);
	if (h->memfd >= 0)
		h->there = take_head(h, &listed, why);
	if (!stored && h->there && !take_listed(h, listed)) {
		h->there = false;
		snprintf(why, HANDOVER_WHY_MAX, "its list of descriptors is damaged");
	}
	if (!stored && h->memfd >= 0 && !h->there)
		take_unlisted(h);
	if (h->there)
		h->there = take_records(h, listed, why);
	/* The service manager would keep connections open that end here. */
	if (stored && (h->memfd >= 0 || h->given.count > 0) && !store_forget(notify) && h->there) {
		h->there = false;
		explain(why, "the service manager does not give it up");
	}
	if (!h->there)
		handed_refuse(h);
	return h->there;
}

bool
handed_try(char why[HANDOVER_WHY_MAX])
{
	struct handed h = {.memfd = take_number()};
	size_t listed = 0;
	bool good = h.memfd < 0 || (take_head(&h, &listed, why) && take_records(&h, listed, why));

	handed_done(&h);
	return good;
}

void
handed_done(struct handed *h)
{
	if (h->map)
		munmap(h->map, h->size);
	if (h->memfd >= 0)
		close(h->memfd);
	descriptors_close(&h->given);
	*h = (struct handed){.memfd = -1};
}

void
handed_refuse(struct handed *h)
{
	/* Nothing but a child of this process is killed. */
	if (h->child > 0 && waitpid(h->child, NULL, WNOHANG) == 0) {
		kill(h->child, SIGKILL);
		while (waitpid(h->child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	handed_done(h);
}
