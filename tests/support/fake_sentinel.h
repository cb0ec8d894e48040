/*
 * fake_sentinel: a sentinel played by the test itself, on a TCP port of loopback and the test's own event
 * loop.
 *
 * It insists on the order in which a real one takes commands. Every function aborts the test with a message
 * when it cannot do what it says.
 */
#ifndef SUPPORT_FAKE_SENTINEL_H
#define SUPPORT_FAKE_SENTINEL_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct evconnlistener;
struct redisReader;

/* A sentinel: what it answers, and what it was asked. */
struct fake_sentinel {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *readable;
	struct redisReader *reader;
	int fd; /* the newest connection; -1: none */
	uint16_t port;

	const char *answer;   /* to SENTINEL MASTER, in place of what the next four make */
	const char *host;     /* of the master */
	unsigned master_port; /* of the master */
	unsigned replicas;
	unsigned epoch;
	const char *denies; /* to SUBSCRIBE; NULL: subscribes */
	bool mute;          /* answers nothing any more */
	bool subscribed;
	unsigned asked;
	char auth[64];
};

/* It will say that "mymaster" is at 10.0.0.1:6379 with two replicas, in epoch 7. Has a port, is not there
 * yet. */
void fake_sentinel_init(struct fake_sentinel *fake);
void fake_sentinel_open(struct fake_sentinel *fake, struct event_base *base);
/* It is gone; fake_sentinel_open() brings it back. */
void fake_sentinel_close(struct fake_sentinel *fake);
/* On +switch-master: "NAME old-host old-port new-host new-port". */
void fake_sentinel_publish(struct fake_sentinel *fake, const char *text);

#endif
