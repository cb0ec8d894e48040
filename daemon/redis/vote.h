/*
 * vote: decodes Redis' replies as the core's votes; the second half of daemon/redis/call.h.
 */
#ifndef REDIS_VOTE_H
#define REDIS_VOTE_H

#include "daemon/core/base/call.h"

#include <stdbool.h>
#include <stddef.h>

struct redisReply;

/* Whether the master does not know the script (SCRIPT FLUSH, restart): then nothing was done. */
bool call_noscript(const struct redisReply *reply);

/* Whether a node of a cluster does not serve the slot of the keys, or not all of them now: then nothing was
 * done. */
bool call_moved(const struct redisReply *reply);

/*
 * Decodes a reply into one vote per call. reply NULL: the answer was lost. No reply is trusted: whatever the
 * script cannot have answered becomes OUTCOME_UNKNOWN. Slices in votes point into the reply and the calls and
 * live as long as both.
 */
void call_decode(const struct redisReply *reply, const struct call *calls, size_t n, struct vote *votes);

/* Makes the vote for a call without an answer: UNSENT or UNKNOWN. why may be NULL, else it outlives the
 * vote. */
void call_fail(const struct call *call, enum outcome outcome, const char *why, struct vote *vote);

#endif
