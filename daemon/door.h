/*
 * door: lets clients in as far as the limits allow, and tells the others why not.
 *
 * Listeners hand over what they accept; the driver opens a session for whoever comes in.
 */
#ifndef DAEMON_DOOR_H
#define DAEMON_DOOR_H

#include "daemon/connections.h"
#include "daemon/listener.h"
#include "daemon/quota.h"

struct log;
struct stats;

struct door {
	struct connections *connections;
	struct quota quota;
	size_t most; /* connections in all */
	struct stats *stats;
	struct log *log;
	void (*opened)(void *arg, struct connection *connection);
	void *arg;
};

/* The hooks of a listener; arg is the struct door. */
void door_accepted(void *arg, struct listener *listener, int fd, const struct peer *peer);
void door_paused(void *arg, struct listener *listener, int error);

/* The connection has ended: its place is free for another. */
void door_left(struct door *door, struct connection *connection);

#endif
