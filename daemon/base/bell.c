/*
 * bell: see bell.h. Called by links and whoever else has to look after something now and then; must never
 * ring from within its own interface.
 */
#include "daemon/base/bell.h"

#include <assert.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

struct bell {
	struct event event;
	int fd;
	void (*ring)(void *arg);
	void *arg;
};

/* Set again since it came: then there is nothing to be read. */
static void
bell_came(evutil_socket_t fd, short what, void *arg)
{
	struct bell *bell = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof times) == sizeof times)
		bell->ring(bell->arg);
}

struct bell *
bell_new(struct event_base *base, void (*ring)(void *arg), void *arg)
{
	struct bell *bell = calloc(1, sizeof *bell);

	if (!bell)
		return NULL;
	bell->ring = ring;
	bell->arg = arg;
	bell->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (bell->fd < 0) {
		free(bell);
		return NULL;
	}
	event_assign(&bell->event, base, bell->fd, EV_READ | EV_PERSIST, bell_came, bell);
	if (event_add(&bell->event, NULL) != 0) {
		bell_free(bell);
		return NULL;
	}
	return bell;
}

void
bell_free(struct bell *bell)
{
	if (!bell)
		return;
	event_del(&bell->event);
	close(bell->fd);
	free(bell);
}

void
bell_set(struct bell *bell, int64_t ms)
{
	struct itimerspec spec = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
	int failed;

	assert(ms >= 0);
	if (ms == 0)
		spec.it_value.tv_nsec = 1; /* all zero would silence it */
	failed = timerfd_settime(bell->fd, 0, &spec, NULL);
	assert(!failed);
	(void)failed;
}
