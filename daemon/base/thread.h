/*
 * thread: begins a thread beside the one of the event loop. No signal is delivered to it: signals are for the
 * loop.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum thread_end {
	THREAD_JOINED,  /* the caller calls pthread_join() */
	THREAD_DETACHED /* the thread frees itself when it ends */
};

/* stack: bytes. False: there is no memory, or no thread is allowed any more. */
bool thread_begin(pthread_t *thread, size_t stack, enum thread_end end, void *(*work)(void *), void *arg)
	__attribute__((warn_unused_result));

#endif
