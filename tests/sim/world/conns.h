/*
 * conns: indexes all connections of a world, also closed ones. A world has thousands of connections, and the
 * checker searches them after each step. Each list has the newest first.
 */
#ifndef SIM_CONNS_H
#define SIM_CONNS_H

#include "tests/sim/world/conn.h"

#include <stdint.h>
#include <sys/queue.h>

#define CONNS_BUCKETS 512

LIST_HEAD(conn_list, conn);

struct conns {
	struct conn_list all;
	struct conn_list tagged[CONNS_BUCKETS];
	struct conn_list open[PLAN_HOSTS_MAX];  /* those that the core of the host's daemon knows */
	struct conn_list closed[CONNS_BUCKETS]; /* by session */
};

void conns_init(struct conns *conns);
void conns_free(struct conns *conns);
void conns_add(struct conns *conns, struct conn *conn);
/* It belongs to the session with that tag from now on. */
void conns_move(struct conns *conns, struct conn *conn, uint64_t tag);
void conns_open(struct conns *conns, struct conn *conn);
/* The core no longer knows it. */
void conns_close(struct conns *conns, struct conn *conn);

/* All with this tag, and some others (in_tag). */
const struct conn_list *conns_tagged(const struct conns *conns, uint64_t tag);
/* All that belonged to this session when they were closed, and some others (in_place). */
const struct conn_list *conns_closed(const struct conns *conns, session_id session);

#endif
