/*
 * fleet_lookup: questions to the masters for a request of a client: which daemons exist, and which of them
 * has the name. fleet.c calls it, and the driver with each answer.
 */
#ifndef ADMIN_FLEET_LOOKUP_H
#define ADMIN_FLEET_LOOKUP_H

#include <stdint.h>

struct fleet;
struct fleet_open;
struct fleet_versions;
struct lookup_answer;

/* See masters_hooks. */
void fleet_lookup_answered(
	struct fleet *fleet, unsigned master, uint64_t id, const struct lookup_answer *answer);

/* As the masters last said, this daemon included; none: they have not, or not for long. Asks them again if
 * that is long ago; the answer is seen the next time. */
void fleet_see(struct fleet *fleet, int64_t now_ms, struct fleet_versions *out);

/* Asks the masters; also which daemons there are, unless that was asked less than fresh_ms ago. */
void open_lookup(struct fleet *fleet, struct fleet_open *open, int64_t fresh_ms, int64_t now_ms);
/* NULL: there is none. */
struct fleet_open *open_find(const struct fleet *fleet, uint64_t id);

#endif
