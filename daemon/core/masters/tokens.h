/*
 * tokens: where fencing tokens begin.
 *
 * The masters count on from what they have given out; a proposal only has to lie above what they may have
 * forgotten. If masters and daemons are gone together, only a clock remembers their tokens. So tokens must
 * not run ahead of the clock: while they do, small blocks are asked for. With one master the clock is the
 * master's, because a daemon whose clock is ahead may be gone as well. With several it is the daemon's.
 */
#ifndef CORE_TOKENS_H
#define CORE_TOKENS_H

#include <stdint.h>

struct core;

#define TOKEN_MOST (INT64_C(1) << 52) /* a greater one is not believed */

/* A token was seen, whichever daemon it was given to. */
void tokens_saw(struct core *core, int64_t token);

/* A master's memory changed: it may have forgotten all tokens seen until now. */
void tokens_forgotten(struct core *core);

/* The token to begin a round with: above reached and all that may be forgotten; with several masters above
 * the wall clock, too. After rounds that brought none it lies further above each time: meanwhile other
 * daemons take tokens of the same name, one master is ahead of another, and a lower proposal would leave that
 * so. */
int64_t tokens_propose(const struct core *core, int64_t reached, unsigned dry_rounds);

/* Above everything known: a floor. */
int64_t tokens_floor(const struct core *core);

/* How many tokens come with a lease; how many to ask for if they run short. */
int64_t tokens_first(void);
int64_t tokens_block(const struct core *core);

#endif
