/*
 * embedded_directory: the directory of a private master: who owns it, and what it records of its last daemon.
 */
#include "daemon/redis/embedded_directory.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/redis/embedded_inner.h"
#include "daemon/redis/embedded_presence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool
embedded_explain(char why[EMBEDDED_WHY_MAX], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, EMBEDDED_WHY_MAX, format, args);
	va_end(args);
	return false;
}

/* ---- the record of the last daemon ---- */

#define FILE_NAME "ending"

/* The words of a record. */
#define WORD_CLEAN "clean"
#define WORD_LIVE  "live"

#define CLOCK_UNKNOWN "?"

/* File systems that are memory, by statfs(2). */
#define TYPE_TMPFS 0x01021994
#define TYPE_RAMFS 0x858458f6

/* What a line says. */
struct line {
	bool clean;
	int64_t until_ms;
	char clock[CLOCK_NAME_MAX];
	uint64_t device; /* of the file of the record */
	uint64_t inode;
	uint64_t turn;
};

/* False: there is no line, or it cannot be read. */
static bool
line_read(int fd, struct line *out)
{
	char text[ENDING_BYTES + 1], word[8];
	ssize_t n = fd >= 0 ? pread(fd, text, ENDING_BYTES, 0) : -1;

	if (n != ENDING_BYTES)
		return false;
	text[n] = '\0';
	if (sscanf(text, "%7s until_ms=%" SCNd64 " clock=%95s file=%" SCNx64 ":%" SCNx64 " turn=%" SCNx64,
		    word, &out->until_ms, out->clock, &out->device, &out->inode, &out->turn) != 6 ||
		out->until_ms < 0)
		return false;
	out->clean = strcmp(word, WORD_CLEAN) == 0;
	return out->clean || strcmp(word, WORD_LIVE) == 0;
}

/* FNV-1a. */
void
ending_mark_path(const char *directory, char out[ENDING_MARK_MAX])
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (const char *p = directory; *p != '\0'; p++)
		hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211);
	snprintf(out, ENDING_MARK_MAX, MARKS "/holdfast-%u-%016" PRIx64, geteuid(), hash);
}

/* -1: there is none that could be relied on. Everybody may make files there. */
static int
mark_open(const char *directory, int flags)
{
	char path[ENDING_MARK_MAX];
	struct statfs system;
	struct stat seen;
	int fd;

	ending_mark_path(directory, path);
	fd = open(path, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && fstatfs(fd, &system) == 0 && fstat(fd, &seen) == 0 &&
		(system.f_type == TYPE_TMPFS || system.f_type == TYPE_RAMFS) && S_ISREG(seen.st_mode) &&
		seen.st_uid == geteuid() && (seen.st_mode & 077) == 0 && seen.st_nlink == 1)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Whether the record is the one that was written last: in the file that it is in, with this mark. */
static bool
line_is_latest(const struct line *record, int fd, const struct line *mark)
{
	struct stat seen;

	return fstat(fd, &seen) == 0 && record->device == (uint64_t)seen.st_dev &&
	       record->inode == (uint64_t)seen.st_ino && mark->turn == record->turn &&
	       strcmp(mark->clock, record->clock) == 0;
}

static void
ending_judge(struct ending *e, int fd, int mark_fd)
{
	struct line record, mark;

	if (!line_read(fd, &record) || e->clock[0] == '\0' || strcmp(record.clock, CLOCK_UNKNOWN) == 0)
		return;
	if (strcmp(record.clock, e->clock) != 0) {
		e->kind = ENDING_BEFORE;
	} else if (!line_read(mark_fd, &mark) || !line_is_latest(&record, fd, &mark)) {
		e->kind = ENDING_COPIED;
	} else if (record.clean && mark.clean) {
		e->kind = ENDING_CLEAN;
	} else {
		e->kind = ENDING_HERE;
		e->until_ms = record.until_ms > mark.until_ms ? record.until_ms : mark.until_ms;
	}
}

static void
ending_read(struct ending *e, const char *directory, int directory_fd)
{
	int fd = openat(directory_fd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int mark_fd = mark_open(directory, 0);

	*e = (struct ending){.kind = ENDING_UNKNOWN, .fd = -1, .mark_fd = -1};
	clock_name(e->clock);
	ending_judge(e, fd, mark_fd);
	if (fd >= 0)
		close(fd);
	if (mark_fd >= 0)
		close(mark_fd);
}

/* Without a mark the next daemon does not rely on the record. */
static void
mark_write(struct ending *e, const char line[ENDING_BYTES])
{
	if (e->mark_fd >= 0 && pwrite(e->mark_fd, line, ENDING_BYTES, 0) == ENDING_BYTES)
		return;
	if (e->mark_fd >= 0) {
		(void)!ftruncate(e->mark_fd, 0);
		close(e->mark_fd);
	}
	e->mark_fd = -1;
}

static bool
ending_write(struct ending *e, const char *word, int64_t until_ms)
{
	char line[ENDING_BYTES + 1];
	struct stat seen = {.st_ino = 0};
	int n;

	(void)fstat(e->fd, &seen);
	n = snprintf(line, sizeof(line),
		"%s until_ms=%" PRId64 " clock=%s file=%" PRIx64 ":%" PRIx64 " turn=%" PRIx64, word, until_ms,
		e->clock[0] != '\0' ? e->clock : CLOCK_UNKNOWN, (uint64_t)seen.st_dev, (uint64_t)seen.st_ino,
		e->turn);
	memset(line + n, ' ', (size_t)(ENDING_BYTES - n));
	line[ENDING_BYTES - 1] = '\n';
	e->written_ms = until_ms;
	mark_write(e, line);
	errno = 0;
	return pwrite(e->fd, line, ENDING_BYTES, 0) == ENDING_BYTES;
}

void
ending_close(struct ending *e)
{
	if (e->fd >= 0)
		close(e->fd);
	if (e->mark_fd >= 0)
		close(e->mark_fd);
	e->fd = e->mark_fd = -1;
}

/* Without a record the next daemon assumes nothing. */
static bool
ending_spoilt(struct ending *e, int directory_fd)
{
	int why = errno != 0 ? errno : ENOSPC;

	ending_close(e);
	(void)unlinkat(directory_fd, FILE_NAME, 0);
	errno = why;
	return false;
}

/* Replaces the record by one of this daemon, which survives a power cut, too. False with errno: there is no
 * record. */
static bool
ending_begin(struct ending *e, const char *directory, int directory_fd, int64_t until_ms)
{
	if (getrandom(&e->turn, sizeof(e->turn), 0) != sizeof(e->turn))
		return ending_spoilt(e, directory_fd);
	e->mark_fd = mark_open(directory, O_CREAT);
	e->fd = openat(directory_fd, FILE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return (e->fd >= 0 && ending_write(e, WORD_LIVE, until_ms) && fsync(e->fd) == 0 &&
		       fsync(directory_fd) == 0) ||
	       ending_spoilt(e, directory_fd);
}

bool
ending_go_on(struct ending *e, const char *directory, int directory_fd, int64_t until_ms)
{
	struct line line;

	*e = (struct ending){.kind = ENDING_HERE, .written_ms = until_ms, .mark_fd = -1};
	clock_name(e->clock);
	errno = 0;
	e->fd = openat(directory_fd, FILE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (!line_read(e->fd, &line))
		return ending_spoilt(e, directory_fd);
	e->turn = line.turn;
	e->mark_fd = mark_open(directory, 0);
	return true;
}

bool
ending_extend(struct ending *e, int directory_fd, int64_t until_ms)
{
	if (until_ms <= e->written_ms || e->fd < 0) {
		return true;
	}
	until_ms += ENDING_STEP_MS - until_ms % ENDING_STEP_MS;
	return ending_write(e, WORD_LIVE, until_ms) || ending_spoilt(e, directory_fd);
}

/* The daemon ends; from until_ms on no client relies on a lock. clean: none does already.
 * False with errno: there is no record any more. */
static bool
ending_finish(struct ending *e, int directory_fd, bool clean, int64_t until_ms)
{
	bool written;

	if (e->fd < 0) {
		errno = ENOENT;
		return false;
	}
	written = ending_write(e, clean ? WORD_CLEAN : WORD_LIVE, until_ms) && fsync(e->fd) == 0;
	if (!written) {
		return ending_spoilt(e, directory_fd);
	}
	ending_close(e);
	return true;
}

/* ---- the directory ---- */

/* Makes the parents that it may make. If one is still missing, making the directory itself reports it. */
static void
make_parents(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0755);
		*slash = '/';
	}
}

bool
embedded_open_directory(struct embedded *e, char *why)
{
	struct stat st;

	make_parents(e->directory);
	if (mkdir(e->directory, 0700) != 0 && errno != EEXIST)
		return embedded_explain(why, "cannot make %s: %s", e->directory, strerror(errno));
	e->directory_fd = open(e->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (e->directory_fd < 0 || fstat(e->directory_fd, &st) != 0)
		return embedded_explain(why, "cannot open %s: %s", e->directory, strerror(errno));
	if (st.st_uid != geteuid())
		return embedded_explain(why,
			"%s belongs to user %u, not to us (%u): remove it or choose another", e->directory,
			st.st_uid, geteuid());
	if ((st.st_mode & 07777) != 0700 && fchmod(e->directory_fd, 0700) != 0)
		return embedded_explain(why, "cannot make %s private: %s", e->directory, strerror(errno));
	return true;
}

/* Whether no earlier daemon of this directory runs. What has just given the lock back is about to end, and is
 * waited for until patient_until_ms. */
static bool
is_alone(const struct embedded *e, int64_t patient_until_ms)
{
	while (!embedded_is_alone(e)) {
		if (!clock_nap(patient_until_ms))
			return false;
	}
	return true;
}

static const char *
find_doubt(struct embedded *e, const struct embedded_settings *settings, bool first, bool alone)
{
	if (!alone)
		return "an earlier daemon of this directory still runs";
	switch (e->ending.kind) {
	case ENDING_CLEAN:
		return NULL;
	case ENDING_HERE:
		if (e->ending.until_ms <= clock_ms())
			return NULL;
		e->doubted_until_ms = e->ending.until_ms;
		return "clients may rely on locks of the last daemon here";
	case ENDING_COPIED:
	case ENDING_BEFORE:
		return settings->doubt;
	default:
		return first ? settings->doubt : "it is not known how the last daemon here ended";
	}
}

bool
embedded_claim_directory(struct embedded *e, const struct embedded_settings *settings, char *why)
{
	bool first = true, waited = false;

	e->lock_fd = openat(e->directory_fd, "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (e->lock_fd < 0 && errno == EEXIST) {
		first = false;
		e->lock_fd = openat(e->directory_fd, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	}
	if (e->lock_fd < 0)
		return embedded_explain(why, "cannot open %s/lock: %s", e->directory, strerror(errno));
	while (flock(e->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		waited = true;
		if (clock_nap(settings->patient_until_ms))
			continue;
		return embedded_explain(why,
			"%s is in use by another holdfastd: stop it, or configure masters: so that "
			"both share one",
			e->directory);
	}
	e->claimed = true;
	ending_read(&e->ending, e->directory, e->directory_fd);
	e->doubt = find_doubt(e, settings, first, is_alone(e, waited ? settings->patient_until_ms : 0));
	return embedded_show_presence(e) || embedded_explain(why, "cannot make a file of memory for %s: %s",
						    e->directory, strerror(errno));
}

bool
embedded_claim_memory(struct embedded *e, const struct embedded_settings *settings, char *why)
{
	e->begun_until_ms = clock_ms();
	if (e->doubt)
		e->begun_until_ms = e->doubted_until_ms != 0 ? e->doubted_until_ms
							     : e->begun_until_ms + settings->guard_ms;
	return ending_begin(&e->ending, e->directory, e->directory_fd, e->begun_until_ms) ||
	       embedded_explain(why, "cannot write %s/ending: %s", e->directory, strerror(errno));
}

void
embedded_leave_record(struct embedded *e, bool clean, int64_t until_ms)
{
	if (e->ending.fd < 0 || (!clean && until_ms == INT64_MAX))
		return;
	if (until_ms < e->begun_until_ms)
		until_ms = e->begun_until_ms;
	if (!ending_finish(&e->ending, e->directory_fd, clean, until_ms))
		LOG_EVENT(e->log, LOG_WARNING_LEVEL, "embedded.no_record",
			log_text("directory", e->directory), log_text("why", strerror(errno)),
			log_text("text", "the next start guards in full"));
}
