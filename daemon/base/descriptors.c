/*
 * descriptors: see descriptors.h. net, redis and the driver call it.
 */
#include "daemon/base/descriptors.h"

#include "daemon/base/closer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROOM_MIN 64

#ifndef CLOSE_RANGE_CLOEXEC /* of linux/close_range.h, which not every C library has */
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* The numbers of files are unique on their device only. */
uint64_t
descriptor_identity(int fd)
{
	struct stat seen;
	uint64_t identity;

	if (fd < 0 || fstat(fd, &seen) != 0)
		return 0;
	identity = (uint64_t)seen.st_ino ^ (uint64_t)seen.st_dev << 40;
	return identity != 0 ? identity : 1;
}

uint64_t
descriptors_add(struct descriptors *set, int fd)
{
	uint64_t identity = descriptor_identity(fd);
	struct descriptor *wider;
	size_t room = set->room > 0 ? set->room * 2 : ROOM_MIN;

	if (identity == 0)
		return 0;
	if (set->count == set->room) {
		wider = realloc(set->list, room * sizeof(*wider));
		if (wider == NULL) {
			set->failed = true;
			return 0;
		}
		set->list = wider;
		set->room = room;
	}
	set->list[set->count++] = (struct descriptor){.identity = identity, .fd = fd};
	set->sorted = false;
	return identity;
}

uint64_t
descriptors_add_stored(struct descriptors *set, int fd)
{
	uint64_t identity = descriptors_add(set, fd);

	if (identity != 0)
		set->list[set->count - 1].stored = true;
	return identity;
}

static int
compare(const void *a, const void *b)
{
	uint64_t first = ((const struct descriptor *)a)->identity;
	uint64_t second = ((const struct descriptor *)b)->identity;

	return first < second ? -1 : first > second;
}

static size_t
descriptors_find(const struct descriptors *set, uint64_t identity)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->list[middle].identity < identity)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int
descriptors_take(struct descriptors *set, uint64_t identity)
{
	size_t at;
	int fd;

	if (!set->sorted && set->count > 0)
		qsort(set->list, set->count, sizeof(*set->list), compare);
	set->sorted = true;
	at = descriptors_find(set, identity);
	if (identity == 0 || at == set->count || set->list[at].identity != identity ||
		(at + 1 < set->count && set->list[at + 1].identity == identity))
		return -1;
	fd = set->list[at].fd;
	set->list[at].fd = -1;
	return fd;
}

/* Sets close-on-exec for all above the standard ones: one call where ten thousand take 10 ms of a hand-over.
 * False: the kernel is older than 5.11, or a filter of calls forbids it. */
static bool
descriptors_keep_all(void)
{
	return syscall(SYS_close_range, STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC) == 0;
}

bool
descriptors_pass_on(const struct descriptors *set, bool pass_on)
{
	if (!pass_on && descriptors_keep_all())
		return true;
	for (size_t i = 0; i < set->count; i++)
		if (fcntl(set->list[i].fd, F_SETFD, pass_on ? 0 : FD_CLOEXEC) != 0)
			return false;
	return true;
}

void
descriptors_done(struct descriptors *set)
{
	free(set->list);
	*set = (struct descriptors){0};
}

void
descriptor_end(int fd)
{
	struct closer *closer = closer_new();
	int listens = 0;
	socklen_t n = sizeof(listens);

	/* A socket that listens may be the service manager's, and goes on. */
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && !listens)
		closer_end(closer, fd);
	else
		closer_put(closer, fd);
	closer_free(closer);
}

void
descriptors_close(struct descriptors *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i].fd >= 0)
			descriptor_end(set->list[i].fd);
	descriptors_done(set);
}
