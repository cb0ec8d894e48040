/*
 * passing: reads Unix sockets, whose clients can pass descriptors (SCM_RIGHTS) that the daemon did not ask
 * for.
 *
 * What is passed is never closed by the caller, as a close can wait for as long as another program likes
 * (closer.h). The kernel closes what it has no room for, in the middle of a read: a descriptor that does not
 * fit into the message, or that finds no free number; and out-of-band data with all that came with it. So
 * each read has room for as many as one message can carry, takes out-of-band data as any other, and when
 * numbers run short it peeks before it reads.
 *
 * Connections and HTTP clients read with passing_read(), and listeners say which numbers they get.
 */
#ifndef NET_PASSING_H
#define NET_PASSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct closer;

#define PASSING_NONE    (-1) /* no descriptor was passed */
#define PASSING_LOST    (-2) /* one was passed, and there was no room for it */
#define PASSING_FOREIGN (-3) /* none of those that were passed is of a kind that is taken */

/* So many descriptors come with one message at most (SCM_MAX_FD). */
#define PASSING_MOST 253

/* All zero but closer at first. */
struct passing {
	struct closer *closer; /* of what is not taken; NULL: it is closed at once */
	bool few;              /* numbers may be too few for what one message can carry */
	bool counted;          /* the limit of the process is known */
	uint64_t few_from;     /* a new descriptor with this number shows that they are few */
	int64_t check_at_ms;   /* few: when to count again */
};

/* The process has got this descriptor; -1: it has got none, as numbers ran out. */
void passing_saw(struct passing *passing, int fd);

/* What a request can use, and what is harmless to close: a pidfd, or an end of a pipe. Does not ask the
 * program behind the file, as fstat() would. */
bool passing_takes(int fd);

/* A Unix socket that has just been accepted. */
void passing_prepare(int fd);

/*
 * As recv() without waiting. *passed is the first descriptor of these bytes that is taken, close-on-exec and
 * owned by the caller, or one of the values above; the others go to the closer. -1 with EMFILE: descriptors
 * have come which there are no numbers for. They are still unread: the connection has to end, by
 * closer_end().
 */
ssize_t passing_read(struct passing *passing, int fd, void *room, size_t n, int *passed)
	__attribute__((warn_unused_result));

#endif
