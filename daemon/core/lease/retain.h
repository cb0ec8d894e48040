/*
 * retain: how long a lease is kept that no client here uses.
 *
 * A name that was granted more than once is in use, as is a semaphore, and is kept for settings.retain_ms.
 * Whether a client comes back to a name that was granted once, the daemon cannot know: it goes by its
 * experience with such names of the same rule. If clients came back to few of them, the daemon gives the
 * lease back. It does so at once if many leases have been asked for since this one was: many clients are at
 * work then, and the release leaves with those of others. Otherwise the release waits a moment, so that the
 * releases of a few clients are one call, and compete with few of their acquires. The daemon retains one such
 * lease in many all the same, to see whether its experience is still right.
 */
#ifndef CORE_RETAIN_H
#define CORE_RETAIN_H

#include <stdbool.h>

struct core;
struct lease;

/* HELD: a client is granted the lock on it now. */
void lease_serve(struct core *core, struct lease *l);

/* Whether a lease without holders and waiters here is kept for a while: for a client that locks the name
 * again soon, and only until another daemon wants it. */
bool lease_retain(struct core *core, struct lease *l);
/* Its time is over: whether it is given back in this step. False: it is kept a little longer, because enough
 * others are given back; this happens after this process had been kept from running. */
bool lease_let_go(struct core *core, struct lease *l);

#endif
