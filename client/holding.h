/*
 * holding: keeps an eye on a lock that is held, or on several: asks for its validity in time, and hears of
 * its loss.
 *
 * Used by run and hold, which poll wire.fd and call in; it sends and reads, but never blocks and says
 * nothing.
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
	const struct also *also; /* more names; what is told of all is the worst of them */
	const struct grant *grant;
	int64_t lease_ms; /* of --lease; 0: it is renewed */
	size_t due;       /* answers to CHECK */
	int64_t told_ms;  /* the least of those that came */
	struct deadline deadline;
	bool lost; /* the daemon said so */
	bool gone; /* the connection ended; what was told last stands */
	char why[WIRE_TEXT_MAX];
};

/* o and g are kept by reference. grace_ms is wanted from the order to stop to the end; of --lease it takes a
 * twentieth at most, since that end was asked for. */
void holding_start(struct holding *h, struct wire *wire, const struct options *o, const struct grant *g,
	int64_t grace_ms);

/* The connection is readable. */
void holding_read(struct holding *h);

/* Time went by. DEADLINE_ASK is done here and never returned. While deadline_doubts() nobody knows
 * whether the lock is still held. */
enum deadline_step holding_step(struct holding *h);

/* When holding_step() is due. */
int64_t holding_next(const struct holding *h);

/* Gives the lock back, and waits for the answer for a moment. False: it had been lost before, h->why says
 * how. */
bool holding_release(struct holding *h) __attribute__((warn_unused_result));

#endif
