/*
 * rollout: daemons that restart with other rules about keys while others still have the old rules, as in a
 * rollout to a fleet. By other rules a name has another key at the masters, so that leases by different rules
 * do not exclude each other. So while a client relies on a lease by one set of rules, no daemon with the
 * other rules has a lease.
 *
 * Or they restart, or are handed over, with leases of half or of full length. Then a daemon may request a
 * lease as long as the longest of all daemons as soon as all guards wait for it, and until then a shorter
 * one.
 *
 * Where daemons go on from their ledgers they also start with other limits of a session, with less than
 * it holds perhaps: it keeps that, and gets no more.
 */
#ifndef SIM_ROLLOUT_H
#define SIM_ROLLOUT_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

enum roll_length { ROLL_ANY, ROLL_HALF, ROLL_FULL };

struct host;
struct plan;

/* A daemon starts, until the faults end with either rules and either length of leases. of: it is a copy of
 * this one, with its length; NULL: not a copy. recovers: it goes on from a ledger. */
void rollout_begin(struct host *host, const struct host *of, bool recovers, struct core_settings *settings);

/* The daemon is handed over: its next process has either length of leases, whatever this one has. */
void rollout_pass(struct host *host);

/* The shortest lease that the daemon may have if the rule says lease_ms. */
int64_t rollout_least_ms(const struct host *host, int64_t lease_ms);

/* The longest lease by its rules. */
int64_t rollout_longest_ms(const struct host *host);

/* The least value of the longest lease; guards may be as short. */
int64_t rollout_shortest_ms(const struct plan *plan);

/* The daemon has got a lease. */
void rollout_leased(struct host *host, unsigned name);

#endif
