/*
 * child: see child.h.
 */
#include "daemon/base/child.h"

#include "daemon/base/log.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

/* ---- orphans ---- */

struct reaper {
	struct event *ended;
	child_known *known;
	void *arg;
	struct log *log;
};

/* One signal may be for several children. */
static void
reaper_reap(struct reaper *reaper)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (reaper->known(reaper->arg, pid, status))
			continue;
		LOG_EVENT(reaper->log, LOG_DEBUG_LEVEL, "orphan.reaped", log_number("pid", pid),
			log_number("status", status));
	}
}

static void
reaper_heard(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	reaper_reap(arg);
}

struct reaper *
reaper_new(struct event_base *base, child_known *known, void *arg, struct log *log)
{
	struct reaper *reaper = calloc(1, sizeof *reaper);

	if (!reaper)
		return NULL;
	reaper->known = known;
	reaper->arg = arg;
	reaper->log = log;
	reaper->ended = evsignal_new(base, SIGCHLD, reaper_heard, reaper);
	if (!reaper->ended || event_add(reaper->ended, NULL) != 0) {
		reaper_free(reaper);
		return NULL;
	}
	reaper_reap(reaper); /* children that ended before sent no signal */
	return reaper;
}

void
reaper_free(struct reaper *reaper)
{
	if (!reaper)
		return;
	if (reaper->ended)
		event_free(reaper->ended);
	free(reaper);
}
