/*
 * holding: sends CHECK, reads its answers and the push `lost name owner token reason`, and comes back to the
 * session; and holdfast hold, which holds a lock until a signal.
 */
#ifndef CLIENT_HOLDING_H
#define CLIENT_HOLDING_H

#include "client/wire/deadline.h"

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct grant;
struct holding;
struct pollfd;
struct taking;
struct wire;

/* t and g are held by reference. grace_ms is the time from the order to stop to the end of the hold. With
 * --lease it is at most a twentieth of the lease, since the user asked for that end. */
void holding_start(struct holding *h, struct wire *wire, const struct taking *t, const struct grant *g,
	int64_t grace_ms);

/* Binds the session to a process. Blocks, and comes back to the session if need be, for as long as the hold
 * is good. NULL: wire->why. */
const struct answer *holding_bind(struct holding *h, int pidfd) __attribute__((warn_unused_result));

/* What to poll for the daemon. */
void holding_watch(const struct holding *h, struct pollfd *p);

/* holding_watch() has an event. */
void holding_read(struct holding *h);

/* Tells people when the daemon is away and until when the lock is good, and when it is back. */
void holding_tell(struct holding *h);

/* What is due now. DEADLINE_ASK is carried out here and never returned. While deadline_doubts() is true, it
 * is unknown whether the lock is still held. */
enum deadline_step holding_step(struct holding *h);

/* Why the lock is lost or its time over, in one word, as the packages report it (CLIENTS.md). */
const char *holding_reason(const struct holding *h);

/* When holding_step() is due. */
int64_t holding_next(const struct holding *h);

/* Releases the lock, and waits a short time for the answer. False: the lock had been lost before; h->why says
 * how. */
bool holding_release(struct holding *h) __attribute__((warn_unused_result));

#endif
