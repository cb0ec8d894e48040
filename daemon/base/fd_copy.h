/*
 * fd_copy: a copy of all descriptors of this process, which a thread keeps.
 *
 * The last close() of a file may wait for as long as its owner likes, and any client can pass such a file
 * (closer.h). While there is a copy, a close() in another thread or in a child is not the last one. The copy
 * ends with its thread, and the kernel does not linger in a thread that ends.
 */
#ifndef BASE_FD_COPY_H
#define BASE_FD_COPY_H

#include <pthread.h>
#include <stdbool.h>

/* Must not move between fd_copy_keep() and fd_copy_end(). */
struct fd_copy {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread;
	bool made; /* or it cannot be made, as some filters of system calls forbid it */
	bool ends;
};

/* Copies what is open now. If no thread can be begun there is no copy. */
void fd_copy_keep(struct fd_copy *copy);
/* No copy is left when this process has no other thread; until then its thread may still be closing it. */
void fd_copy_end(struct fd_copy *copy);

#endif
