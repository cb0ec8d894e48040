/*
 * hold: connections that keep what they have, for as long as it takes to measure it. Run by bench.py.
 *
 *     hold CONNECTIONS PLACE
 *
 * Does what the lines of its input say, and prints one line for each: the seconds it took.
 *
 *     ping        one PING on each connection            lock N    N more locks on each, each its own name
 *     renew SHA1  EVALSHA of each lock, as a Redis       set N     the same at a Redis: SET NX PX
 *     wait        LOCK of one name on each: the first connection has it, the others wait; unanswered
 *     drain       the first gives it back; whoever gets it gives it back at once; prints the longest time
 *                 between two, too
 *
 * It ends with its input, and leaves everything behind. Exit 1: another answer than expected; 2: it could not
 * measure.
 */
#include "tests/bench/dial.h"
#include "tests/bench/request.h"
#include "tests/bench/tick.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define CONNECTIONS_MAX 100000
#define BATCH           50 /* requests on a connection before its answers are read; the kernel keeps as many */
#define QUEUE           "hold:queue"
#define LINE_MAX_BYTES  64

struct connection {
	int fd;
	unsigned locks;
	bool had; /* the lock that all wait for */
};

struct hold {
	struct connection *connections;
	unsigned n;
};

/* One request for each of some locks of a connection. */
typedef void request_maker(struct request *request, const char *name, const char *sha1);

static void
answers_read(const struct connection *c, unsigned count, char first)
{
	char text[4096];

	while (count > 0) {
		ssize_t n = read(c->fd, text, sizeof text);
		if (n <= 0)
			errx(1, "a connection ended");
		if (text[0] == '-')
			errx(1, "%.*s", (int)n, text);
		for (ssize_t i = 0; i < n; i++)
			count -= text[i] == '\n';
		if (first && text[0] != first && count == 0 && n < LINE_MAX_BYTES)
			errx(1, "an answer began with %c, not %c", text[0], first);
	}
}

static void
request_of_ping(struct request *request, const char *name, const char *sha1)
{
	(void)name;
	(void)sha1;
	request_make(request, (const char *[]){"PING", NULL});
}

static void
request_of_lock(struct request *request, const char *name, const char *sha1)
{
	(void)sha1;
	request_make(request, (const char *[]){"LOCK", name, NULL});
}

static void
request_of_set(struct request *request, const char *name, const char *sha1)
{
	(void)sha1;
	request_make(request, (const char *[]){"SET", name, "hold", "NX", "PX", "3600000", NULL});
}

static void
request_of_renew(struct request *request, const char *name, const char *sha1)
{
	request_make(request, (const char *[]){"EVALSHA", sha1, "1", name, "hold", "3600000", NULL});
}

/* Requests for the locks from..from+count of all connections: written to all, then read from all. */
static void
hold_batch(struct hold *hold, request_maker *make, const char *sha1, unsigned from, unsigned count)
{
	struct request request;
	char name[LINE_MAX_BYTES];

	for (unsigned i = 0; i < hold->n; i++) {
		struct connection *c = &hold->connections[i];
		char text[BATCH * 160];
		size_t n = 0;
		for (unsigned number = from; number < from + count; number++) {
			snprintf(name, sizeof name, "hold:%u:%u", i, number);
			make(&request, name, sha1);
			memcpy(text + n, request.text, request.n);
			n += request.n;
		}
		if (write(c->fd, text, n) != (ssize_t)n)
			err(2, "requests did not leave whole");
	}
	for (unsigned i = 0; i < hold->n; i++)
		answers_read(&hold->connections[i], count, '\0');
}

static void
hold_each(struct hold *hold, request_maker *make, const char *sha1, unsigned from, unsigned count)
{
	for (unsigned done = 0; done < count; done += BATCH)
		hold_batch(hold, make, sha1, from + done, count - done < BATCH ? count - done : BATCH);
}

static void
hold_more(struct hold *hold, request_maker *make, unsigned count)
{
	unsigned from = hold->connections[0].locks;

	hold_each(hold, make, "", from, count);
	for (unsigned i = 0; i < hold->n; i++)
		hold->connections[i].locks += count;
}

static void
hold_wait(struct hold *hold)
{
	struct request request;

	request_of_lock(&request, QUEUE, "");
	for (unsigned i = 0; i < hold->n; i++) {
		request_send(&request, hold->connections[i].fd);
		if (i == 0)
			answers_read(&hold->connections[i], 1, ':');
	}
}

static int
hold_watch(struct hold *hold)
{
	int epoll = epoll_create1(0);

	if (epoll < 0)
		err(2, "epoll");
	for (unsigned i = 0; i < hold->n; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &hold->connections[i]};
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, hold->connections[i].fd, &event) != 0)
			err(2, "epoll");
		hold->connections[i].had = false;
	}
	return epoll;
}

/* Whoever is granted it gives it back at once. */
static void
hold_drain(struct hold *hold, double *longest_s)
{
	struct request unlock;
	struct epoll_event event;
	int epoll = hold_watch(hold);
	int64_t before = tick_ns();

	request_make(&unlock, (const char *[]){"UNLOCK", QUEUE, NULL});
	request_send(&unlock, hold->connections[0].fd);
	hold->connections[0].had = true;
	for (unsigned left = hold->n; left > 0;) {
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			err(2, "epoll");
		struct connection *c = event.data.ptr;
		answers_read(c, 1, ':');
		if (c->had) {
			left--;
			continue;
		}
		int64_t now = tick_ns();
		if ((double)(now - before) / 1e9 > *longest_s)
			*longest_s = (double)(now - before) / 1e9;
		before = now;
		c->had = true;
		request_send(&unlock, c->fd);
	}
	close(epoll);
}

static void
hold_command(struct hold *hold, char *line)
{
	char *verb = strtok(line, " \n"), *word = strtok(NULL, " \n");
	int64_t began = tick_ns();
	double longest_s = 0;

	if (!verb)
		return;
	if (strcmp(verb, "ping") == 0)
		hold_each(hold, request_of_ping, "", 0, 1);
	else if (strcmp(verb, "lock") == 0 && word)
		hold_more(hold, request_of_lock, (unsigned)strtoul(word, NULL, 10));
	else if (strcmp(verb, "set") == 0 && word)
		hold_more(hold, request_of_set, (unsigned)strtoul(word, NULL, 10));
	else if (strcmp(verb, "renew") == 0 && word)
		hold_each(hold, request_of_renew, word, 0, hold->connections[0].locks);
	else if (strcmp(verb, "wait") == 0)
		hold_wait(hold);
	else if (strcmp(verb, "drain") == 0)
		hold_drain(hold, &longest_s);
	else
		errx(2, "%s is nothing it can do", verb);
	printf("%.6f %.6f\n", (double)(tick_ns() - began) / 1e9, longest_s);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	struct hold hold = {.n = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 10) : 0};
	char line[LINE_MAX_BYTES];

	if (hold.n == 0 || hold.n > CONNECTIONS_MAX)
		errx(2, "usage: hold CONNECTIONS PLACE, with 1 to %d connections", CONNECTIONS_MAX);
	dial_descriptors();
	hold.connections = calloc(hold.n, sizeof *hold.connections);
	if (!hold.connections)
		err(2, "%u connections", hold.n);
	for (unsigned i = 0; i < hold.n; i++)
		hold.connections[i].fd = dial(argv[2]);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin))
		hold_command(&hold, line);
	free(hold.connections);
	return 0;
}
