/*
 * usage: what the requests of one connection cost: how many, how many bytes, and how long the daemon was busy
 * with them. So who keeps it busy can be seen while it happens.
 *
 * A rate is that of the latest whole second or more in which something came, until a second has passed
 * without.
 */
#ifndef NET_USAGE_H
#define NET_USAGE_H

#include <stdint.h>

/* Since the connection exists, or in a second. */
struct usage_sum {
	int64_t requests;
	int64_t bytes; /* read and written */
	int64_t busy_ns;
};

/* All zero at first. */
struct usage {
	struct usage_sum all;
	struct usage_sum sampled; /* of all, at sampled_ns */
	int64_t sampled_ns;       /* CLOCK_BOOTTIME; 0: nothing has come yet */
	struct usage_sum rate;    /* of the second before it */
};

/* The connection was served between these times. */
void usage_served(struct usage *usage, int64_t begun_ns, int64_t ended_ns);
/* Adds its rates to sum. */
void usage_add_rates(const struct usage *usage, int64_t now_ns, struct usage_sum *sum);

#endif
