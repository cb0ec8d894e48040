/*
 * circle: INSPECT names the holders, SESSIONS the processes that they are bound to, and /proc our ancestors.
 */
#include "client/circle.h"

#include "client/descendants.h"
#include "client/pages.h"
#include "client/wire.h"
#include "daemon/base/clock.h"

#include <string.h>
#include <unistd.h>

static bool
is_ancestor(int64_t pid)
{
	pid_t at = getppid();

	while (at > 1 && at != pid) {
		at = descendants_parent(at);
	}
	return at > 1;
}

/* The process that a session is bound to; 0: none. */
static int64_t
bound_to(struct wire *w, int64_t session, int64_t until_ms)
{
	const struct answer *page;
	struct pages pages;

	pages_begin(&pages, w, 1, (const char *const[]){"SESSIONS"});
	pages.until_ms = until_ms;
	while ((page = pages_next(&pages)) != NULL) {
		for (size_t i = 0; i < page->count; i++) {
			if (answer_get_int(&page->items[i], "session", 0) == session) {
				return answer_get_int(&page->items[i], "bound_pid", 0);
			}
		}
	}
	return 0;
}

/* Whether the daemon sees the same pids as this process; in another PID namespace it does not. */
static bool
lists_us(const struct answer *inspect)
{
	const struct answer *waiters = answer_get(inspect, "waiters");

	for (size_t i = 0; waiters != NULL && i < waiters->count; i++) {
		if (answer_get_int(&waiters->items[i], "pid", 0) == getpid()) {
			return true;
		}
	}
	return false;
}

/* The session of our ancestor that holds this name; 0: none does. */
static int64_t
holder_above(struct wire *w, const char *name, int64_t until_ms)
{
	const struct answer *page, *holders;
	struct pages pages;
	int64_t above = 0;
	bool seen = false;

	pages_begin(&pages, w, 2, (const char *const[]){"INSPECT", name});
	pages.until_ms = until_ms;
	/* The pages list all holders before the waiters. */
	while (!seen && (page = pages_next(&pages)) != NULL) {
		holders = answer_get(page, "holders");
		for (size_t i = 0; holders != NULL && above == 0 && i < holders->count; i++) {
			if (is_ancestor(answer_get_int(&holders->items[i], "pid", 0))) {
				above = answer_get_int(&holders->items[i], "session", 0);
			}
		}
		seen = lists_us(page);
	}
	return seen ? above : 0;
}

int64_t
circle_find(const struct address *a, const struct options *o, const char **name)
{
	struct wire wire;
	int64_t until_ms = clock_ms() + CIRCLE_LOOK_MS, session = 0, pid = 0;

	if (!wire_open(&wire, a)) {
		return 0;
	}
	wire_greet(&wire, a, "holdfast");
	(void)wire_flush(&wire);
	(void)wire_wait(&wire, until_ms);
	for (size_t i = 0; session == 0 && i <= o->also.count; i++) {
		*name = i == 0 ? o->name : o->also.names[i - 1];
		session = holder_above(&wire, *name, until_ms);
	}
	if (session > 0) {
		pid = bound_to(&wire, session, until_ms);
	}
	wire_close(&wire);
	return is_ancestor(pid) ? pid : 0;
}
