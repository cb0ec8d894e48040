#include "daemon/core/mint.h"

#include "daemon/core/drift.h"
#include "daemon/core/queue.h"
#include "daemon/core/table.h"
#include "daemon/core/user.h"

#include <stdlib.h>

#define DAY_MS          86400000 /* as lua/latch.lua has it: how long a latch without LEASE lives unused */
#define STEPS_OF_A_UNIT 100

int64_t
mint_cost(int64_t steps)
{
	return (steps + STEPS_OF_A_UNIT - 1) / STEPS_OF_A_UNIT;
}

static void
mint_end(struct core *core, struct mint *m)
{
	timer_cancel(&core->timers, &m->timer);
	table_remove_mint(core, m);
	user_latch_leave(core, m->user, m->cost);
	free(m);
}

bool
mint_begin(struct core *core, struct user *user, uint64_t latch, int64_t steps, int64_t ends_ms)
{
	struct mint *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return false;
	m->latch = latch;
	m->user = user;
	m->cost = mint_cost(steps);
	timer_init(&m->timer, TIMER_MINT);
	if (!table_add_mint(core, m)) {
		free(m);
		return false;
	}
	user_latch_enter(user, m->cost);
	/* Should nobody hear what became of it: the longest that it can be there. */
	if (ends_ms == TIMER_NEVER)
		ends_ms = queue_once_until(core) + DAY_MS + drift_ms(DAY_MS);
	timer_arm(&core->timers, &m->timer, ends_ms + core->settings.margin_ms);
	return true;
}

void
mint_seen(struct core *core, uint64_t latch, int64_t ends_ms)
{
	struct mint *m = table_mint(core, latch);

	if (m == NULL)
		return;
	m->seen = true;
	timer_arm(&core->timers, &m->timer, ends_ms);
}

void
mint_drop(struct core *core, uint64_t latch)
{
	struct mint *m = table_mint(core, latch);

	if (m != NULL)
		mint_end(core, m);
}

void
mint_forgo(struct core *core, uint64_t latch)
{
	struct mint *m = table_mint(core, latch);

	if (m != NULL && !m->seen)
		mint_end(core, m);
}

void
mint_remember(struct core *core, uint64_t memory)
{
	struct mint *m, *next;

	if (core->mints_memory == memory)
		return;
	core->mints_memory = memory;
	HASH_ITER (hh, core->mints, m, next) {
		if (m->seen)
			mint_end(core, m);
	}
}

void
mint_timer(struct core *core, struct mint *m)
{
	mint_end(core, m);
}

void
mint_free_all(struct core *core)
{
	struct mint *m, *next;

	HASH_ITER (hh, core->mints, m, next) {
		table_remove_mint(core, m);
		free(m);
	}
}
