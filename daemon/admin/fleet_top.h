/*
 * fleet_top: TOP (PROTOCOL.md 6.27), the locks of all hosts that are waited for longest.
 */
#ifndef ADMIN_FLEET_TOP_H
#define ADMIN_FLEET_TOP_H

#include "daemon/request/context.h"
#include "proto/slice.h"

struct buffer;
struct viewer;

context_verb top_verb;
/* The same for a page: of this daemon, in RESP3. False: no memory, or too many searches. */
bool top_page(const struct context *context, const struct viewer *viewer, struct slice match, size_t count,
	struct buffer *out) __attribute__((warn_unused_result));

#endif
