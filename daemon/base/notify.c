/*
 * notify: see notify.h. main and the driver call it. It never waits, and an error here stops nothing: the
 * service runs without a service manager, too.
 */
#include "daemon/base/notify.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD 3 /* SD_LISTEN_FDS_START */

/* Digits only; 0 if it is not a number: the text comes from the environment. */
static unsigned long long
parse_number(const char *text)
{
	unsigned long long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? 0 : value;
}

static int64_t
take_watchdog_ms(void)
{
	unsigned long long usec = parse_number(getenv("WATCHDOG_USEC"));
	const char *pid = getenv("WATCHDOG_PID");

	if (pid && parse_number(pid) != (unsigned long long)getpid())
		usec = 0;
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (usec == 0 || usec > INT64_MAX)
		return 0;
	/* Half of the limit, as sd_watchdog_enabled(3) advises. */
	return usec < 2000 ? 1 : (int64_t)(usec / 2000);
}

/* where: a path, or an abstract name written with '@'. */
static int
notify_connect(const char *where)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(where);
	int fd, error;

	if ((where[0] != '/' && where[0] != '@') || n < 2 || n >= sizeof address.sun_path) {
		errno = EINVAL;
		return -1;
	}
	memcpy(address.sun_path, where, n);
	if (where[0] == '@')
		address.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

int
notify_init(struct notify *notify)
{
	const char *where = getenv("NOTIFY_SOCKET");
	int error;

	notify->fd = -1;
	notify->watchdog_ms = take_watchdog_ms();
	if (!where || !*where)
		return 0;
	notify->fd = notify_connect(where);
	error = errno;
	unsetenv("NOTIFY_SOCKET");
	errno = error;
	return notify->fd < 0 ? -1 : 0;
}

void
notify_done(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
}

static void
notify_send(const struct notify *notify, const char *state, const char *status)
{
	char message[512];
	int n;

	if (notify->fd < 0)
		return;
	n = snprintf(message, sizeof message, "%s%s%s", state, status ? "STATUS=" : "", status ? status : "");
	assert(n >= 0);
	if ((size_t)n >= sizeof message)
		n = sizeof message - 1;
	/* Lost if the manager is behind; the next message has the same contents. */
	if (send(notify->fd, message, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

void
notify_ready(const struct notify *notify, const char *status)
{
	notify_send(notify, "READY=1\n", status);
}

void
notify_reloading(const struct notify *notify)
{
	char state[64];
	struct timespec ts;

	/* The manager compares this with the time of its reload request: CLOCK_MONOTONIC, by the protocol. */
	if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
		return;
	snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld\n",
		(long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
	notify_send(notify, state, NULL);
}

void
notify_stopping(const struct notify *notify, const char *status, int64_t most_ms)
{
	char state[64];

	snprintf(state, sizeof state, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld\n", (long long)most_ms * 1000);
	notify_send(notify, state, status);
}

void
notify_status(const struct notify *notify, const char *status)
{
	notify_send(notify, "", status);
}

void
notify_watchdog(const struct notify *notify)
{
	notify_send(notify, "WATCHDOG=1\n", NULL);
}

/* Copies the next of the names in *names, which ':' separates, and moves *names on. */
static void
take_name(const char **names, char out[NOTIFY_NAME_MAX + 1])
{
	size_t n = *names ? strcspn(*names, ":") : 0;

	if (n == 0)
		snprintf(out, NOTIFY_NAME_MAX + 1, "unknown");
	else
		snprintf(out, NOTIFY_NAME_MAX + 1, "%.*s", (int)(n > NOTIFY_NAME_MAX ? NOTIFY_NAME_MAX : n),
			*names);
	if (*names)
		*names = (*names)[n] == ':' ? *names + n + 1 : NULL;
}

size_t
notify_take_fds(struct notify_fd *fds, size_t max)
{
	unsigned long long pid = parse_number(getenv("LISTEN_PID")),
			   count = parse_number(getenv("LISTEN_FDS"));
	const char *names = getenv("LISTEN_FDNAMES");
	size_t n = 0, i;

	if (pid != (unsigned long long)getpid() || count > 4096)
		count = 0;
	for (i = 0; i < count; i++) {
		int fd = FIRST_FD + (int)i;
		char name[NOTIFY_NAME_MAX + 1];

		take_name(&names, name);
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			continue;
		if (n == max) {
			close(fd);
			continue;
		}
		fds[n].fd = fd;
		memcpy(fds[n].name, name, sizeof name);
		n++;
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	unsetenv("LISTEN_PIDFDID");
	return n;
}
