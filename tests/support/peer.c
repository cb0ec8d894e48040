/*
 * peer: a small server inside the test's process. Used by suites only.
 */
#include "tests/support/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void
must(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct peer_end *peer = arg;
	char rest[4096];
	size_t room = sizeof peer->heard - 1 - peer->heard_n;
	ssize_t n = recv(fd, room ? peer->heard + peer->heard_n : rest, room ? room : sizeof rest, 0);

	(void)what;
	if (n <= 0) {
		peer_hang_up(peer);
		return;
	}
	if (room)
		peer->heard_n += (size_t)n;
	peer->heard[peer->heard_n] = 0;
}

static void
on_acceptable(evutil_socket_t fd, short what, void *arg)
{
	struct peer_end *peer = arg;

	(void)what;
	peer_hang_up(peer);
	peer->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	must(peer->fd >= 0, "accept");
	peer->accepted++;
	peer->heard_n = 0;
	peer->heard[0] = 0;
	if (peer->welcome)
		peer_say(peer, peer->welcome, peer->welcome_n);
	if (peer->hang_up) {
		peer_hang_up(peer);
		return;
	}
	peer->readable = event_new(
		event_get_base(peer->acceptable), peer->fd, EV_READ | EV_PERSIST, on_readable, peer);
	event_add(peer->readable, NULL);
}

void
peer_init(struct peer_end *peer, struct event_base *base, const char *welcome)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(peer, 0, sizeof *peer);
	peer->fd = -1;
	peer->welcome = welcome;
	peer->welcome_n = welcome ? strlen(welcome) : 0;
	tempdir_init(&peer->dir);
	snprintf(peer->path, sizeof peer->path, "%s/peer.sock", peer->dir.path);
	memcpy(address.sun_path, peer->path, sizeof peer->path);
	peer->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	must(bind(peer->listening, (struct sockaddr *)&address, sizeof address) == 0, "bind");
	must(listen(peer->listening, 16) == 0, "listen");
	peer->acceptable = event_new(base, peer->listening, EV_READ | EV_PERSIST, on_acceptable, peer);
	event_add(peer->acceptable, NULL);
}

void
peer_done(struct peer_end *peer)
{
	peer_hang_up(peer);
	event_free(peer->acceptable);
	close(peer->listening);
	tempdir_done(&peer->dir);
}

void
peer_say(struct peer_end *peer, const char *bytes, size_t n)
{
	must(send(peer->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n, "send");
}

void
peer_hang_up(struct peer_end *peer)
{
	if (peer->readable)
		event_free(peer->readable);
	peer->readable = NULL;
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
}

unsigned
blackhole_open(int fds[8], bool full)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int i;

	for (i = 0; i < 8; i++)
		fds[i] = -1;
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(fds[0], (struct sockaddr *)&address, sizeof address) == 0, "bind");
	must(listen(fds[0], full ? 0 : 16) == 0, "listen");
	must(getsockname(fds[0], (struct sockaddr *)&address, &size) == 0, "getsockname");
	/* A queue of length 0 still accepts a connection or two; these fill it. */
	for (i = 1; full && i < 8; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		must(connect(fds[i], (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS,
			"connect");
	}
	return ntohs(address.sin_port);
}

void
blackhole_close(int fds[8])
{
	int i;

	for (i = 0; i < 8; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}
