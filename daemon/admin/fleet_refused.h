/*
 * fleet_refused: the daemons that the masters refused lately, for FLEET alone. Called by fleet_lookup.c and
 * fleet_write.c. They are no peers: they share no lock with this daemon, are asked nothing, and no request
 * waits for them. What a record says was written by that daemon, so it is parsed as the words of any
 * stranger.
 */
#ifndef ADMIN_FLEET_REFUSED_H
#define ADMIN_FLEET_REFUSED_H

#include <stdint.h>

struct fleet_refusal;
struct fleet_refusals;
struct lookup_answer;

/* Takes over those that a master names; others of it are forgotten. */
void refusals_take(
	struct fleet_refusals *refusals, unsigned master, const struct lookup_answer *answer, int64_t now_ms);
/* NULL: it was not refused lately. */
const struct fleet_refusal *refusals_find(
	const struct fleet_refusals *refusals, const char *id, int64_t now_ms);

#endif
