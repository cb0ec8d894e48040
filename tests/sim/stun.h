/*
 * stun: a daemon's host stands still, and its clock with it: a guest that is paused. The leases of its
 * daemon, and the holds of its clients, are shorter than both think until the first answers of the masters
 * come; so nothing is promised to them, and all to the others.
 */
#ifndef SIM_STUN_H
#define SIM_STUN_H

#include <stdint.h>

struct host;

void stun(struct host *host, int64_t for_us);

#endif
