/*
 * tokens: fencing tokens of one name, by strict majority raise.
 *
 * Every master keeps a counter. A daemon that acquires proposes a token t, any number at all, since clocks
 * are anything; each master it reaches gives it the key and raises the counter to t, if t is greater. The
 * token counts when a majority was raised to it. A daemon that a majority granted but did not raise, raises
 * again, to one more than all it heard. A lease reserves a block of tokens and hands them out one by one; the
 * next block is fetched by another round of the same lease.
 *
 *     IDLE ──begin──▶ ACQUIRE ──granted, not all raised──▶ RAISE ──again──▶ RAISE
 *       ▲                └───────────majority raised─────────┴──▶ a block of tokens
 *       └── given up ────┘
 *
 * There is no time here: leases end whenever they like, so that whoever asks may be given the key; daemons
 * stall at any point; any message takes for ever. Promised all the same: no token is handed out twice
 * (TWICE), and the first token of a lease is greater than every token handed out before its deciding round
 * began (ORDER). Not more than that: while a round's answers are under way another daemon may be granted a
 * greater token first. Only exclusion, and thus time, can order these two.
 *
 * A master may lose its memory, a minority at a time: its counter falls to any older value.
 *
 *     ADMITTED ──loss──▶ GUARDED ──over──▶ ASKING ──floor raised──▶ FLOORED ──identity──▶ ADMITTED
 *
 * It has no vote until it is admitted again. The guard is over when no round can be decided any more that
 * counts a raise of the lost memory: a guard is longer than a round may last. Then the counters of N -
 * majority + 1 other masters are read, one by one; then the floor is raised above them; then the identity is
 * written, if the master is still the one that was floored. With one master there are no others: the floor
 * comes from the clock, which when the guard is over has passed the tokens of the dead, and from the tokens
 * of those who reclaim.
 *
 * Left out: messages that arrive after their round has ended. They lift a counter, as a round does that is
 * given up.
 */
#include "tests/model/tokens.h"

#include <assert.h>
#include <string.h>

static void
tokens_begin(const void *rules, void *state)
{
	const struct token_rules *r = rules;
	struct token_state *s = state;
	s->clock = tokens_clocked(r);
}

static void
tokens_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	const struct token_rules *r = rules;
	struct turn t = {.rules = r, .from = state, .ex = ex};
	t.top = (uint8_t)(r->tokens + depth - 1);
	t.block = r->block > 1 ? r->block : 1;
	t.next = *t.from;
	for (unsigned d = 0; d < r->daemons; d++)
		daemon_moves(&t, d);
	for (unsigned m = 0; m < r->masters; m++)
		master_moves(&t, m);
	if (tokens_clocked(r) && t.from->clock < t.top) {
		t.next.clock++;
		OFFER(&t, "the clocks show %u", t.from->clock + 1u);
	}
}

static const char *
tokens_broken(const void *rules, const void *state)
{
	(void)rules;
	switch ((enum harm)((const struct token_state *)state)->harm) {
	case HARM_NONE:
		return NULL;
	case HARM_TWICE:
		return TWICE;
	case HARM_ORDER:
		return ORDER;
	}
	return NULL;
}

/* Calls daemon order[d] d, everywhere. */
static void
tokens_relabel(const struct token_rules *rules, const struct token_state *from, const uint8_t *order,
	struct token_state *to)
{
	assert(rules->daemons <= DAEMONS_MAX);
	*to = *from;
	for (unsigned d = 0; d < rules->daemons; d++) {
		to->daemon[d] = from->daemon[order[d]];
		for (unsigned m = 0; m < rules->masters; m++) {
			to->master[m].vote[d] = from->master[m].vote[order[d]];
			if (from->master[m].key == order[d] + 1)
				to->master[m].key = (uint8_t)(d + 1);
		}
	}
	explorer_sort(to->master, rules->masters, sizeof to->master[0]);
}

static void
tokens_normalize(const void *rules, void *state)
{
	const struct token_rules *r = rules;
	const struct token_state from = *(const struct token_state *)state;
	struct token_state *least = state;
	uint8_t order[DAEMONS_MAX] = {0, 1, 2};

	tokens_relabel(r, &from, order, least);
	while (explorer_permute(order, r->daemons)) {
		struct token_state other;
		tokens_relabel(r, &from, order, &other);
		if (memcmp(&other, least, sizeof other) < 0)
			*least = other;
	}
}

enum landmark {
	LANDMARK_LATER = 1,
	LANDMARK_AGAIN = 2,
	LANDMARK_FETCH = 4,
	LANDMARK_FLOOR = 8,
};

static unsigned
tokens_landmark(const void *rules, const void *state)
{
	const struct token_rules *r = rules;
	const struct token_state *s = state;
	int most = r->tokens < 3 ? r->tokens : 3;
	unsigned met = __builtin_popcount(tokens_used(s)) >= most ? LANDMARK_LATER : 0;
	for (unsigned d = 0; d < r->daemons; d++) {
		bool unspent = s->daemon[d].last > 0;
		met |= s->daemon[d].phase == PHASE_RAISE ? LANDMARK_AGAIN : 0;
		met |= s->daemon[d].phase == PHASE_ACQUIRE && unspent ? LANDMARK_FETCH : 0;
	}
	for (unsigned m = 0; m < r->masters; m++)
		met |= s->master[m].memory == MEMORY_FLOORED && s->master[m].counter > 0 ? LANDMARK_FLOOR : 0;
	return met;
}

static unsigned
tokens_landmarks_due(const void *rules)
{
	const struct token_rules *r = rules;
	return LANDMARK_LATER | (r->one_round ? 0 : LANDMARK_AGAIN) | (r->block > 1 ? LANDMARK_FETCH : 0) |
	       (r->forgetful ? LANDMARK_FLOOR : 0);
}

static const struct variant variants[] = {
#define TOKENS(name, breaks, depth, rule, ...)                                                               \
	{name, breaks, rule, depth, &(const struct token_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef TOKENS
};

const struct model tokens_model = {
	.name = "tokens",
	.state_bytes = sizeof(struct token_state),
	.begin = tokens_begin,
	.moves = tokens_moves,
	.broken = tokens_broken,
	.normalize = tokens_normalize,
	.landmark = tokens_landmark,
	.landmarks_due = tokens_landmarks_due,
	.landmarks = (const char *const[]){"a later token", "a second round", "a second block", "a floor"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
