/*
 * lock: the functions of holdfast.h that take, watch and give back a lock. They change the
 * lock under the mutex of its handle, send what is due, and wait for what the thread reads.
 *
 * Callers have locked the mutex of the handle.
 */
#ifndef C_LOCK_H
#define C_LOCK_H

#include <stdbool.h>

struct holdfast_error;
struct holdfast_lock;

/* The wait is over, the lock was lost, or it was given back. Only the first call counts. */
void lock_over(struct holdfast_lock *lock, const struct holdfast_error *error);

/* One more part of a lock that waits is held for sure. */
void lock_granted(struct holdfast_lock *lock);

/* No caller has the lock any more. It is freed when all its parts are done, perhaps now. */
void lock_drop(struct holdfast_lock *lock);

/* Whether the daemon has nothing of the lock. */
bool lock_is_done(const struct holdfast_lock *lock);

/* Takes the lock from its handle. */
void lock_free(struct holdfast_lock *lock);

#endif
