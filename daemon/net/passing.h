/*
 * passing: reads what a local client sent, and the descriptor it may have passed along (SCM_RIGHTS).
 *
 * connection.c is the only reader.
 */
#ifndef NET_PASSING_H
#define NET_PASSING_H

#include <stddef.h>
#include <sys/types.h>

#define PASSING_NONE (-1) /* no descriptor was passed */
#define PASSING_LOST (-2) /* one was passed, and there was no room for it */

/*
 * As recv() on a Unix socket. *passed is the descriptor that came with these bytes, close-on-exec and owned
 * by the caller, or one of the values above. Of several descriptors passed at once the kernel drops all but
 * the first: there is room for only one.
 */
ssize_t passing_read(int fd, void *room, size_t n, int *passed) __attribute__((warn_unused_result));

#endif
