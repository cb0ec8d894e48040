/*
 * supervisor: the wrapper's side of the supervisor process. Called by run.c only.
 */
#include "client/supervisor.h"

#include "client/descendants.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void
close_pair(const int pair[2])
{
	(void)close(pair[0]);
	(void)close(pair[1]);
}

bool
supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
{
	int control[2];
	int go[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
		return false;
	}
	if (pipe2(go, O_CLOEXEC) != 0) {
		close_pair(control);
		return false;
	}
	*s = (struct supervisor){fork(), -1, control[0], go[1]};
	if (s->pid == 0) {
		(void)close(control[0]);
		(void)close(go[1]);
		supervise(plan, control[1], go[0]);
	}
	(void)close(control[1]);
	(void)close(go[0]);
	if (s->pid > 0) {
		/* The supervisor is our unreaped child, so the pid cannot be reused. */
		s->pidfd = descendants_pidfd(s->pid);
	}
	if (s->pid < 0 || s->pidfd < 0) {
		int error = errno;

		(void)close(s->control);
		(void)close(s->go);
		errno = error;
		return false;
	}
	return true;
}

void
supervisor_go(struct supervisor *s)
{
	ssize_t n = write(s->go, "!", 1);

	/* If the command was killed already, the news says so. */
	(void)n;
	(void)close(s->go);
	s->go = -1;
}

static void
order_send(struct supervisor *s, struct order order)
{
	/* If the supervisor is gone, the news says so. */
	(void)send(s->control, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
supervisor_signal(struct supervisor *s, int signal)
{
	order_send(s, (struct order){.type = ORDER_SIGNAL, .signal = signal});
}

void
supervisor_continued(struct supervisor *s)
{
	order_send(s, (struct order){.type = ORDER_CONTINUED});
}

void
supervisor_limit(struct supervisor *s, int64_t limit_ms)
{
	order_send(s, (struct order){.type = ORDER_LIMIT, .limit_ms = limit_ms});
}

bool
supervisor_read(struct supervisor *s, struct news *news)
{
	ssize_t n = recv(s->control, news, sizeof(*news), 0);

	if (n == (ssize_t)sizeof(*news)) {
		return true;
	}
	if (n < 0 && errno == EINTR) {
		return false;
	}
	*news = (struct news){.type = NEWS_LOST, .pid = s->pid};
	return true;
}

void
supervisor_finish(struct supervisor *s)
{
	(void)close(s->control);
	if (s->go >= 0) {
		(void)close(s->go);
	}
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	(void)close(s->pidfd);
}
