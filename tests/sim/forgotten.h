/*
 * forgotten: the checker's part about latches that a master forgot (3.42). A daemon that has heard so says
 * LOST to everybody who asks, until the latch is made again or its time is over.
 */
#ifndef SIM_FORGOTTEN_H
#define SIM_FORGOTTEN_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct host;
struct reply;
struct vote;

/* What a daemon knows of one latch. */
struct forgotten {
	int64_t until_ms; /* it may be there so long, by the daemon's clock */
	bool told;        /* somebody was told that it is forgotten */
};

/* A master's word of a latch. */
void forgotten_voted(struct host *host, const struct vote *vote);

/* An answer to LATCH. */
void forgotten_reply(struct conn *conn, const struct reply *reply);

#endif
