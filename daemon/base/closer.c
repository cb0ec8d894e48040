/*
 * closer: see closer.h. The loop puts descriptors into the queue; everything that may wait happens in
 * threads.
 */
#include "daemon/base/closer.h"

#include "daemon/base/fd_copy.h"
#include "daemon/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREAD_STACK_BYTES (128 * 1024)
#define QUEUE_MIN          64

/* The threads may outlive the daemon's use of it, so the last of them frees it. */
struct closer {
	pthread_mutex_t mutex;
	pthread_cond_t emptied;
	int *queue; /* to be closed by the next batch */
	size_t count;
	size_t room;
	size_t closing; /* in batches under way */
	unsigned threads;
	bool abandoned; /* no closer_put() comes any more */
};

struct batch {
	int *fds;
	size_t count;
};

/* ---- threads ---- */

static void
batch_close(const struct batch *batch)
{
	struct fd_copy copy;

	fd_copy_keep(&copy);
	for (size_t i = 0; i < batch->count; i++)
		close(batch->fds[i]);
	fd_copy_end(&copy);
}

static void
closer_destroy(struct closer *closer)
{
	pthread_cond_destroy(&closer->emptied);
	pthread_mutex_destroy(&closer->mutex);
	free(closer->queue);
	free(closer);
}

/* Takes the whole queue. False: it is empty, and the thread ends. */
static bool
batch_take(struct closer *closer, struct batch *batch)
{
	if (closer->count == 0)
		return false;
	*batch = (struct batch){.fds = closer->queue, .count = closer->count};
	closer->closing += closer->count;
	closer->queue = NULL;
	closer->count = closer->room = 0;
	return true;
}

static void *
closer_work(void *arg)
{
	struct closer *closer = arg;
	struct batch batch;
	bool last;

	pthread_mutex_lock(&closer->mutex);
	while (batch_take(closer, &batch)) {
		pthread_mutex_unlock(&closer->mutex);
		batch_close(&batch);
		free(batch.fds);
		pthread_mutex_lock(&closer->mutex);
		closer->closing -= batch.count;
		if (closer->closing + closer->count == 0)
			pthread_cond_broadcast(&closer->emptied);
	}
	last = --closer->threads == 0 && closer->abandoned;
	pthread_mutex_unlock(&closer->mutex);
	if (last)
		closer_destroy(closer);
	return NULL;
}

/* ---- the loop's ---- */

struct closer *
closer_new(void)
{
	struct closer *closer = calloc(1, sizeof(*closer));

	if (closer != NULL) {
		pthread_mutex_init(&closer->mutex, NULL);
		pthread_cond_init(&closer->emptied, NULL);
	}
	return closer;
}

void
closer_free(struct closer *closer)
{
	bool last;

	if (closer == NULL)
		return;
	pthread_mutex_lock(&closer->mutex);
	closer->abandoned = true;
	last = closer->threads == 0;
	pthread_mutex_unlock(&closer->mutex);
	if (last)
		closer_destroy(closer);
}

static bool
queue_add(struct closer *closer, int fd)
{
	if (closer->count == closer->room) {
		size_t room = closer->room > 0 ? closer->room * 2 : QUEUE_MIN;
		int *wider = realloc(closer->queue, room * sizeof(*wider));

		if (wider == NULL)
			return false;
		closer->queue = wider;
		closer->room = room;
	}
	closer->queue[closer->count++] = fd;
	return true;
}

void
closer_put(struct closer *closer, int fd)
{
	pthread_t thread;
	bool queued = false;

	if (closer != NULL) {
		pthread_mutex_lock(&closer->mutex);
		queued = queue_add(closer, fd);
		/* A thread takes what comes while it closes, unless it has to wait. So with one batch under
		 * way the next one begins its own thread. */
		if (queued && closer->count == 1 && closer->threads < CLOSER_THREADS &&
			thread_begin(&thread, THREAD_STACK_BYTES, THREAD_DETACHED, closer_work, closer))
			closer->threads++;
		if (queued && closer->threads == 0) {
			closer->count--;
			queued = false;
		}
		pthread_mutex_unlock(&closer->mutex);
	}
	if (!queued)
		close(fd);
}

void
closer_end(struct closer *closer, int fd)
{
	int unread = 0;

	/* After that its peer cannot send. */
	(void)shutdown(fd, SHUT_RDWR);
	if (ioctl(fd, FIONREAD, &unread) == 0 && unread == 0)
		close(fd);
	else
		closer_put(closer, fd);
}

bool
closer_settle(struct closer *closer, int ms)
{
	struct timespec until;
	bool settled;

	if (closer == NULL)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&closer->mutex);
	while (closer->closing + closer->count > 0 &&
		pthread_cond_timedwait(&closer->emptied, &closer->mutex, &until) == 0) {
	}
	settled = closer->closing + closer->count == 0;
	pthread_mutex_unlock(&closer->mutex);
	return settled;
}

size_t
closer_count(struct closer *closer)
{
	size_t count;

	if (closer == NULL)
		return 0;
	pthread_mutex_lock(&closer->mutex);
	count = closer->closing + closer->count;
	pthread_mutex_unlock(&closer->mutex);
	return count;
}
