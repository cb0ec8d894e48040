/*
 * fleet_top: TOP (PROTOCOL.md 6.27), the locks of all hosts that are waited for longest.
 */
#ifndef ADMIN_FLEET_TOP_H
#define ADMIN_FLEET_TOP_H

#include "daemon/request/context.h"
#include "proto/slice.h"

struct answer;
struct buffer;
struct command;
struct fleet;
struct fleet_open;
struct viewer;

context_verb top_verb;
/* The same for a page: of this daemon, in RESP3. False: no memory, or too many searches. */
bool top_page(struct fleet *fleet, const struct viewer *viewer, struct slice match, size_t count,
	struct buffer *out) __attribute__((warn_unused_result));

/* Answers TOP of another daemon. */
void top_asked(
	struct fleet *fleet, const struct command *command, int protocol, size_t bytes, struct buffer *out);
/* Whether this answers such a question. */
bool part_is_top(const struct answer *tree);
/* The answer to TOP FLEET, of at most so many bytes, and the silent daemons. False: no memory, or the daemons
 * alone are more; then part of it may be in out. */
bool write_top(const struct fleet_open *open, size_t room, struct buffer *out, int protocol, int64_t now_ms)
	__attribute__((warn_unused_result));

#endif
