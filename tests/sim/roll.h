/*
 * roll: daemons that come back with other rules about keys while others still have the old ones, as when a
 * setting is rolled over a fleet. By other rules a name has another key at the masters: who has a lease by
 * one excludes nobody who goes by another. So while anybody relies on a lease of a daemon with the one, no
 * daemon with the other has any.
 *
 * Or with half the leases, or all of them again: then a lease may be asked for that is as long as the longest
 * one of all daemons, as soon as all guards wait for it, and until then a shorter one.
 */
#ifndef SIM_ROLL_H
#define SIM_ROLL_H

#include "daemon/core/core.h"

#include <stdint.h>

struct host;
struct plan;

/* A daemon starts, with either rules, and either leases, as long as things go wrong. of: it is a copy of that
 * one, and has its leases; NULL: it is none. */
void roll_begin(struct host *host, const struct host *of, struct core_settings *settings);

/* Where the rule says so much, it has at least so much of a lease. */
int64_t roll_least_ms(const struct host *host, int64_t lease_ms);

/* What the longest lease is at the least: guards may be as short. */
int64_t roll_shortest_ms(const struct plan *plan);

/* It has a lease. */
void roll_leased(struct host *host, unsigned name);

#endif
