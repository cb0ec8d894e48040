/*
 * guest_pause: a daemon's host stands still together with its clock, like a paused guest. Until the first
 * answers of the masters, the leases of its daemon and the holds of its clients are shorter than these know.
 * So the guarantees hold for all clients but these.
 */
#ifndef SIM_GUEST_PAUSE_H
#define SIM_GUEST_PAUSE_H

#include <stdint.h>

struct call;
struct host;

void stun(struct host *host, int64_t for_us);

/* Not now, but when a master has just renewed a lease of its daemon, whose answer is under way then. */
void guest_pause_later(struct host *host, int64_t for_us);
/* A master has carried out this call of the daemon. */
void guest_pause_answered(struct host *host, const struct call *call);

#endif
