/*
 * thread: see thread.h.
 */
#include "daemon/base/thread.h"

#include <signal.h>

bool
thread_begin(pthread_t *thread, size_t stack, enum thread_end end, void *(*work)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	bool begun;

	if (pthread_attr_init(&attr) != 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	begun = pthread_attr_setstacksize(&attr, stack) == 0 &&
		pthread_attr_setdetachstate(&attr,
			end == THREAD_DETACHED ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE) == 0 &&
		pthread_create(thread, &attr, work, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return begun;
}
