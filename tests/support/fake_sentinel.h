/*
 * fake_sentinel: a Redis Sentinel played by the test, on a TCP port of loopback and in the test's event loop.
 *
 * It accepts commands only in the order of a real one. Every function aborts the test with a message if it
 * fails.
 */
#ifndef SUPPORT_FAKE_SENTINEL_H
#define SUPPORT_FAKE_SENTINEL_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct evconnlistener;
struct redisReader;

/* A sentinel: its answers, and the requests it got. */
struct fake_sentinel {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *readable;
	struct redisReader *reader;
	int fd; /* the newest connection; -1: none */
	uint16_t port;

	const char *answer;   /* to SENTINEL MASTER; NULL: made from the next four */
	const char *host;     /* of the master */
	unsigned master_port; /* of the master */
	unsigned replicas;
	uint16_t named[8]; /* ports of the replicas that it names, before the first 0 */
	unsigned epoch;
	const char *denies; /* to SUBSCRIBE; NULL: subscribes */
	bool mute;          /* no longer answers */
	bool subscribed;
	unsigned asked;
	char auth[64];
};

/* Sets its answers: "mymaster" is at 10.0.0.1:6379 with two replicas, in epoch 7. Reserves a port, and does
 * not listen yet. */
void fake_sentinel_init(struct fake_sentinel *fake);
void fake_sentinel_open(struct fake_sentinel *fake, struct event_base *base);
/* Stops it; fake_sentinel_open() starts it again. */
void fake_sentinel_close(struct fake_sentinel *fake);
/* Publishes on +switch-master: "NAME old-host old-port new-host new-port". */
void fake_sentinel_publish(struct fake_sentinel *fake, const char *text);

#endif
