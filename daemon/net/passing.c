/*
 * passing: see passing.h.
 */
#include "daemon/net/passing.h"

#include <string.h>
#include <sys/socket.h>

ssize_t
passing_read(int fd, void *room, size_t n, int *passed)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec into = {.iov_base = room, .iov_len = n};
	struct msghdr message = {
		.msg_iov = &into,
		.msg_iovlen = 1,
		.msg_control = &control,
		/* Not CMSG_SPACE: its padding has room for a second descriptor. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	*passed = PASSING_NONE;
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (got < 0) {
		return got;
	}
	const struct cmsghdr *first = CMSG_FIRSTHDR(&message);
	if (first && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_RIGHTS &&
		first->cmsg_len == CMSG_LEN(sizeof(int))) {
		memcpy(passed, CMSG_DATA(first), sizeof(int));
	} else if (message.msg_flags & MSG_CTRUNC) {
		*passed = PASSING_LOST;
	}
	return got;
}
