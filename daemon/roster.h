/*
 * roster: finds a connection by its number.
 *
 * Numbers are handed out in order and never twice, so a table indexed by their low bits has next to no
 * collisions, and costs 16 to 32 bytes for each connection. connections.c is the only user; it owns what the
 * roster points to.
 */
#ifndef DAEMON_ROSTER_H
#define DAEMON_ROSTER_H

#include "daemon/core/peer.h"

#include <stddef.h>

struct connection;

struct roster_place {
	conn_id id; /* 0: free */
	struct connection *connection;
};

/* All zero in the beginning. */
struct roster {
	struct roster_place *places;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

void roster_done(struct roster *roster);

/* -1: out of memory; nothing has changed. The id must not be there. */
int roster_add(struct roster *roster, conn_id id, struct connection *connection)
	__attribute__((warn_unused_result));
/* The id must be there. */
void roster_remove(struct roster *roster, conn_id id);
/* NULL: not there. */
struct connection *roster_find(const struct roster *roster, conn_id id);

#endif
