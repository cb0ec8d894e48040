/*
 * closer: closes descriptors that another program has chosen, beside the thread that serves clients.
 *
 * The last close() of a file may wait for as long as its owner likes: a TCP socket with SO_LINGER and unsent
 * data waits for the other end, a file of a FUSE mount for the program behind it. Any client of a Unix socket
 * can pass such a file (SCM_RIGHTS). What the daemon does not keep is closed here. The close of a socket is
 * the same as that of all descriptors which are still unread in it, and of a listening socket that of all
 * clients in its backlog.
 *
 *     the daemon ──closer_put()──▶ queue ──▶ a thread that closes ◀──fd_copy.h── a thread that only ends
 *
 * The thread that closes lets another one keep a copy of all descriptors meanwhile, so no close() of a socket
 * waits. What waits even so, as a file of FUSE, holds one thread, and the next batch begins another, up to
 * CLOSER_THREADS.
 */
#ifndef BASE_CLOSER_H
#define BASE_CLOSER_H

#include <stdbool.h>
#include <stddef.h>

struct closer;

/* Batches that are closed at a time. */
#define CLOSER_THREADS 8

/* NULL: out of memory. No thread is begun before there is something to close. */
struct closer *closer_new(void) __attribute__((warn_unused_result));
/* Waits for no close: its threads close what is still in the queue. */
void closer_free(struct closer *closer);

/* Closes fd soon; it is not the caller's any more. closer NULL, or no memory or thread is left: closes it
 * now. */
void closer_put(struct closer *closer, int fd);
/* Ends a connection of a Unix socket. Its peer learns that at once; and if nothing is unread in it, it is
 * closed at once, too. */
void closer_end(struct closer *closer, int fd);
/* Waits at most for so long until everything is closed. False: something is not. */
bool closer_settle(struct closer *closer, int ms);
/* Descriptors that are not closed yet. */
size_t closer_count(struct closer *closer);

#endif
