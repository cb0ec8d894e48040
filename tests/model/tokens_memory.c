/*
 * tokens_memory: how masters lose their memory and get their vote back (quorum.c).
 */
#include "tests/model/tokens.h"

/* A minority at a time; a master that stands alone may always. */
static bool
may_forget(const struct turn *t, unsigned m)
{
	unsigned forgot = 1;
	for (unsigned other = 0; other < t->rules->masters; other++)
		forgot += other != m && t->from->master[other].memory != MEMORY_ADMITTED;
	return t->rules->forgetful &&
	       (forgot + tokens_majority(t->rules) <= t->rules->masters || t->rules->masters == 1);
}

static void
floor_forget(struct token_state *s)
{
	s->floor = 0;
	for (unsigned m = 0; m < MASTERS_MAX; m++)
		s->master[m].read = 0;
}

static void
move_forget(struct turn *t, unsigned m)
{
	const struct master *was = &t->from->master[m];
	for (unsigned counter = 0; counter <= was->counter; counter++) {
		struct master *master = &t->next.master[m];
		if (was->memory == MEMORY_ASKING)
			floor_forget(&t->next);
		if (was->memory != MEMORY_FLOORED || !t->rules->no_cas)
			master->memory = MEMORY_GUARDED;
		master->counter = (uint8_t)counter;
		master->key = 0;
		OFFER(t, "m%u loses its memory, its counter is %u", m + 1, counter);
	}
}

/* No round that counts a raise of the lost memory can still be decided. */
static bool
guard_over(const struct turn *t, unsigned m)
{
	if (t->rules->no_guard)
		return true;
	for (unsigned d = 0; d < t->rules->daemons; d++) {
		if (round_open(&t->from->daemon[d]) && t->from->master[m].vote[d] == VOTE_RAISED)
			return false;
	}
	return !tokens_clocked(t->rules) || t->from->clock >= t->from->ended;
}

static bool
somebody_asks(const struct turn *t)
{
	for (unsigned m = 0; m < t->rules->masters; m++) {
		if (t->from->master[m].memory == MEMORY_ASKING || t->from->master[m].memory == MEMORY_TRUSTED)
			return true;
	}
	return false;
}

static void
move_guarded(struct turn *t, unsigned m)
{
	bool over = guard_over(t, m);
	struct master *master = &t->next.master[m];
	if (over && t->rules->order == FLOOR_NEVER) {
		master->memory = MEMORY_ADMITTED;
		OFFER(t, "m%u's guard is over, it is admitted without a floor", m + 1);
	} else if (over && t->rules->order == FLOOR_AFTER_VOTING && !somebody_asks(t)) {
		master->memory = MEMORY_TRUSTED;
		OFFER(t, "m%u's guard is over, it is admitted", m + 1);
	} else if ((over || t->rules->order == FLOOR_BEFORE_GUARD) && !somebody_asks(t)) {
		master->memory = MEMORY_ASKING;
		OFFER(t, "%s, the others' counters are asked for",
			over ? "the guard is over" : "the guard still runs");
	}
}

static unsigned
read_count(const struct token_state *s)
{
	unsigned count = 0;
	for (unsigned m = 0; m < MASTERS_MAX; m++)
		count += s->master[m].read;
	return count;
}

static void
move_ask(struct turn *t, unsigned m)
{
	for (unsigned other = 0; other < t->rules->masters; other++) {
		const struct master *was = &t->from->master[other];
		if (other == m || was->read || (!master_votes(was) && !t->rules->ask_not_admitted))
			continue;
		t->next.master[other].read = 1;
		t->next.floor = higher(t->next.floor, was->counter);
		OFFER(t, "m%u's counter %u is read for m%u's floor", other + 1, was->counter, m + 1);
	}
}

static uint8_t
floor_of_one(const struct turn *t)
{
	uint8_t floor = t->rules->source == SOURCE_RECLAIMERS ? 0 : t->from->clock;
	for (unsigned d = 0; d < t->rules->daemons && t->rules->source != SOURCE_CLOCK; d++)
		floor = higher(floor, t->from->daemon[d].last);
	return floor;
}

static void
floor_raise(struct turn *t, unsigned m, enum memory after)
{
	uint8_t floor = t->rules->masters == 1 ? floor_of_one(t) : t->from->floor;
	t->next.master[m].counter = higher(t->next.master[m].counter, floor);
	t->next.master[m].memory = (uint8_t)after;
	floor_forget(&t->next);
	OFFER(t, "m%u's floor is raised to %u", m + 1, floor);
}

/* ASKING, or in wrong variants TRUSTED: other masters are read until they are enough. */
static void
move_floor(struct turn *t, unsigned m)
{
	unsigned enough = t->rules->masters == 1
				  ? 0
				  : t->rules->masters - tokens_majority(t->rules) + 1 - t->rules->asked_less;
	bool asking = t->from->master[m].memory == MEMORY_ASKING;
	if (read_count(t->from) < enough) {
		move_ask(t, m);
	} else if (asking && !guard_over(t, m)) {
		return;
	} else if (asking && t->rules->order == FLOOR_AFTER_IDENTITY) {
		t->next.master[m].memory = MEMORY_TRUSTED;
		OFFER(t, "m%u's identity is written", m + 1);
	} else {
		floor_raise(t, m, asking ? MEMORY_FLOORED : MEMORY_ADMITTED);
	}
}

void
master_moves(struct turn *t, unsigned m)
{
	if (may_forget(t, m))
		move_forget(t, m);
	switch ((enum memory)t->from->master[m].memory) {
	case MEMORY_ADMITTED:
		break;
	case MEMORY_GUARDED:
		move_guarded(t, m);
		break;
	case MEMORY_ASKING:
	case MEMORY_TRUSTED:
		move_floor(t, m);
		break;
	case MEMORY_FLOORED:
		t->next.master[m].memory = MEMORY_ADMITTED;
		OFFER(t, "m%u's identity is written, it is admitted", m + 1);
		break;
	}
}
