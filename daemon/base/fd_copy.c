/*
 * fd_copy: see fd_copy.h.
 */
#include "daemon/base/fd_copy.h"

#include "daemon/base/thread.h"

#include <sched.h>
#include <stddef.h>

#define THREAD_STACK_BYTES (128 * 1024)

static void *
copy_work(void *arg)
{
	struct fd_copy *copy = arg;

	(void)unshare(CLONE_FILES);
	pthread_mutex_lock(&copy->mutex);
	copy->made = true;
	pthread_cond_broadcast(&copy->changed);
	while (!copy->ends)
		pthread_cond_wait(&copy->changed, &copy->mutex);
	pthread_mutex_unlock(&copy->mutex);
	return NULL;
}

void
fd_copy_keep(struct fd_copy *copy)
{
	*copy = (struct fd_copy){0};
	pthread_mutex_init(&copy->mutex, NULL);
	pthread_cond_init(&copy->changed, NULL);
	copy->has_thread = thread_begin(&copy->thread, THREAD_STACK_BYTES, THREAD_JOINED, copy_work, copy);
	pthread_mutex_lock(&copy->mutex);
	while (copy->has_thread && !copy->made)
		pthread_cond_wait(&copy->changed, &copy->mutex);
	pthread_mutex_unlock(&copy->mutex);
}

void
fd_copy_end(struct fd_copy *copy)
{
	pthread_mutex_lock(&copy->mutex);
	copy->ends = true;
	pthread_cond_broadcast(&copy->changed);
	pthread_mutex_unlock(&copy->mutex);
	if (copy->has_thread)
		pthread_join(copy->thread, NULL);
	pthread_cond_destroy(&copy->changed);
	pthread_mutex_destroy(&copy->mutex);
}
