/*
 * clock: see clock.h. Which clock it is; the time itself is read in the header.
 */
#include "daemon/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define BOOT_ID_BYTES 36
#define NAP_NS        5000000

bool
clock_nap(int64_t until_ms)
{
	const struct timespec moment = {.tv_nsec = NAP_NS};

	if (clock_ms() >= until_ms)
		return false;
	nanosleep(&moment, NULL);
	return true;
}

void
clock_name(char out[CLOCK_NAME_MAX])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, BOOT_ID_BYTES) : -1;
	char space[48];
	ssize_t m = readlink("/proc/self/ns/time", space, sizeof(space) - 1);

	if (fd >= 0)
		close(fd);
	/* Kernels before 5.6 have no time namespaces. */
	if (m < 0 && errno == ENOENT)
		m = snprintf(space, sizeof(space), "-");
	if (n != BOOT_ID_BYTES || m < 0) {
		out[0] = '\0';
		return;
	}
	snprintf(out + n, CLOCK_NAME_MAX - (size_t)n, ",%.*s", (int)m, space);
}
