/*
 * route: a daemon's path to one master: its connections, and the faults of the network between the two.
 *
 * As with TCP, bytes that cannot pass in one direction wait, in order, until they can.
 */
#ifndef SIM_ROUTE_H
#define SIM_ROUTE_H

#include "tests/sim/world/inbox.h"
#include "tests/sim/world/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define WAY_WIRES_MAX 2

struct host;
struct server;

struct route {
	struct host *host;
	struct server *server;
	int64_t far_us;             /* added to every message */
	int64_t cut_there_until_us; /* nothing reaches the master */
	int64_t cut_back_until_us;  /* nothing comes from it */
	int64_t slow_until_us;      /* messages from it, and perhaps to it, are slow */
	bool slow_there;            /* also messages to it */
	int64_t broke_us;           /* when a link of it was lost last */
	int64_t told;               /* greatest token in an answer to this process */
	struct wire wires[WAY_WIRES_MAX];
	struct inbox inbox;
};

void route_init(struct route *way, struct host *host, struct server *server);

/* Whether this server is a master of the daemon, and its index in the configuration. With sentinels, they
 * name the only one. */
bool route_aimed(const struct route *way);
unsigned route_master(const struct route *way);

/* The delay of a message to the master (there) or back. */
int64_t route_delay(struct route *way, bool there);

/* Whether a connection can be made now. */
bool route_opens(const struct route *way);

/* Nothing reaches the master (there), or comes from it (back), until then; or until later, as it was before.
 */
void route_cut(struct route *way, bool there, bool back, int64_t until_us);

/* Whether it is without fault: all links are up, and no message is late. */
bool route_sound(const struct route *way);

/* When the last of its faults ends. */
int64_t route_clear_us(const struct route *way);

#endif
