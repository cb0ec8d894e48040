/*
 * forgotten: the checker's part about latches that a master forgot (3.42). A daemon that knows this answers
 * LOST to every request for the latch, until the latch is set again or its time is over.
 */
#ifndef SIM_FORGOTTEN_H
#define SIM_FORGOTTEN_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct host;
struct reply;
struct vote;

/* A daemon's knowledge of one latch. */
struct forgotten {
	int64_t until_ms; /* until when it may exist, by the daemon's clock */
	bool told;        /* a client was told that it is forgotten */
};

/* A master's answer about a latch. */
void forgotten_voted(struct host *host, const struct vote *vote);

/* An answer to LATCH. */
void forgotten_reply(struct conn *conn, const struct reply *reply);

#endif
