/*
 * fleet_hour: HOUR (PROTOCOL.md 6.28), the latest hour minute by minute, of this daemon and of all.
 */
#ifndef ADMIN_FLEET_HOUR_H
#define ADMIN_FLEET_HOUR_H

#include "daemon/request/context.h"

struct answer;
struct buffer;
struct fleet;
struct fleet_open;

context_verb hour_verb;
/* The answer of this daemon, in RESP2 or RESP3. */
void hour_here(const struct context *context, struct buffer *out, int protocol);

/* Whether this answers HOUR. */
bool part_is_hour(const struct answer *tree);
/* The answer to HOUR FLEET: the sums of those that have answered. */
void write_hours(const struct fleet *fleet, const struct fleet_open *open, struct buffer *out, int protocol,
	int64_t now_ms);

#endif
