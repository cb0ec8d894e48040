/*
 * resp2_client: clients that go back to RESP2 while they wait with ASYNC, and ask for RESP3 again before they
 * ask for pushes (PROTOCOL 3.10). A push to a connection without RESP3 closes it, as in daemon/apply.c. A
 * grant that cannot be pushed passes on at once: the session does not get the hold.
 */
#ifndef SIM_RESP2_CLIENT_H
#define SIM_RESP2_CLIENT_H

#include <stdbool.h>

struct conn;
struct push;
struct world;

/* Clients do so again and again, if the plan says so. */
void resp2_client_watch(struct world *world);

/* The daemon is about to take a request: HELLO 3 comes before one that asks for pushes. */
void resp2_client_before(struct conn *conn);

/* The daemon closes this connection: if it takes no pushes, a wait with ASYNC may have lost its place, since
 * what it waited for could not be pushed. */
void resp2_client_closes(const struct conn *conn);

/* The daemon pushes to this connection; true: it takes no pushes, and is closed. */
bool resp2_client_push(struct conn *conn, const struct push *push);

#endif
