/*
 * backing: what a promise rests on. A daemon is sure of a lease, or a holder was told that it may rely on a
 * hold, until a time. Until then the keys at a majority of the masters have to be there, by the masters' own
 * clocks: also if one of these steps forward by the clock margin now (G1), and also after the daemon died,
 * drained or passed the name on (G3, G15). So what would be two holders shows before another daemon asks.
 */
#ifndef SIM_BACKING_H
#define SIM_BACKING_H

#include "proto/kind.h"

#include <stdbool.h>
#include <stdint.h>

struct server;
struct world;

/* Whether what this master knows of a name says nothing: it lost its memory or leapt, or somebody wrote to
 * the key, less than a lease ago. Its guard stands for what it lacks. */
bool backing_lacks(const struct server *server, unsigned name);

/* How much of a name this master keeps for a daemon for so long from now, whatever its clock may do: 1 if the
 * daemon has it alone or reads, or its permits. */
int64_t backing_seats(
	const struct server *server, unsigned name, const char *daemon_id, enum kind kind, int64_t left_us);

/* How many permits of a name a majority of the masters keeps for a daemon for so long, the same ones at each:
 * what a master gave that most did not is none (3.24). Those that lack something count as if they had all;
 * INT64_MAX: there are too many of them to tell. */
int64_t backing_permits(const struct world *world, unsigned name, const char *daemon_id, int64_t left_us);

/* Looks at all holds that somebody was told of. */
void backing_look(struct world *world);

#endif
