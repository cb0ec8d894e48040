/*
 * roster: finds what its owner keeps for a connection, by the number of the connection.
 *
 * Numbers are handed out in order and never twice. So a table indexed by their low bits has next to no
 * collisions, and costs 16 to 32 bytes per connection. With thousands of connections in turn, nothing of one
 * is in a cache any more: finding it takes one look here and one at the thing itself. The core keeps its
 * conns in one roster, the adapter (connections.c) its connections in another; each owns what its roster
 * points to.
 */
#ifndef CORE_ROSTER_H
#define CORE_ROSTER_H

#include "daemon/core/peer.h"

#include <stddef.h>

struct roster_place {
	conn_id id; /* 0: free */
	void *entry;
};

/* All zero at first. */
struct roster {
	struct roster_place *places;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

void roster_done(struct roster *roster);

/* -1: out of memory, and nothing has changed. The id must not be there. */
int roster_add(struct roster *roster, conn_id id, void *entry) __attribute__((warn_unused_result));
/* The id must be there. */
void roster_remove(struct roster *roster, conn_id id);
/* NULL: not there. */
void *roster_find(const struct roster *roster, conn_id id);

#endif
