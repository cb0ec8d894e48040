/*
 * counts: how many things of each kind there are in the core, for INFO and the metrics. What begins or ends
 * one counts it.
 */
#ifndef CORE_COUNTS_H
#define CORE_COUNTS_H

#include <stddef.h>

struct core_counts {
	size_t sessions;
	size_t graces;    /* sessions that outlive a lost connection */
	size_t resources; /* names with a holder, a waiter or a lease */
	size_t leases;    /* held at the master */
	size_t grants;    /* held by sessions */
	size_t withheld;  /* abandoned; waiting for their announced deadline */
	size_t waiters;
	size_t mlocks;    /* MLOCKs not answered yet; their names count as held or waited for */
	size_t releasing; /* leases given up, not yet confirmed by the master */
	size_t latches;   /* asked about, or known to be at the master */
	size_t requests;  /* LATCH requests without an answer */
};

#endif
