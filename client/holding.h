/*
 * holding: watches one or several held locks: asks for their validity in time, and reads pushes about their
 * loss.
 *
 * run and hold poll wire.fd and call these functions. They send and read, and print nothing. Only
 * holding_release() blocks.
 */
#ifndef CLIENT_HOLDING_H
#define CLIENT_HOLDING_H

#include "client/deadline.h"
#include "client/take.h"
#include "client/wire.h"

#include <stdbool.h>
#include <stdint.h>

struct holding {
	struct wire *wire;
	const char *name;
	const struct also *also; /* more names; the shortest validity of all counts */
	const struct grant *grant;
	int64_t lease_ms; /* of --lease; 0: the hold is renewed */
	size_t due;       /* outstanding answers to CHECK */
	int64_t told_ms;  /* the shortest validity among the answers so far */
	struct deadline deadline;
	bool lost; /* the daemon has told of a loss */
	bool gone; /* the connection ended; the deadline that was told last remains */
	char why[WIRE_TEXT_MAX];
};

/* o and g are kept by reference. grace_ms is the time from the order to stop to the end of the hold. With
 * --lease it is at most a twentieth of the lease, since the user asked for that end. */
void holding_start(struct holding *h, struct wire *wire, const struct options *o, const struct grant *g,
	int64_t grace_ms);

/* The connection is readable. */
void holding_read(struct holding *h);

/* What is due now. DEADLINE_ASK is carried out here and never returned. While deadline_doubts() is true, it
 * is unknown whether the lock is still held. */
enum deadline_step holding_step(struct holding *h);

/* When holding_step() is due. */
int64_t holding_next(const struct holding *h);

/* Releases the lock, and waits a short time for the answer. False: the lock had been lost before; h->why says
 * how. */
bool holding_release(struct holding *h) __attribute__((warn_unused_result));

#endif
