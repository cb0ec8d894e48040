/*
 * bare: the least that hands a lock from client to client; what holdfastd's hand-off is measured against.
 *
 *     bare PLACE         one lock
 *     bare PLACE echo    "+PONG" to every request: the ceiling of any server on this loop
 *
 * PLACE is a path, or 127.0.0.1:PORT.
 *
 * One lock in memory, a queue of those who wait, tokens that count. It knows LOCK as the load program sends
 * it, takes all else for a release, never parses, checks or times anything, and takes every read for one
 * whole request, which holds because each client waits for its answer. One run: it ends when the first client
 * leaves; an echo goes on.
 */
#include "tests/bench/dial.h"

#include <err.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCK_REQUEST "*2\r\n$4\r\nLOCK\r\n" /* the name follows; there is one */
#define BACKLOG      128

struct client {
	TAILQ_ENTRY(client) entry;
	int fd;
	struct event *readable;
	struct bare *bare;
};

TAILQ_HEAD(client_queue, client);

struct bare {
	struct event_base *base;
	struct client_queue waiting;
	bool tcp;
	bool echo;
	bool held;
	uint64_t token;
};

static void
client_write(const struct client *client, const char *text, size_t n)
{
	if (write(client->fd, text, n) != (ssize_t)n)
		err(2, "write");
}

static void
lock_grant(struct bare *bare, const struct client *client)
{
	char text[32];
	int n = snprintf(text, sizeof text, ":%ju\r\n", (uintmax_t)++bare->token);

	bare->held = true;
	client_write(client, text, (size_t)n);
}

static void
lock_release(struct bare *bare)
{
	struct client *next = TAILQ_FIRST(&bare->waiting);

	bare->held = false;
	if (!next)
		return;
	TAILQ_REMOVE(&bare->waiting, next, entry);
	lock_grant(bare, next);
}

static void
client_readable(evutil_socket_t fd, short what, void *arg)
{
	struct client *client = arg;
	struct bare *bare = client->bare;
	char request[256];
	ssize_t n = read(fd, request, sizeof request);

	(void)what;
	if (n <= 0 && bare->echo) {
		event_free(client->readable);
		close(fd);
		free(client);
	} else if (n <= 0) {
		event_base_loopbreak(bare->base);
	} else if (bare->echo) {
		client_write(client, "+PONG\r\n", 7);
	} else if ((size_t)n < strlen(LOCK_REQUEST) ||
		   memcmp(request, LOCK_REQUEST, strlen(LOCK_REQUEST)) != 0) {
		client_write(client, ":0\r\n", 4);
		lock_release(bare);
	} else if (bare->held) {
		TAILQ_INSERT_TAIL(&bare->waiting, client, entry);
	} else {
		lock_grant(bare, client);
	}
}

static void
client_accept(evutil_socket_t listening, short what, void *arg)
{
	struct bare *bare = arg;
	struct client *client = calloc(1, sizeof *client);

	(void)what;
	if (!client)
		err(2, "client");
	client->bare = bare;
	client->fd = accept(listening, NULL, NULL);
	if (client->fd < 0)
		err(2, "accept");
	if (client->bare->tcp)
		dial_hurry(client->fd);
	client->readable = event_new(bare->base, client->fd, EV_READ | EV_PERSIST, client_readable, client);
	if (!client->readable || event_add(client->readable, NULL) != 0)
		errx(2, "no event for a client");
}

static int
socket_listen(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (strlen(path) >= sizeof address.sun_path)
		errx(2, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
		listen(fd, BACKLOG) != 0)
		err(2, "%s", path);
	return fd;
}

static int
bare_listen(struct bare *bare, const char *place)
{
	const char *colon = strchr(place, ':');
	unsigned short port = colon ? (unsigned short)strtoul(colon + 1, NULL, 10) : 0;

	bare->tcp = place[0] != '/';
	return bare->tcp ? dial_listen(&port) : socket_listen(place);
}

int
main(int argc, char **argv)
{
	struct bare bare = {.waiting = TAILQ_HEAD_INITIALIZER(bare.waiting)};
	struct event *acceptable;

	bare.echo = argc == 3 && strcmp(argv[2], "echo") == 0;
	if (argc != 2 + bare.echo)
		errx(2, "usage: bare PLACE [echo]");
	bare.base = event_base_new();
	if (!bare.base)
		errx(2, "no event loop");
	acceptable =
		event_new(bare.base, bare_listen(&bare, argv[1]), EV_READ | EV_PERSIST, client_accept, &bare);
	if (!acceptable || event_add(acceptable, NULL) != 0)
		errx(2, "no event to listen");
	puts("ready");
	fflush(stdout);
	event_base_dispatch(bare.base);
	return 0; /* memory and descriptors go with the process */
}
