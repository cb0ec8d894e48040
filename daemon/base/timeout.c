/*
 * timeout: see timeout.h. Links and other rooms with periodic checks call it. It must never ring from within
 * its own interface.
 */
#include "daemon/base/timeout.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct timeout {
	struct event event;
	int fd;
	void (*ring)(void *arg);
	void *arg;
};

/* If the timeout was set again since the event came, there is nothing to read. */
static void
timeout_came(evutil_socket_t fd, short what, void *arg)
{
	struct timeout *timeout = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof times) == sizeof times)
		timeout->ring(timeout->arg);
}

struct timeout *
timeout_new(struct event_base *base, void (*ring)(void *arg), void *arg)
{
	struct timeout *timeout = calloc(1, sizeof *timeout);

	if (!timeout)
		return NULL;
	timeout->ring = ring;
	timeout->arg = arg;
	timeout->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timeout->fd < 0) {
		free(timeout);
		return NULL;
	}
	event_assign(&timeout->event, base, timeout->fd, EV_READ | EV_PERSIST, timeout_came, timeout);
	if (event_add(&timeout->event, NULL) != 0) {
		timeout_free(timeout);
		return NULL;
	}
	return timeout;
}

void
timeout_free(struct timeout *timeout)
{
	if (!timeout)
		return;
	event_del(&timeout->event);
	close(timeout->fd);
	free(timeout);
}

void
timeout_set(struct timeout *timeout, int64_t ms)
{
	struct itimerspec spec = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
	int failed;

	assert(ms >= 0);
	if (ms == 0)
		spec.it_value.tv_nsec = 1; /* zero would disarm it */
	failed = timerfd_settime(timeout->fd, 0, &spec, NULL);
	assert(!failed);
	(void)failed;
}
