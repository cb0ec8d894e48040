/*
 * roll: daemons that come back with other rules about keys while others still have the old ones, as when a
 * setting is rolled over a fleet. By other rules a name has another key at the masters: who has a lease by
 * one excludes nobody who goes by another. So while anybody relies on a lease of a daemon with the one, no
 * daemon with the other has any.
 */
#ifndef SIM_ROLL_H
#define SIM_ROLL_H

struct host;

/* A daemon starts, with either rules as long as things go wrong. */
void roll_begin(struct host *host);

/* It has a lease. */
void roll_leased(struct host *host, unsigned name);

#endif
