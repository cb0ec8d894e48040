/*
 * notify: see notify.h. main and the driver call it. It never waits, and an error here stops nothing: the
 * service runs without a service manager, too.
 */
#include "daemon/base/notify.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FD    3   /* SD_LISTEN_FDS_START */
#define MESSAGE_FDS 253 /* the kernel passes no more with one message */
#define FDS_MOST    (1U << 20)
#define RETRY_MS    1 /* no event says that a user has fewer descriptors under way */

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
take_watchdog_ms(struct notify *notify)
{
	unsigned long long usec = parse_number(getenv("WATCHDOG_USEC"));
	const char *pid = getenv("WATCHDOG_PID");

	if (pid && parse_number(pid) != (unsigned long long)getpid())
		usec = 0;
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (usec == 0 || usec > INT64_MAX)
		return 0;
	snprintf(notify->watchdog_usec, sizeof(notify->watchdog_usec), "%llu", usec);
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

	*notify = (struct notify){.fd = -1};
	notify->watchdog_ms = take_watchdog_ms(notify);
	if (!where || !*where)
		return 0;
	notify->fd = notify_connect(where);
	error = errno;
	if (notify->fd >= 0) {
		snprintf(notify->socket, sizeof(notify->socket), "%s", where);
		notify->store_max = parse_number(getenv("FDSTORE"));
	}
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

/* False: the manager is behind, and another try may do. */
static bool
notify_send(const struct notify *notify, const char *state, const char *status)
{
	char message[512];
	int n;

	if (notify->fd < 0)
		return true;
	n = snprintf(message, sizeof message, "%s%s%s", state, status ? "STATUS=" : "", status ? status : "");
	assert(n >= 0);
	if ((size_t)n >= sizeof message)
		n = sizeof message - 1;
	/* Lost if the manager is behind. */
	return send(notify->fd, message, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
	       (errno != EAGAIN && errno != ENOBUFS);
}

bool
notify_ready(const struct notify *notify, const char *status)
{
	return notify_send(notify, "READY=1\n", status);
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
notify_take_fds(struct notify_fd **fds)
{
	unsigned long long pid = parse_number(getenv("LISTEN_PID")),
			   count = parse_number(getenv("LISTEN_FDS"));
	const char *names = getenv("LISTEN_FDNAMES");
	size_t n = 0, i;

	if (pid != (unsigned long long)getpid() || count > FDS_MOST)
		count = 0;
	*fds = count > 0 ? calloc(count, sizeof(**fds)) : NULL;
	for (i = 0; i < count; i++) {
		int fd = FIRST_FD + (int)i;
		char name[NOTIFY_NAME_MAX + 1];

		take_name(&names, name);
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			continue;
		if (!*fds) {
			close(fd);
			continue;
		}
		(*fds)[n].fd = fd;
		memcpy((*fds)[n].name, name, sizeof name);
		n++;
	}
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	unsetenv("LISTEN_PIDFDID");
	return n;
}

/* ---- the store of descriptors ---- */

static int64_t
monotonic_ms(void)
{
	struct timespec ts;

	return clock_gettime(CLOCK_MONOTONIC, &ts) == 0 ? (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000
							: 0;
}

/* Waits until the socket may take a message. False with errno. */
static bool
wait_for_room(int fd, bool full, int64_t until_ms)
{
	struct pollfd at = {.fd = fd, .events = POLLOUT};
	int64_t left_ms = until_ms - monotonic_ms();

	if (left_ms <= 0) {
		errno = ETIMEDOUT;
		return false;
	}
	return poll(full ? &at : NULL, full, full ? (int)left_ms : RETRY_MS) >= 0 || errno == EINTR;
}

/* Sends a message with at most MESSAGE_FDS descriptors. False with errno. */
static bool
send_fds(const struct notify *notify, const char *text, const int *fds, size_t count, int64_t until_ms)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	} control = {0};
	struct iovec bytes = {.iov_base = (char *)text, .iov_len = strlen(text)};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (notify->fd < 0) {
		errno = ENOTCONN;
		return false;
	}
	if (count > 0) {
		message.msg_control = &control;
		message.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	while (sendmsg(notify->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		/* ETOOMANYREFS: as many are under way as this user may have open. */
		if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS && errno != ETOOMANYREFS)
			return false;
		if (!wait_for_room(notify->fd, errno == EAGAIN, until_ms))
			return false;
	}
	return true;
}

bool
notify_store(const struct notify *notify, const int *fds, size_t count, const char *name, int64_t most_ms)
{
	int64_t until_ms = monotonic_ms() + most_ms;
	char text[64 + NOTIFY_NAME_MAX];
	size_t sent = 0;

	/* FDPOLL=0: it keeps a connection whose client has gone, too, since the next process has to learn
	 * that. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s\n", name);
	while (sent < count) {
		size_t n = count - sent < MESSAGE_FDS ? count - sent : MESSAGE_FDS;

		if (!send_fds(notify, text, fds + sent, n, until_ms))
			return false;
		sent += n;
	}
	return true;
}

bool
notify_unstore(const struct notify *notify, const char *name, int64_t most_ms)
{
	char text[64 + NOTIFY_NAME_MAX];

	snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s\n", name);
	return send_fds(notify, text, NULL, 0, monotonic_ms() + most_ms);
}

/* The service manager closes the descriptor that comes with BARRIER=1 when it reads that message. */
bool
notify_barrier(const struct notify *notify, int64_t most_ms)
{
	int64_t until_ms = monotonic_ms() + most_ms;
	int ends[2];
	struct pollfd at = {.events = 0};
	bool sent;
	int n = 0, why;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	sent = send_fds(notify, "BARRIER=1", &ends[1], 1, until_ms);
	why = errno;
	close(ends[1]);
	at.fd = ends[0];
	while (sent) {
		int64_t left_ms = until_ms - monotonic_ms();

		n = poll(&at, 1, left_ms > 0 ? (int)left_ms : 0);
		why = n == 0 ? ETIMEDOUT : errno;
		if (n >= 0 || errno != EINTR)
			break;
	}
	close(ends[0]);
	errno = why;
	return sent && n > 0;
}

/* ---- the environment of the next program ---- */

bool
notify_pass_on(const struct notify *notify)
{
	char pid[24];

	if (notify->socket[0] != '\0' && setenv("NOTIFY_SOCKET", notify->socket, 1) != 0)
		return false;
	if (notify->watchdog_usec[0] == '\0')
		return true;
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	return setenv("WATCHDOG_USEC", notify->watchdog_usec, 1) == 0 && setenv("WATCHDOG_PID", pid, 1) == 0;
}

void
notify_keep_back(void)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}
