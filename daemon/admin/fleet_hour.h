/*
 * fleet_hour: HOUR (PROTOCOL.md 6.28), the latest hour minute by minute, of this daemon and of all.
 */
#ifndef ADMIN_FLEET_HOUR_H
#define ADMIN_FLEET_HOUR_H

#include "daemon/request/context.h"

struct buffer;

context_verb hour_verb;
/* The answer of this daemon, in RESP2 or RESP3. */
void hour_here(const struct context *context, struct buffer *out, int protocol);

#endif
