/*
 * way: a daemon's path to one master: its connections, and the faults of the network between the two.
 *
 * As with TCP, bytes that cannot pass in one direction wait, in order, until they can.
 */
#ifndef SIM_WAY_H
#define SIM_WAY_H

#include "tests/sim/inbox.h"
#include "tests/sim/wire.h"

#include <stdbool.h>
#include <stdint.h>

#define WAY_WIRES_MAX 2

struct host;
struct server;

struct way {
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

void way_init(struct way *way, struct host *host, struct server *server);

/* Whether this server is a master of the daemon, and its index in the configuration. With sentinels, they
 * name the only one. */
bool way_aimed(const struct way *way);
unsigned way_master(const struct way *way);

/* The delay of a message to the master (there) or back. */
int64_t way_delay(struct way *way, bool there);

/* Whether a connection can be made now. */
bool way_opens(const struct way *way);

/* Whether it is without fault: all links are up, and no message is late. */
bool way_sound(const struct way *way);

/* When the last of its faults ends. */
int64_t way_clear_us(const struct way *way);

#endif
