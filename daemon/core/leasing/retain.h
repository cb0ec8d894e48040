/*
 * retain: how long a lease is retained that no client here uses.
 *
 * The lease of a semaphore, and of a name that was granted more than once, is retained for
 * settings.retain_ms. Whether a client comes back to a name that was granted once, the daemon estimates: it
 * counts how often clients came back to such names of the same rule (struct reuse). If they rarely did, the
 * daemon gives the lease back. It does so at once if it has asked for many leases since it asked for this
 * one: then many clients are at work, and the release leaves with those of others. Otherwise the release
 * waits a moment, so that the releases of a few clients are one call, and compete with few of their acquires.
 * One such lease in many is retained all the same, as a sample, so that the estimate follows a change.
 */
#ifndef CORE_RETAIN_H
#define CORE_RETAIN_H

#include <stdbool.h>

struct core;
struct lease;

/* HELD: a client is granted the lock on it now. */
void lease_serve(struct core *core, struct lease *l);

/* Whether a lease without holders and waiters here is retained for a while: for a client that locks the name
 * again soon, and only until another daemon wants it. */
bool lease_retain(struct core *core, struct lease *l);
/* Its time is over: whether it is given back in this step. False: it is retained a little longer, because
 * enough others are given back; this happens after this process had been kept from running. */
bool lease_idle_over(struct core *core, struct lease *l);

#endif
