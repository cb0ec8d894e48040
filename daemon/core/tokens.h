/*
 * tokens: where fencing tokens begin.
 *
 * The masters count on from what they have given out; a proposal only has to lie above what they may have
 * forgotten. Nothing but a clock remembers the tokens of masters and daemons that are gone together, so
 * tokens must not run ahead of it: while they do, small blocks are asked for. With one master that clock is
 * the master's, because a daemon whose clock is ahead may be gone as well. With several it is the daemon's.
 */
#ifndef CORE_TOKENS_H
#define CORE_TOKENS_H

#include "daemon/core/state.h"

#define TOKEN_MOST (INT64_C(1) << 52) /* none above is believed */

/* A token was seen, given out by whomever. */
void tokens_saw(struct core *core, int64_t token);

/* A master's memory changed: what has been seen until now may have been forgotten there. */
void tokens_forgotten(struct core *core);

/* To begin a round with: above reached and all that may be forgotten, with N masters the wall clock, too.
 * After rounds in a row that were in vain further above it each time: other daemons take tokens of the same
 * name meanwhile, one master is ahead of another, and a proposal that lies below that leaves it so. */
int64_t tokens_propose(const struct core *core, int64_t reached, unsigned vain);

/* Above everything known: a floor. */
int64_t tokens_floor(const struct core *core);

/* How many come with a lease, and how many to ask for where they run short. */
int64_t tokens_first(void);
int64_t tokens_block(const struct core *core);

#endif
