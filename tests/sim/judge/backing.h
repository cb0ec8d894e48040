/*
 * backing: the keys behind a lease that a daemon is sure of. Until its deadline they must exist at a majority
 * of the masters, by the masters' clocks: also if one of these clocks steps forward by the clock margin now
 * (G1). So an overlap of two holders is detected before another daemon asks (belief.h).
 */
#ifndef SIM_BACKING_H
#define SIM_BACKING_H

#include "proto/name.h"

#include <stdbool.h>
#include <stdint.h>

struct server;
struct world;

/* Whether this master's keys prove nothing, because less than a lease ago it lost its memory, or its clock
 * jumped. Its guard replaces what it lacks. */
bool backing_lacks(const struct server *server);

/* Whether this master has a lease of a daemon until that time, whatever its clock may do. Not of permits. */
bool backing_vote(
	const struct server *server, unsigned name, const char *daemon_id, enum kind kind, int64_t left_us);

/* Whether it keeps this very lease, whatever its clock may do: "<daemon-id>:<attempt>". Not of permits. */
bool backing_owned(struct server *server, unsigned name, const char *owner);

/* How many permits of a name a majority of the masters has for a daemon until that time, the same permits
 * at each: a permit that only a minority gave does not count (3.24). A master that lacks something counts as
 * if it kept all. INT64_MAX: too many masters lack something. */
int64_t backing_permits(const struct world *world, unsigned name, const char *daemon_id, int64_t left_us);

#endif
