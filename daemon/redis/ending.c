/*
 * ending: see ending.h.
 */
#include "daemon/redis/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "ending"

/* The words of a record. */
#define WORD_CLEAN "clean"
#define WORD_LIVE  "live"

#define CLOCK_UNKNOWN "?"

/* The kernel's id of this boot, and the time namespace, in which CLOCK_BOOTTIME may differ. */
static void
clock_name(char out[96])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, 36) : -1;
	char space[48];
	ssize_t m = readlink("/proc/self/ns/time", space, sizeof(space) - 1);

	if (fd >= 0) {
		close(fd);
	}
	/* Kernels before 5.6 have no time namespaces. */
	if (m < 0 && errno == ENOENT) {
		m = snprintf(space, sizeof(space), "-");
	}
	if (n != 36 || m < 0) {
		out[0] = '\0';
		return;
	}
	snprintf(out + n, 96 - (size_t)n, ",%.*s", (int)m, space);
}

void
ending_read(struct ending *e, int directory_fd)
{
	char line[ENDING_BYTES + 1], word[8], clock[96];
	int fd = openat(directory_fd, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd >= 0 ? read(fd, line, ENDING_BYTES) : -1;

	*e = (struct ending){.kind = ENDING_UNKNOWN, .fd = -1};
	clock_name(e->clock);
	if (fd >= 0) {
		close(fd);
	}
	if (n != ENDING_BYTES) {
		return;
	}
	line[n] = '\0';
	if (sscanf(line, "%7s until_ms=%" SCNd64 " clock=%95s", word, &e->until_ms, clock) != 3 ||
		e->until_ms < 0) {
		return;
	}
	if (strcmp(word, WORD_CLEAN) == 0) {
		e->kind = ENDING_CLEAN;
	} else if (strcmp(word, WORD_LIVE) == 0 && e->clock[0] != '\0' && strcmp(clock, CLOCK_UNKNOWN) != 0) {
		e->kind = strcmp(clock, e->clock) == 0 ? ENDING_HERE : ENDING_BEFORE;
	}
}

static bool
ending_write(struct ending *e, const char *word, int64_t until_ms)
{
	char line[ENDING_BYTES + 1];
	int n = snprintf(line, sizeof(line), "%s until_ms=%" PRId64 " clock=%s", word, until_ms,
		e->clock[0] != '\0' ? e->clock : CLOCK_UNKNOWN);

	memset(line + n, ' ', (size_t)(ENDING_BYTES - n));
	line[ENDING_BYTES - 1] = '\n';
	e->written_ms = until_ms;
	errno = 0;
	return pwrite(e->fd, line, ENDING_BYTES, 0) == ENDING_BYTES;
}

/* Without a record the next daemon assumes nothing. */
static bool
ending_spoilt(struct ending *e, int directory_fd)
{
	int why = errno != 0 ? errno : ENOSPC;

	if (e->fd >= 0) {
		close(e->fd);
	}
	e->fd = -1;
	(void)unlinkat(directory_fd, FILE_NAME, 0);
	errno = why;
	return false;
}

bool
ending_begin(struct ending *e, int directory_fd, int64_t until_ms)
{
	e->fd = openat(directory_fd, FILE_NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return (e->fd >= 0 && ending_write(e, WORD_LIVE, until_ms) && fsync(e->fd) == 0 &&
		       fsync(directory_fd) == 0) ||
	       ending_spoilt(e, directory_fd);
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

bool
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
	close(e->fd);
	e->fd = -1;
	return true;
}
