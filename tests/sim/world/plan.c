/* plan: see plan.h. */
#include "tests/sim/world/plan.h"

#include "tests/sim/fault/handover.h"
#include "tests/sim/fault/recovery.h"
#include "tests/sim/world/private_master.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HOUR_US        INT64_C(3600000000)
#define SHORT_THINK_US 2000

const char *const fault_word[FAULT_COUNT] = {
#define FAULT(id, word) word,
	FAULTS(FAULT)
#undef FAULT
};

static const char *const assumption_word[ASSUMPTION_COUNT] = {
#define ASSUMPTION(id, word) word,
	ASSUMPTIONS(ASSUMPTION)
#undef ASSUMPTION
};

/* The faults that break an assumption, and which. */
static const struct {
	enum fault fault;
	enum assumption assumption;
} breaking[] = {{FAULT_DELETE, ASSUMES_WRITES}, {FAULT_OVERWRITE, ASSUMES_WRITES},
	{FAULT_KIND, ASSUMES_WRITES}, {FAULT_EVICT, ASSUMES_WRITES}, {FAULT_CLONE, ASSUMES_COPIES},
	{FAULT_COPY, ASSUMES_LEDGERS}, {FAULT_JUMP, ASSUMES_JUMPS}, {FAULT_FAST, ASSUMES_JUMPS},
	{FAULT_BACK, ASSUMES_BACK}, {FAULT_STUN, ASSUMES_STILL}, {FAULT_TOTAL, ASSUMES_MEMORY},
	{FAULT_MESSAGES, ASSUMES_MESSAGES}};

/* A rival locks the last name only. */
static bool
has_rival(const struct plan *plan, unsigned name)
{
	return (plan->redisson || plan->redsync) && (name == PLAN_NAMES_MAX - 1 || name == PLAN_ANY_NAME);
}

static bool
is_written(const struct plan *plan, unsigned name)
{
	return name == PLAN_ANY_NAME || (plan->written & 1U << plan_first(plan, name)) != 0;
}

bool
plan_breaks(const struct plan *plan, enum assumption assumption, unsigned name)
{
	bool breaks = (assumption == ASSUMES_RIVALS && has_rival(plan, name)) ||
		      (assumption == ASSUMES_MEMORIES && has_rival(plan, name) &&
			      (plan_loses(plan) || plan->shortens)) ||
		      (assumption == ASSUMES_WILD && plan->wild) ||
		      (assumption == ASSUMES_COUNTERS && plan->wild && plan_loses(plan)) ||
		      (assumption == ASSUMES_LISTS && (plan->others > 0 || plan->rolls));
	for (size_t i = 0; i < sizeof(breaking) / sizeof(breaking[0]); i++)
		breaks |= breaking[i].assumption == assumption && plan->fault[breaking[i].fault] &&
			  (assumption != ASSUMES_WRITES || is_written(plan, name));
	return breaks;
}

bool
plan_breaks_any(const struct plan *plan, unsigned off, unsigned name)
{
	bool any = false;
	for (enum assumption i = 0; i < ASSUMPTION_COUNT; i++)
		any = any || ((off & 1U << i) && plan_breaks(plan, i, name));
	return any;
}

bool
plan_is_bound(const struct plan *plan)
{
	return !plan_breaks_any(plan, UINT_MAX, PLAN_ANY_NAME);
}

bool
plan_loses(const struct plan *plan)
{
	return plan->replicas > 0 || plan->fault[FAULT_EMPTY] || plan->fault[FAULT_STALE] ||
	       plan->fault[FAULT_FLUSH] || plan->fault[FAULT_TOTAL] || plan->fault[FAULT_AMNESIA] ||
	       plan->fault[FAULT_REVERT] || plan->fault[FAULT_SWAP] || plan->fault[FAULT_EVICT];
}

bool
plan_keyed(const struct plan *plan, unsigned name)
{
	return name == 2 ? plan->foreign : plan->twins;
}

bool
plan_counts(const struct plan *plan, unsigned name)
{
	return plan->permits > 0 && (name == 1 || (plan->mixed && name == 0));
}

unsigned
plan_first(const struct plan *plan, unsigned name)
{
	return plan->twins && name == 1 ? 0 : name;
}

unsigned
plan_servers(const struct plan *plan)
{
	return plan->masters + plan->replicas + plan->spare;
}

unsigned
plan_majority(const struct plan *plan)
{
	return plan->masters / 2 + 1;
}

void
plan_text(const struct plan *plan, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size,
		"%u masters, %u replicas (%u later), %u daemons, %u clients, %u names, %u latches, %u links, "
		"lease "
		"%" PRId64 " + %" PRId64 " ms%s%s%s, %" PRId64 " permits; faults:",
		plan->masters, plan->replicas, plan->joins, plan->hosts, plan->clients, plan->names,
		plan->latches, plan->links, plan->lease_ms, plan->margin_ms,
		plan->wild ? ", wild clocks" : "", plan->twins ? ", one key for two names" : "",
		plan->redisson  ? ", RLocks"
		: plan->redsync ? ", strings"
				: "",
		plan->permits);
	for (int i = 0; i < FAULT_COUNT && n < size; i++)
		if (plan->fault[i])
			n += (size_t)snprintf(out + n, size - n, " %s", fault_word[i]);
	if (plan->rolls && n < size)
		n += (size_t)snprintf(out + n, size - n, " rolls");
	if (plan->halves && n < size)
		n += (size_t)snprintf(out + n, size - n, " halves");
	if (plan->shortens && n < size)
		n += (size_t)snprintf(out + n, size - n, " shortens");
	if (plan->flaps && n < size)
		n += (size_t)snprintf(out + n, size - n, " flaps");
	if (plan->private && n < size)
		n += (size_t)snprintf(out + n, size - n, " private");
	if (plan->ledgers && n < size)
		n += (size_t)snprintf(out + n, size - n, " ledgers");
	if (plan->away && n < size)
		n += (size_t)snprintf(out + n, size - n, " away");
	if (plan->resp2 && n < size)
		n += (size_t)snprintf(out + n, size - n, " resp2");
	if (plan->forgets && n < size)
		n += (size_t)snprintf(out + n, size - n, " forgets");
	if (plan->reloads && n < size)
		n += (size_t)snprintf(out + n, size - n, " reloads");
	for (enum assumption i = 0; i < ASSUMPTION_COUNT && n < size; i++)
		if (plan_breaks(plan, i, PLAN_ANY_NAME))
			n += (size_t)snprintf(out + n, size - n, " (breaks: %s)", assumption_word[i]);
	for (unsigned i = 0; i < plan->first_n && n < size; i++)
		n += (size_t)snprintf(
			out + n, size - n, "%sm%u", i == 0 ? "; changes from: " : " ", plan->first[i]);
	for (unsigned i = 0; i < plan->others && n < size; i++)
		n += (size_t)snprintf(
			out + n, size - n, "%sm%u", i == 0 ? "; other lists: " : " ", plan->other[i]);
}

static int64_t
pick(struct rng *rng, const int64_t *values, int64_t n)
{
	return values[rng_range(rng, 0, n - 1)];
}

static void
plan_without(struct plan *plan, const enum fault *faults, size_t n)
{
	for (size_t i = 0; i < n; i++)
		plan->fault[faults[i]] = false;
}

/*
 * Where the clocks are wild, a master that forgot gets its token floor from what the others know, so that
 * these have to be there. Where a majority may forget, or the others may be away, only the clocks are left to
 * order tokens: the floor is above those of the masters and of the daemon that admits, so that no token of
 * a daemon that died meanwhile may be further ahead than a guard. With one master its clock alone counts,
 * whatever the daemons' show.
 */
static void
plan_clocks(struct plan *plan)
{
	static const enum fault away[] = {FAULT_LINK, FAULT_PARTITION, FAULT_ONEWAY, FAULT_SPLIT, FAULT_SLOW,
		FAULT_STOP, FAULT_TOTAL, FAULT_READONLY, FAULT_LOADING, FAULT_MISCONF};
	/* Of an only master's tokens the daemons alone know, which have to send it HELLO while it is guarded:
	 * who stands still looks as if it could tell. */
	static const enum fault mute[] = {FAULT_PAUSE};
	static const enum fault odd[] = {FAULT_JUMP, FAULT_FAST};
	int64_t guard_us = (plan->lease_ms + plan->margin_ms) * 1000;
	plan->wall_behind_us = plan->wall_ahead_us = plan->wall_apart_us = HOUR_US;
	if (!plan_loses(plan))
		return;
	if (plan->wild) {
		plan_without(plan, away, sizeof(away) / sizeof(away[0]));
		if (plan->masters == 1)
			plan_without(plan, mute, sizeof(mute) / sizeof(mute[0]));
		return;
	}
	plan_without(plan, odd, sizeof(odd) / sizeof(odd[0]));
	if (plan_servers(plan) == 1)
		return;
	plan->wall_apart_us = 0;
	plan->wall_ahead_us = guard_us * 3 / 4;
	if (plan->fault[FAULT_BACK]) {
		plan->fault[FAULT_WALL] = false;
		plan->wall_ahead_us = plan->wall_behind_us = guard_us / 4;
	}
}

/* What cannot be, or is not promised, with so many masters and such a margin. */
static void
plan_possible(struct plan *plan)
{
	static const enum fault many[] = {FAULT_SPLIT, FAULT_TOTAL, FAULT_AMNESIA};
	/* Who has not known a clock before it jumped cannot see that it did, nor that a memory went back. */
	static const enum fault fresh[] = {FAULT_CRASH, FAULT_DRAIN, FAULT_CLONE, FAULT_AMNESIA};
	static const enum fault step[] = {FAULT_FORWARD};
	static const enum fault worst = FAULT_AMNESIA;
	if (plan->masters == 1) {
		plan_without(plan, many, sizeof(many) / sizeof(many[0]));
		plan->wild = plan->wild && plan->seed % 3 == 0;
	}
	if (plan->fault[FAULT_JUMP] || plan->fault[FAULT_FAST] || plan->fault[FAULT_REVERT] ||
		plan->fault[FAULT_SWAP])
		plan_without(plan, fresh, sizeof(fresh) / sizeof(fresh[0]));
	if (plan->margin_ms == 0)
		plan_without(plan, step, 1); /* what no margin absorbs */
	/* Longer guards outlast connections on which nothing comes. */
	if (plan->lease_ms > 1000)
		plan_without(plan, &worst, 1);
}

static void
plan_faults(struct plan *plan, struct rng *rng)
{
	int percent = (int)rng_range(rng, 5, 40);
	for (int i = 0; i < FAULT_OF_SENTINELS; i++)
		plan->fault[i] = rng_percent(rng, percent);
}

/* Hundreds of permits, and holders that have some tens each, so that a handful of them has all. */
static void
plan_crowd(struct plan *plan, struct rng *rng)
{
	plan->permits = rng_range(rng, 101, 400);
	plan->most_permits = plan->permits / rng_range(rng, 2, 5);
}

/*
 * Daemons whose lists of masters differ: one of the masters is another one, or there are fewer. Daemons die
 * and come back with either list. A master that is a whole list may not forget, as nobody but it knows that
 * there are two.
 */
static void
plan_lists(struct plan *plan, struct rng *rng)
{
	static const enum fault more[] = {FAULT_TOTAL, FAULT_AMNESIA, FAULT_JUMP, FAULT_DELETE,
		FAULT_OVERWRITE, FAULT_KIND, FAULT_REVERT, FAULT_SWAP, FAULT_CLONE};
	bool fewer = plan->masters == PLAN_MASTERS_MAX || rng_percent(rng, 30);
	plan_without(plan, more, sizeof(more) / sizeof(more[0]));
	plan->others = fewer ? plan->masters - 2 : plan->masters;
	for (unsigned i = 0; i < plan->others; i++)
		plan->other[i] = i;
	if (!fewer) {
		plan->other[plan->others - 1] = plan->masters;
		plan->spare = 1;
	}
	plan->hosts = plan->hosts > 1 ? plan->hosts : 2;
	plan->fault[FAULT_CRASH] = rng_percent(rng, 70);
	plan->latches = 0;
}

/*
 * The set of masters is changed while things go wrong, and at the end it is made of the first ones. A member
 * that forgets is the only one that does at the time, and a lone one does not.
 */
static void
plan_changes(struct plan *plan, struct rng *rng)
{
	static const enum fault more[] = {FAULT_TOTAL, FAULT_AMNESIA, FAULT_JUMP, FAULT_DELETE,
		FAULT_OVERWRITE, FAULT_KIND, FAULT_REVERT, FAULT_SWAP, FAULT_CLONE, FAULT_FAST, FAULT_EVICT,
		FAULT_STUN};
	bool grows = plan->masters == PLAN_MASTERS_MAX || rng_percent(rng, 35);
	unsigned order[PLAN_MASTERS_MAX] = {0};
	plan_without(plan, more, sizeof(more) / sizeof(more[0]));
	plan->changes = true;
	plan->spare = PLAN_MASTERS_MAX - plan->masters;
	if (plan->spare > 0)
		plan->spare = (unsigned)rng_range(rng, grows ? 0 : 1, plan->spare);
	plan->first_n = grows ? plan->masters - 2 : plan->masters;
	for (unsigned i = 0; i < plan->masters + plan->spare; i++) {
		unsigned k = (unsigned)rng_range(rng, 0, i);
		order[i] = order[k];
		order[k] = i;
	}
	memcpy(plan->first, order, sizeof(order));
	plan->hosts = plan->hosts > 1 ? plan->hosts : 2;
	plan->fault[FAULT_CRASH] = rng_percent(rng, 60);
	plan->fault[FAULT_PAUSE] |= rng_percent(rng, 30);
	plan->fault[FAULT_PARTITION] |= rng_percent(rng, 30);
	plan->fault[FAULT_EMPTY] |= rng_percent(rng, 30);
	plan->faults_us *= 2;
	plan->latches = 0;
	plan->wild = false;
	plan->redsync = false;
	plan_clocks(plan);
}

/* Of users and sessions. */
static void
plan_limits(struct plan *plan, struct rng *rng)
{
	if (rng_percent(rng, 20))
		plan->user_locks = plan->most_permits + rng_range(rng, 1, 8);
	if (rng_percent(rng, 20))
		plan->session_grants = rng_range(rng, 1, 3);
	if (rng_percent(rng, 10))
		plan->session_waits = rng_range(rng, 1, 2);
}

/* By a chance of its own, so that all else is as it was. */
static void
plan_flaps(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 5};

	plan->flaps = rng_percent(&rng, 12) && !(plan->wild && plan_loses(plan));
	plan->storms = plan->flaps && plan->masters == 1 && rng_percent(&rng, 60);
}

void
plan_storm(struct plan *plan)
{
	if (!plan->storms)
		return;
	plan->latches = plan->fault[FAULT_CLONE] ? 0 : 1;
	plan->think_us = SHORT_THINK_US;
}

/* By a chance of its own, so that all else is as it was. */
static void
plan_chaos(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 11};
	if (rng_percent(&rng, 25))
		plan->chaos_percent = rng_percent(&rng, 50) ? 100 : 50;
}

/* With a chance of its own, so that other draws stay as they were. What ids were told under longer leases
 * their next process has to know (rollout.h). */
static void
plan_passes(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 31};
	if (plan->fault[FAULT_HANDOVER] && plan->id_percent > 0 && plan->hosts > 1 && plan->others == 0 &&
		!plan->private)
		plan->halves |= rng_percent(&rng, 50);
}

/* Likewise. A crash that a ledger outlives leaves the sessions of ids without a client. */
static void
plan_ids(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 23};
	if (rng_percent(&rng, 25) && !plan->fault[FAULT_RECOVER])
		plan->id_percent = rng_percent(&rng, 50) ? 100 : 40;
	plan_passes(plan);
}

/* One of many forgets at the worst moment, again and again, and hardly anything else goes wrong. */
static void
plan_worst(struct plan *plan)
{
	for (int i = 0; i < FAULT_COUNT; i++)
		plan->fault[i] &= i == FAULT_CRASH || i == FAULT_WALL || i == FAULT_MESSAGES;
	plan->fault[FAULT_AMNESIA] = true;
	plan->flaps &= !plan->wild; /* as plan_flaps() */
	plan->fault_every_us = plan->lease_ms * 400;
	plan->faults_us *= 3;
	plan_clocks(plan);
}

static void
plan_more(struct plan *plan)
{
	/* A daemon that starts in the middle cannot see them: see plan_possible(). */
	static const enum fault known[] = {FAULT_JUMP, FAULT_FAST, FAULT_REVERT, FAULT_SWAP};
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 17};

	plan->forgets = rng_percent(&rng, 20);
	plan->reloads = rng_percent(&rng, 8);
	plan->lost_most = rng_percent(&rng, 30) ? rng_range(&rng, 1, 2) : 10;
	plan->rolls = rng_percent(&rng, 8) && plan->hosts > 1 && plan->others == 0 && !plan->changes &&
		      !plan->fault[FAULT_CLONE];
	plan->halves = rng_percent(&rng, 12) && plan->hosts > 1 && plan->others == 0;
	plan->resp2 = rng_percent(&rng, 12);
	if (rng_percent(&rng, 12) && plan->masters > 1 && plan->lease_ms <= 1000 && plan->others == 0 &&
		!plan->changes)
		plan_worst(plan);
	plan->no_reuse = plan->seed % 2 == 0;
	private_master_draw(plan, &rng);
	if (plan->private)
		plan_clocks(plan);
	if (plan->rolls) {
		plan_without(plan, known, sizeof(known) / sizeof(known[0]));
		plan->fault[FAULT_CRASH] = true;
		plan->latches = 0;
	}
	handover_draw(plan);
	recovery_draw(plan);
}

/* Other programs write to the keys of one name, or of each. By a chance of its own, so that all else is as it
 * was. */
static void
plan_writes(struct plan *plan)
{
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 43};
	unsigned one = (unsigned)rng_range(&rng, 0, plan->names - 1);
	plan->written = rng_percent(&rng, 30) ? (1U << plan->names) - 1 : 1U << plan_first(plan, one);
}

/* A rival waits for no guard: in most worlds that have one nothing else is wrong with its name. By a chance
 * of its own, so that all else is as it was. */
static void
plan_rivals(struct plan *plan)
{
	static const enum fault forgets[] = {
		FAULT_EMPTY, FAULT_STALE, FAULT_FLUSH, FAULT_AMNESIA, FAULT_REVERT, FAULT_SWAP};
	struct rng rng = {plan->seed * UINT64_C(0xd6e8feb86659fd93) + 47};
	if (!(plan->redisson || plan->redsync) || !rng_percent(&rng, 70))
		return;
	plan_without(plan, forgets, sizeof(forgets) / sizeof(forgets[0]));
	for (size_t i = 0; i < sizeof(breaking) / sizeof(breaking[0]); i++)
		plan->fault[breaking[i].fault] = false;
}

/* Takes from a world what breaks an assumption. */
static void
plan_bind(struct plan *plan)
{
	for (size_t i = 0; i < sizeof(breaking) / sizeof(breaking[0]); i++)
		plan->fault[breaking[i].fault] = false;
	plan->redisson = plan->redsync = plan->rolls = false;
}

/* What clients ask for, and which daemons and masters they meet. */
static void
plan_locks(struct plan *plan, struct rng *rng, bool bound)
{
	plan->shared_percent = rng_percent(rng, 40) ? 0 : (int)rng_range(rng, 10, 90);
	plan->permits = rng_percent(rng, 60) ? 0 : rng_range(rng, 1, 5);
	plan->retain_ms = rng_percent(rng, 40) ? 0 : rng_range(rng, 1, 500);
	plan->latches = (unsigned)rng_range(rng, 0, PLAN_LATCHES_MAX);
	plan->twins = rng_percent(rng, 8) && plan->names > 1;
	if (plan->twins)
		plan->permits = 0;
	plan->most_permits = plan->permits;
	if (plan->permits > 0 && plan->names > 1 && rng_percent(rng, 25))
		plan_crowd(plan, rng);
	if (plan->masters > 1 && rng_percent(rng, 10) && !bound)
		plan_lists(plan, rng);
	plan->redisson = rng_percent(rng, 60) && plan->foreign && plan->names > 2 && plan->masters == 1;
	plan->redsync = rng_percent(rng, 60) && plan->foreign && plan->names > 2 && !plan->redisson;
	plan->wait_ms = rng_percent(rng, 80) ? -1 : rng_range(rng, 1, 3 * plan->lease_ms);
	plan->max_hold_ms = rng_percent(rng, 80) ? 0 : rng_range(rng, plan->lease_ms / 2, 3 * plan->lease_ms);
	plan->limits = rng_percent(rng, 70) ? 1 : 2;
	plan->mixed = rng_percent(rng, 30) && !plan->twins;
	plan_limits(plan, rng);
	/* Sessions of two copies have the same numbers: what both count down counts once. */
	if (plan->fault[FAULT_CLONE])
		plan->latches = 0;
	if (plan->masters > 1 && plan->others == 0 && rng_percent(rng, 15))
		plan_changes(plan, rng);
}

void
plan_draw(struct plan *plan, uint64_t seed, unsigned masters)
{
	static const int64_t counts[] = {1};
	static const int64_t leases[] = {600, 1000, 1000, 3000, 10000};
	static const int64_t margins[] = {10, 10, 1, 0}; /* percent */
	static const int64_t manies[] = {0, 10, 50, 100};
	static const int64_t thinks[] = {SHORT_THINK_US, 20000, 200000};
	static const int64_t longs[] = {2, 10, 50};
	static const int64_t holds[] = {1000, 30000, 300000};
	static const int64_t delays[] = {50, 300, 5000};
	struct rng rng = {seed * UINT64_C(0x2545f4914f6cdd1d) + 1};
	struct rng chance = {seed * UINT64_C(0xd6e8feb86659fd93) + 41};
	bool bound = rng_percent(&chance, 70);
	*plan = (struct plan){.seed = seed};
	plan->masters = (unsigned)pick(&rng, counts, sizeof(counts) / sizeof(counts[0]));
	if (masters > 0)
		plan->masters = masters;
	plan->hosts = (unsigned)rng_range(&rng, 1, PLAN_HOSTS_MAX);
	plan->clients = (unsigned)rng_range(&rng, 2, PLAN_CLIENTS_MAX);
	plan->names = (unsigned)rng_range(&rng, 1, PLAN_NAMES_MAX);
	plan->links = (unsigned)rng_range(&rng, 1, 2);
	plan->lease_ms = pick(&rng, leases, 5);
	plan->margin_ms = plan->lease_ms * pick(&rng, margins, 4) / 100;
	plan->streak = rng_percent(&rng, 50) ? 1 : rng_range(&rng, 2, 64);
	plan->streak_ms = rng_range(&rng, 5, 200);
	plan->trusted = rng_percent(&rng, 70);
	plan->foreign = rng_percent(&rng, bound ? 30 : 60);
	plan->wild = rng_percent(&rng, 40) && !bound;
	plan->network_us = pick(&rng, delays, 3);
	plan->spread_us = rng_percent(&rng, 50) ? 0 : plan->network_us * rng_range(&rng, 1, 10);
	/* The foreign name has half the lease, and a third of that is how long an answer may take. */
	if (plan->network_us + plan->spread_us > plan->lease_ms * 1000 / 16)
		plan->spread_us = plan->lease_ms * 1000 / 16 - plan->network_us;
	plan->crash_delay_ms = rng_percent(&rng, 25) ? rng_range(&rng, 1, plan->lease_ms) : 0;
	plan->think_us = pick(&rng, thinks, 3);
	plan->hold_us = pick(&rng, holds, 3);
	plan->long_percent = (int)pick(&rng, longs, 3);
	plan->faults_us = plan->lease_ms * 1000 * rng_range(&rng, 3, 8);
	plan->fault_every_us = plan->lease_ms * rng_range(&rng, 30, 600);
	if (!rng_percent(&rng, 10))
		plan_faults(plan, &rng);
	plan->many_percent = (int)pick(&rng, manies, 4);
	plan_possible(plan);
	plan_clocks(plan);
	plan_locks(plan, &rng, bound);
	plan_flaps(plan);
	plan_chaos(plan);
	plan_more(plan);
	plan_ids(plan);
	plan_writes(plan);
	plan_rivals(plan);
	/* A first set, or one that most masters have forgotten, takes effect when all have accepted it. */
	plan->away = rng_percent(&chance, 25) && plan->masters > 1 && plan->trusted && plan->others == 0 &&
		     !plan->changes && !plan->fault[FAULT_TOTAL];
	if (bound)
		plan_bind(plan);
}

void
plan_sentinel(struct plan *plan)
{
	/* What happens to one master alone, or to several that are independent. */
	static const enum fault others[] = {FAULT_SPLIT, FAULT_TOTAL, FAULT_AMNESIA, FAULT_FLUSH, FAULT_FULL,
		FAULT_READONLY, FAULT_LOADING, FAULT_MISCONF, FAULT_BACK, FAULT_JUMP, FAULT_DELETE,
		FAULT_OVERWRITE, FAULT_KIND, FAULT_CLONE, FAULT_REVERT, FAULT_SWAP, FAULT_EVICT};
	static const int64_t counts[] = {2, 2, 3, 3, 4};
	struct rng rng = {plan->seed * UINT64_C(0x9fb21c651e98df25) + 3};
	plan->masters = 1;
	plan->replicas = (unsigned)pick(&rng, counts, 5);
	plan->wild = plan->private = plan->shortens = false;
	plan->redisson = plan->redsync = false; /* a rival waits for no guard */
	plan_without(plan, others, sizeof(others) / sizeof(others[0]));
	plan->fault[FAULT_CUT_OFF] = rng_percent(&rng, 80);
	plan->fault[FAULT_FAILOVER] = rng_percent(&rng, 40);
	plan->fault[FAULT_RESYNC] = rng_percent(&rng, 30);
	if (rng_percent(&rng, 50)) {
		plan->replicas = PLAN_MASTERS_MAX - 1;
		plan->joins = (unsigned)rng_range(&rng, 1, 2);
		plan->fault[FAULT_JOIN] = true;
	}
	plan->fault[FAULT_UNKNOWN] = rng_percent(&rng, 30);
	/* A master that has lost its data has lost the group, too: then who is named counts. */
	if (plan->fault[FAULT_JOIN] || plan->fault[FAULT_UNKNOWN])
		plan->fault[FAULT_EMPTY] = plan->fault[FAULT_STALE] = false;
	if (plan->hosts < 2)
		plan->hosts = 2;
	/* Where replicas have to acknowledge it, too, an answer still comes in time for half the lease. */
	int64_t most_us = (plan->lease_ms * 1000 / 8 - 7 * plan->network_us) / 2;
	if (plan->foreign && plan->spread_us > most_us)
		plan->spread_us = most_us > 0 ? most_us : 0;
	/* A cut lasts for some leases, and so does what follows from it. */
	plan->faults_us += plan->lease_ms * 1000 * rng_range(&rng, 4, 10);
	plan_clocks(plan);
}
