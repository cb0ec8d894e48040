/*
 * stun: a daemon's host stands still together with its clock, like a paused guest. Until the first answers of
 * the masters, the leases of its daemon and the holds of its clients are shorter than these know. So the
 * guarantees hold for all clients but these.
 */
#ifndef SIM_STUN_H
#define SIM_STUN_H

#include <stdint.h>

struct host;

void stun(struct host *host, int64_t for_us);

#endif
