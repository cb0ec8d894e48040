/*
 * await: runs a libevent loop from a test, with a limit. Used by suites only.
 */
#include "tests/support/await.h"

#include "daemon/base/clock.h"

static void
nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static bool
turn_until(struct event_base *base, bool (*done)(void *arg), void *arg, int64_t limit_ms)
{
	const struct timeval tick = {.tv_usec = 50000}; /* so that done() may also depend on time */
	struct event *timer = event_new(base, -1, EV_PERSIST, nothing, NULL);
	int64_t end_ms = clock_ms() + limit_ms;
	bool is_done = false;

	if (!timer || event_add(timer, &tick) != 0)
		return false;
	while (!(is_done = done && done(arg)) && clock_ms() < end_ms)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	return is_done;
}

bool
await(struct event_base *base, bool (*done)(void *arg), void *arg)
{
	return turn_until(base, done, arg, AWAIT_LIMIT_MS);
}

void
await_ms(struct event_base *base, int ms)
{
	turn_until(base, NULL, NULL, ms);
}
