/*
 * way: a daemon's way to one master: its connections, and what is wrong with the network between the two.
 *
 * TCP: what cannot pass in one direction waits, in order, until it can.
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
	int64_t far_us;             /* what this distance adds to every message */
	int64_t cut_there_until_us; /* nothing gets to the master */
	int64_t cut_back_until_us;  /* nothing comes from it */
	int64_t slow_until_us;      /* everything from it, and perhaps to it, takes long */
	bool slow_there;            /* to it too */
	int64_t told;               /* the greatest token that an answer has told this process */
	struct wire wires[WAY_WIRES_MAX];
	struct inbox inbox;
};

void way_init(struct way *way, struct host *host, struct server *server);

/* Whether the daemon takes this server for its master, and which one that is in its configuration: where
 * there are sentinels, they name the only one. */
bool way_aimed(const struct way *way);
unsigned way_master(const struct way *way);

/* How long a message takes to the master (there) or back. */
int64_t way_delay(struct way *way, bool there);

/* Whether a connection can be made now. */
bool way_opens(const struct way *way);

/* Whether nothing is wrong with it: all links are up, and all in time. */
bool way_sound(const struct way *way);

/* When the last of its troubles will be over. */
int64_t way_clear_us(const struct way *way);

#endif
