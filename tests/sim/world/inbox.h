/*
 * inbox: a daemon's subscription at one master, for wake-ups, wants, and the message that its data was
 * flushed. Messages arrive in order, or are lost.
 */
#ifndef SIM_INBOX_H
#define SIM_INBOX_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct server;
struct route;

struct inbox {
	struct route *way;
	bool up;
	bool joined;   /* to the channel on which Redisson publishes ends (foreign_client.h) */
	uint64_t life; /* a new number for each connection */
	uint64_t server_life;
	int64_t arrives_us;
};

void inbox_connect(struct inbox *inbox);
void inbox_break(struct inbox *inbox);
void inbox_forget(struct inbox *inbox); /* the daemon dies */

/* Subscribes to the ends of Redisson's locks, or unsubscribes. */
void inbox_listen(struct inbox *inbox, bool on);

/* The master publishes to this channel. 1: this daemon listens. */
int inbox_published(
	struct host *host, const struct server *server, struct slice channel, struct slice message);
void inbox_flushed(struct host *host, const struct server *server);

#endif
