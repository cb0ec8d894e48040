/*
 * delay: a distance between a Redis and its clients. Run by bench.py.
 *
 *     delay MICROSECONDS PLACE
 *
 * Prints the port of 127.0.0.1 on which it listens, and carries the bytes of each connection to the place
 * and back, each so much later than it came: a round trip takes twice that. Ends when it is killed.
 */
#include "tests/bench/dial.h"
#include "tests/bench/tick.h"

#include <err.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK_BYTES 65536

/* Bytes on their way. */
struct chunk {
	STAILQ_ENTRY(chunk) entry;
	int64_t due_ns;
	size_t n;
	char bytes[];
};

STAILQ_HEAD(chunk_queue, chunk);

/* One direction of a connection. */
struct way {
	struct delay *delay;
	int from, to;
	struct chunk_queue chunks;
	struct event *readable;
	struct event *due; /* pending when there are chunks */
};

struct delay {
	struct event_base *base;
	const char *place;
	int64_t us;
};

static void
way_wait(struct way *way, int64_t ns)
{
	struct timeval until = tick_timeval(ns > 0 ? (ns + 999) / 1000 : 0);

	event_add(way->due, &until);
}

static void
way_due(evutil_socket_t fd, short what, void *arg)
{
	struct way *way = arg;
	struct chunk *chunk;
	int64_t now = tick_ns();

	(void)fd;
	(void)what;
	while ((chunk = STAILQ_FIRST(&way->chunks)) != NULL && chunk->due_ns <= now) {
		STAILQ_REMOVE_HEAD(&way->chunks, entry);
		if (chunk->n > 0 && send(way->to, chunk->bytes, chunk->n, MSG_NOSIGNAL) < 0)
			warn("bytes are lost");
		else if (chunk->n == 0)
			shutdown(way->to, SHUT_WR); /* the descriptors go with the process */
		free(chunk);
	}
	if (chunk)
		way_wait(way, chunk->due_ns - now);
}

static void
way_readable(evutil_socket_t fd, short what, void *arg)
{
	struct way *way = arg;
	char bytes[CHUNK_BYTES];
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	size_t size = n > 0 ? (size_t)n : 0;
	struct chunk *chunk = malloc(sizeof *chunk + size);

	(void)what;
	if (!chunk)
		err(2, "a chunk");
	chunk->n = size;
	chunk->due_ns = tick_ns() + way->delay->us * 1000;
	memcpy(chunk->bytes, bytes, size);
	if (STAILQ_EMPTY(&way->chunks))
		way_wait(way, way->delay->us * 1000);
	STAILQ_INSERT_TAIL(&way->chunks, chunk, entry);
	if (size == 0)
		event_del(way->readable);
}

static void
way_open(struct delay *delay, int from, int to)
{
	struct way *way = calloc(1, sizeof *way);

	if (!way)
		err(2, "a way");
	way->delay = delay;
	way->from = from;
	way->to = to;
	STAILQ_INIT(&way->chunks);
	way->readable = event_new(delay->base, from, EV_READ | EV_PERSIST, way_readable, way);
	way->due = evtimer_new(delay->base, way_due, way);
	if (!way->readable || !way->due || event_add(way->readable, NULL) != 0)
		errx(2, "no event for a connection");
}

static void
delay_accept(evutil_socket_t listening, short what, void *arg)
{
	struct delay *delay = arg;
	int client = accept(listening, NULL, NULL);
	int server = dial(delay->place);

	(void)what;
	if (client < 0)
		err(2, "accept");
	dial_hurry(client);
	way_open(delay, client, server);
	way_open(delay, server, client);
}

int
main(int argc, char **argv)
{
	struct delay delay = {.us = argc == 3 ? strtol(argv[1], NULL, 10) : 0};
	struct event_config *config = event_config_new();
	struct event *acceptable;
	unsigned short port = 0;
	int listening;

	if (delay.us < 1 || delay.us > 1000000)
		errx(2, "usage: delay MICROSECONDS PLACE, with 1 to 1000000 microseconds");
	dial_descriptors();
	(void)prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel would add 50 microseconds */
	delay.place = argv[2];
	if (!config || event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) != 0)
		errx(2, "no event loop");
	delay.base = event_base_new_with_config(config);
	event_config_free(config);
	listening = dial_listen(&port);
	acceptable = event_new(delay.base, listening, EV_READ | EV_PERSIST, delay_accept, &delay);
	if (!acceptable || event_add(acceptable, NULL) != 0)
		errx(2, "no event to listen");
	printf("%u\n", port);
	fflush(stdout);
	event_base_dispatch(delay.base);
	return 0;
}
