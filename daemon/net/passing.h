/*
 * passing: reads what a local client sent, and the descriptor it may have passed along (SCM_RIGHTS).
 *
 * connection.c is the only reader.
 */
#ifndef NET_PASSING_H
#define NET_PASSING_H

#include <stddef.h>
#include <sys/types.h>

#define PASSING_NONE (-1) /* no descriptor came */
#define PASSING_LOST (-2) /* one came, and there was no room for it */

/*
 * As recv() on a Unix socket. *passed is the descriptor that came with these bytes, close-on-exec and the
 * caller's, or one of the above. More than one at a time never enters this process: there is no room for
 * them, so the kernel drops them.
 */
ssize_t passing_read(int fd, void *room, size_t n, int *passed) __attribute__((warn_unused_result));

#endif
