/* tokens: see tokens.h. */
#include "daemon/core/masters/tokens.h"

#include "daemon/core/base/base.h"
#include "daemon/core/masters/master.h"
#include "daemon/core/masters/quorum.h"

#include <assert.h>
#include <stdint.h>

#define TOKENS_AHEAD 10000 /* microseconds: a restart takes longer */
#define TOKEN_FIRST  10    /* come with a lease: most leases need no more */
#define TOKEN_BLOCK  2000  /* reserved at once if they run short: hand-offs take the next without asking */
#define TOKEN_FEW    32    /* while tokens run ahead of the clock */

#define DOUBLINGS_MOST 8

void
tokens_saw(struct core *core, int64_t token)
{
	if (token > core->quorum->highest && token <= TOKEN_MOST)
		core->quorum->highest = token;
	assert(core->quorum->past <= core->quorum->highest);
}

void
tokens_forgotten(struct core *core)
{
	core->quorum->past = core->quorum->highest;
}

/* With one master the tokens begin at its own clock (lua/admit.lua), and its counter goes on from there. With
 * several the wall clock is proposed, unless it is set absurdly far ahead: then it would burn the tokens of
 * all the years until then. */
static int64_t
token_above(const struct core *core, int64_t known)
{
	int64_t wall = core->settings.masters > 1 ? core->now.wall_us : 0;

	return wall > known && wall <= TOKEN_MOST ? wall : known + 1;
}

/* The clock that tokens stay behind. */
static int64_t
token_clock_us(const struct core *core)
{
	const struct master *m = &core->masters[0];

	if (core->settings.masters > 1 || m->time_us == 0)
		return core->now.wall_us;
	return m->time_us + (core->now.ms - m->time_seen_ms) * 1000;
}

int64_t
tokens_propose(const struct core *core, int64_t reached, unsigned dry_rounds)
{
	unsigned doublings = dry_rounds < DOUBLINGS_MOST ? dry_rounds : DOUBLINGS_MOST;
	int64_t known = reached > core->quorum->past ? reached : core->quorum->past;

	assert(reached >= 0 && core->quorum->past <= core->quorum->highest);
	return token_above(core, dry_rounds > 0 ? known + (TOKEN_FEW << doublings) : known);
}

int64_t
tokens_floor(const struct core *core)
{
	return token_above(core, core->quorum->highest);
}

int64_t
tokens_first(void)
{
	return TOKEN_FIRST;
}

int64_t
tokens_block(const struct core *core)
{
	return core->quorum->highest > token_clock_us(core) + TOKENS_AHEAD ? TOKEN_FEW : TOKEN_BLOCK;
}
