/*
 * wire: connects, sends requests as RESP arrays, and reads answers.
 */
#include "client/wire/wire.h"

#include "client/wire/deadline.h"
#include "client/wire/descriptor.h"
#include "client/wire/wire_tls.h"
#include "daemon/base/clock.h"
#include "proto/reply.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_MAX     (256 * 1024)
#define FILL_BYTES  (16 * 1024)
#define FILLS_MAX   16 /* reads in a row, until the caller parses the bytes */
#define GOODBYE_MS  1000
#define GROUP_BYTES 16384 /* of a group with its members; a larger one is not named */
#define VANISHED_MS 20000 /* a peer without TCP acknowledgements for this long is gone */

/* Whether the error means that no daemon listens, or that it is gone. */
static bool
is_away(int error)
{
	return error == ENOENT || error == ECONNREFUSED || error == ECONNRESET || error == EPIPE ||
	       error == EAGAIN;
}

bool
wire_fail(struct wire *w, const char *format, ...)
{
	va_list list;

	w->ended = true;
	va_start(list, format);
	(void)vsnprintf(w->why, sizeof(w->why), format, list);
	va_end(list);
	return false;
}

/* Cuts path to the first directory that this process may not enter; leaves it whole if there is none. */
static void
find_closed(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (access(path, X_OK) != 0) {
			return;
		}
		*slash = '/';
	}
}

/* Says who may connect, by the mode of the socket or of the closed directory. */
static bool
fail_denied(struct wire *w, const struct address *a)
{
	char closed[sizeof(a->path)], names[GROUP_BYTES];
	struct stat st = {.st_uid = 0};
	struct group room;
	struct group *group = NULL;
	bool directory;

	memcpy(closed, a->path, sizeof(closed));
	find_closed(closed);
	directory = strcmp(closed, a->path) != 0;
	w->denied = true;
	if (stat(closed, &st) == 0 && st.st_gid != 0 && (st.st_mode & (directory ? S_IXGRP : S_IWGRP)) != 0) {
		(void)getgrgid_r(st.st_gid, &room, names, sizeof(names), &group);
	}
	if (group == NULL) {
		return wire_fail(w,
			"you may not connect to the daemon at %s: only the owner of %s (uid %u) and root may",
			a->text, directory ? closed : "the socket", (unsigned)st.st_uid);
	}
	return wire_fail(w,
		"you may not connect to the daemon at %s, but the group %s may: sudo usermod -aG %s $USER, "
		"and log in again",
		a->text, group->gr_name, group->gr_name);
}

/* The wire has a new socket; -1: none, and errno. */
static void
wire_take(struct wire *w, int fd)
{
	w->fd = descriptor_high(fd);
	w->inode = descriptor_socket(w->fd);
}

static bool
open_local(struct wire *w, const struct address *a)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = WIRE_CONNECT_MS / 1000};
	const char *hint;

	memcpy(to.sun_path, a->path, sizeof(to.sun_path));
	w->local = true;
	memcpy(&w->peer, &to, sizeof(to));
	w->peer_bytes = sizeof(to);
	wire_take(w, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	/* The queue of a daemon that stands still may be full: then connect() ends with EAGAIN. */
	if (w->fd >= 0) {
		(void)setsockopt(w->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	if (w->fd >= 0 && connect(w->fd, (const struct sockaddr *)&to, sizeof(to)) == 0) {
		return true;
	}
	if (w->fd >= 0 && errno == EACCES) {
		return fail_denied(w, a);
	}
	w->away = is_away(errno);
	hint = errno == ENOENT || errno == ECONNREFUSED
		       ? ": is holdfastd running? If it is elsewhere, set HOLDFAST_URL"
		       : "";
	return wire_fail(w, "cannot reach the daemon at %s: %s%s", a->text, strerror(errno), hint);
}

bool
wire_listens(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool listens;

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	listens = fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
	if (fd >= 0) {
		(void)close(fd);
	}
	return listens;
}

/* connect(2) that gives up after WIRE_CONNECT_MS; 0 or an errno. */
static int
connect_within(int fd, const struct addrinfo *to)
{
	struct pollfd p = {fd, POLLOUT, 0};
	socklen_t n = sizeof(int);
	int error = 0;

	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
		return 0;
	}
	if (errno != EINPROGRESS) {
		return errno;
	}
	if (poll(&p, 1, WIRE_CONNECT_MS) != 1) {
		return ETIMEDOUT;
	}
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 ? error : errno;
}

static void
tcp_options(int fd)
{
	int one = 1;
	unsigned vanished = VANISHED_MS;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &vanished, sizeof(vanished));
}

static int
open_one(struct wire *w, const struct addrinfo *to)
{
	int error;

	wire_take(w, socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol));
	if (w->fd < 0) {
		return errno;
	}
	error = connect_within(w->fd, to);
	if (error != 0) {
		(void)close(w->fd);
		w->fd = -1;
		return error;
	}
	tcp_options(w->fd);
	memcpy(&w->peer, to->ai_addr, to->ai_addrlen);
	w->peer_bytes = to->ai_addrlen;
	return 0;
}

static bool
open_tcp(struct wire *w, const struct address *a)
{
	struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int error = getaddrinfo(a->host, a->port, &wanted, &list);

	if (error != 0) {
		return wire_fail(w, "cannot find the host of %s: %s", a->text,
			error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
	}
	error = EADDRNOTAVAIL;
	for (const struct addrinfo *to = list; to != NULL && error != 0; to = to->ai_next) {
		error = open_one(w, to);
	}
	freeaddrinfo(list);
	w->away = is_away(error);
	return error == 0 || wire_fail(w, "cannot reach the daemon at %s: %s: does holdfastd listen there?",
				     a->text, strerror(error));
}

static void
wire_init(struct wire *w)
{
	memset(w, 0, sizeof(*w));
	w->fd = -1;
	w->answer_ms = WIRE_ANSWER_MS;
	buffer_init(&w->out, OUT_MAX);
	buffer_init(&w->in, ANSWER_BYTES_MAX);
}

bool
wire_open(struct wire *w, const struct address *a)
{
	wire_init(w);
	if (!a->tcp) {
		return open_local(w, a);
	}
	return open_tcp(w, a) && (!a->tls || wire_secure(w, a));
}

/* A Unix socket whose queue is full answers EAGAIN: the daemon is not there to empty it. */
bool
wire_reopen(struct wire *w)
{
	struct sockaddr_storage peer = w->peer;
	socklen_t bytes = w->peer_bytes;
	struct tls_context *context = w->context;
	char server[sizeof(w->server)];

	assert(bytes > 0);
	memcpy(server, w->server, sizeof(server));
	w->context = NULL;
	wire_close(w);
	wire_init(w);
	w->context = context;
	memcpy(w->server, server, sizeof(server));
	w->peer = peer;
	w->peer_bytes = bytes;
	w->local = peer.ss_family == AF_UNIX;
	wire_take(w, socket(peer.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (w->fd >= 0 && !w->local) {
		tcp_options(w->fd);
	}
	return (w->fd >= 0 && connect(w->fd, (const struct sockaddr *)&peer, bytes) == 0) ||
	       errno == EINPROGRESS || wire_fail(w, "cannot reach the daemon: %s", strerror(errno));
}

static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};

void
wire_guard(struct wire *w)
{
	struct sigaction now;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigprocmask(SIG_BLOCK, &set, &w->mask);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		(void)sigaction(deadly[i], NULL, &now);
		/* Process 1 has handlers in place of the defaults (main.c). */
		bool ends = now.sa_handler == SIG_DFL || (getpid() == 1 && now.sa_handler != SIG_IGN);

		if (ends && sigismember(&w->mask, deadly[i]) == 0) {
			(void)sigaddset(&set, deadly[i]);
		}
	}
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w->guarded = w->signals >= 0;
	if (w->guarded) {
		(void)sigprocmask(SIG_BLOCK, &set, NULL);
	}
}

void
wire_unguard(struct wire *w, sigset_t *mask)
{
	if (!w->guarded) {
		return;
	}
	w->guarded = false;
	(void)close(w->signals);
	if (mask != NULL) {
		*mask = w->mask;
	} else {
		(void)sigprocmask(SIG_SETMASK, &w->mask, NULL);
	}
}

/* If a LOCK waits, it is answered as soon as no more requests can come (PROTOCOL.md 1.11). Then QUIT is
 * carried out. */
static void
goodbye(struct wire *w)
{
	int64_t until_ms = clock_ms() + GOODBYE_MS;

	if (w->fd < 0 || w->ended) {
		return;
	}
	wire_ask(w, "QUIT");
	(void)wire_flush(w);
	if (w->tls != NULL) {
		tls_end(w->tls);
	}
	(void)shutdown(w->fd, SHUT_WR);
	while (!w->ended && wire_wait(w, until_ms) != NULL) {
	}
}

void
wire_goodbye(struct wire *w)
{
	wire_unguard(w, NULL);
	goodbye(w);
	wire_close(w);
}

/* A signal has come: ends this process by it. */
static void
leave(struct wire *w)
{
	struct signalfd_siginfo info;
	sigset_t mask = w->mask;

	if (read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
		return;
	}
	wire_unguard(w, &mask);
	goodbye(w);
	(void)raise((int)info.ssi_signo);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
}

void
wire_close(struct wire *w)
{
	wire_unguard(w, NULL);
	if (w->tls != NULL) {
		tls_free(w->tls);
	}
	if (w->context != NULL) {
		tls_context_free(w->context);
	}
	w->tls = NULL;
	w->context = NULL;
	descriptor_close_socket(w->fd, w->inode);
	w->fd = -1;
	w->ended = true;
	buffer_done(&w->out);
	buffer_done(&w->in);
	answer_done(&w->parser);
}

void
wire_ask_words(struct wire *w, size_t n, const char *const *words)
{
	reply_write_array(&w->out, n);
	for (size_t i = 0; i < n; i++) {
		reply_write_text(&w->out, words[i]);
	}
}

/* Why a read or a write failed, of which errno is told. */
static const char *
wire_error(const struct wire *w)
{
	return w->tls != NULL && tls_why(w->tls)[0] != '\0' ? tls_why(w->tls) : strerror(errno);
}

/* The one way out, so that no byte leaves without TLS where there is TLS. Never blocks, as the socket does
 * not. With a descriptor if fd >= 0, which only a Unix socket carries. */
static ssize_t
send_some(const struct wire *w, const char *data, size_t n, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = {(void *)(uintptr_t)data, n};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (w->tls != NULL) {
		return tls_write(w->tls, data, n);
	}
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	return sendmsg(w->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool
send_all(struct wire *w, const char *data, size_t n, int fd)
{
	struct pollfd p = {w->fd, POLLOUT, 0};

	while (n > 0) {
		ssize_t sent = send_some(w, data, n, fd);

		if (sent >= 0) {
			fd = -1;
			data += sent;
			n -= (size_t)sent;
		} else if (errno == EAGAIN) {
			(void)poll(&p, 1, -1);
		} else if (errno != EINTR) {
			/* The daemon may have said why before it closed; that can still be read. */
			(void)snprintf(w->why, sizeof(w->why), "the connection to the daemon broke: %s",
				wire_error(w));
			w->away = true;
			return false;
		}
	}
	return true;
}

bool
wire_flush(struct wire *w)
{
	bool sent;

	if (w->fd < 0 || w->ended) {
		return false;
	}
	if (w->out.failed) {
		return wire_fail(w, "the request is too large, or there is no memory for it");
	}
	sent = send_all(w, buffer_bytes(&w->out), buffer_length(&w->out), -1);
	buffer_consume(&w->out, buffer_length(&w->out));
	return sent;
}

bool
wire_send(struct wire *w)
{
	ssize_t sent;

	if (w->fd < 0 || w->ended) {
		return false;
	}
	if (w->out.failed) {
		return wire_fail(w, "the request is too large, or there is no memory for it");
	}
	if (buffer_length(&w->out) == 0) {
		return true;
	}
	sent = send_some(w, buffer_bytes(&w->out), buffer_length(&w->out), -1);
	if (sent > 0) {
		buffer_consume(&w->out, (size_t)sent);
	} else if (errno != EAGAIN && errno != EINTR) {
		w->away = true;
		return wire_fail(w, "the connection to the daemon broke: %s", wire_error(w));
	}
	return true;
}

bool
wire_bind(struct wire *w, int pidfd)
{
	static const char request[] = "SESSION BIND\r\n";

	assert(w->local);
	return wire_flush(w) && send_all(w, request, sizeof(request) - 1, pidfd);
}

static ssize_t
receive(const struct wire *w, char *to, size_t room)
{
	return w->tls != NULL ? tls_read(w->tls, to, room) : recv(w->fd, to, room, MSG_DONTWAIT);
}

/* What has been decrypted wakes no poll(), so all of it is read. Of a long answer more is there. */
bool
wire_fill(struct wire *w)
{
	ssize_t n;
	int fills = 0;

	if (w->fd < 0 || w->ended) {
		return false;
	}
	do {
		if (!buffer_reserve(&w->in, FILL_BYTES)) {
			return wire_fail(w, "the daemon's answer is too large");
		}
		n = receive(w, buffer_end(&w->in), FILL_BYTES);
		if (n > 0) {
			buffer_wrote(&w->in, (size_t)n);
		}
		fills++;
	} while (
		n > 0 && (w->tls != NULL ? tls_may_have_more(w->tls) : n == FILL_BYTES && fills < FILLS_MAX));
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		return true;
	}
	w->away = true;
	return n == 0 ? wire_fail(w, "the daemon closed the connection")
		      : wire_fail(w, "the connection to the daemon broke: %s", wire_error(w));
}

const struct answer *
wire_next(struct wire *w)
{
	const struct answer_limits limits = {ANSWER_BYTES_MAX, ANSWER_ELEMENTS_MAX};
	const struct answer *answer = NULL;
	const char *fault = NULL;
	ssize_t used;

	buffer_consume(&w->in, w->used);
	w->used = 0;
	if (buffer_length(&w->in) == 0) {
		return NULL;
	}
	used = answer_parse(
		&w->parser, buffer_bytes(&w->in), buffer_length(&w->in), &limits, &answer, &fault);
	if (used < 0) {
		/* After malformed bytes nothing can be parsed. */
		buffer_consume(&w->in, buffer_length(&w->in));
		w->foreign = true;
		(void)wire_fail(w, "what answers there is not holdfastd: %s", fault);
		return NULL;
	}
	w->used = (size_t)used;
	return used > 0 ? answer : NULL;
}

bool
wire_arrived(struct wire *w, int64_t until_ms)
{
	struct pollfd p[3] = {
		{w->fd, POLLIN, 0}, {wakeup_open(), POLLIN, 0}, {w->guarded ? w->signals : -1, POLLIN, 0}};
	bool late = false;

	(void)wakeup_set(p[1].fd, until_ms);
	while (!late && !w->ended && buffer_length(&w->in) == 0) {
		if (poll(p, 3, -1) < 0) {
			continue;
		}
		if (p[2].revents != 0) {
			leave(w);
		}
		if (p[0].revents != 0) {
			(void)wire_fill(w);
		}
		late = p[0].revents == 0 && p[1].revents != 0;
	}
	(void)close(p[1].fd);
	return !late;
}

const struct answer *
wire_wait(struct wire *w, int64_t until_ms)
{
	struct pollfd p[3] = {{w->fd, POLLIN, 0}, {-1, POLLIN, 0}, {w->guarded ? w->signals : -1, POLLIN, 0}};
	const struct answer *answer;
	bool more = true;

	do {
		while ((answer = wire_next(w)) != NULL && answer->type == ANSWER_PUSH) {
		}
		if (answer != NULL || !more) {
			break;
		}
		if (p[1].fd < 0) {
			p[1].fd = wakeup_open();
			(void)wakeup_set(p[1].fd, until_ms);
		}
		if (poll(p, 3, -1) < 0) {
			continue;
		}
		if (p[2].revents != 0) {
			leave(w);
		}
		if (p[0].revents != 0) {
			more = wire_fill(w);
		} else {
			break;
		}
	} while (true);
	if (p[1].fd >= 0) {
		(void)close(p[1].fd);
	}
	return answer;
}

const struct answer *
wire_answer(struct wire *w)
{
	const struct answer *answer;

	(void)wire_flush(w);
	answer = wire_wait(w, clock_ms() + w->answer_ms);
	if (answer == NULL && !w->ended) {
		(void)wire_fail(w, "the daemon does not answer");
	}
	return answer;
}
