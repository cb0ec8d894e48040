/*
 * descriptor: see descriptor.h.
 */
#include "client/wire/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

int
descriptor_high(int fd)
{
	int high, error;

	if (fd < 0 || fd > STDERR_FILENO) {
		return fd;
	}
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	error = errno;
	(void)close(fd);
	errno = error;
	return high;
}

ino_t
descriptor_socket(int fd)
{
	struct stat about;

	return fd >= 0 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

void
descriptor_close_socket(int fd, ino_t inode)
{
	if (fd >= 0 && descriptor_socket(fd) == inode) {
		(void)close(fd);
	}
}

void
descriptor_close_timer(int fd)
{
	struct itimerspec now;

	if (fd >= 0 && timerfd_gettime(fd, &now) == 0) {
		(void)close(fd);
	}
}
