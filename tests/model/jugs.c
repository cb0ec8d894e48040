/*
 * jugs: the explorer's own test, a riddle whose answer everybody can check. Two jugs, a tap and a drain: can
 * four litres be measured? With jugs of 3 and 5 litres in six steps and no fewer; with 3 and 6 never.
 */
#include "tests/model/explorer.h"

struct jugs_rules {
	uint8_t small;
	uint8_t large;
	uint8_t steps_max; /* that many steps are allowed; 0: any number */
};

struct jugs_state {
	uint8_t small;
	uint8_t large;
	uint8_t steps; /* counted only when there is a maximum */
};

static void
jugs_begin(const void *rules, void *state)
{
	(void)rules;
	(void)state;
}

static void
offer(const struct jugs_rules *rules, struct explorer *ex, struct jugs_state from, unsigned small,
	unsigned large, const char *step)
{
	if (rules->steps_max > 0 && from.steps++ == rules->steps_max)
		return;
	from.small = (uint8_t)small;
	from.large = (uint8_t)large;
	explorer_offer(ex, &from, "%s: %u in the small jug, %u in the large one", step, small, large);
}

static unsigned
least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static void
jugs_moves(const void *r, unsigned depth, const void *state, struct explorer *ex)
{
	(void)depth;
	const struct jugs_rules *rules = r;
	struct jugs_state s = *(const struct jugs_state *)state;
	unsigned down = least(s.small, (unsigned)rules->large - s.large);
	unsigned up = least(s.large, (unsigned)rules->small - s.small);
	offer(rules, ex, s, rules->small, s.large, "fill the small jug");
	offer(rules, ex, s, s.small, rules->large, "fill the large jug");
	offer(rules, ex, s, 0, s.large, "empty the small jug");
	offer(rules, ex, s, s.small, 0, "empty the large jug");
	offer(rules, ex, s, s.small - down, s.large + down, "pour the small jug into the large one");
	offer(rules, ex, s, s.small + up, s.large - up, "pour the large jug into the small one");
}

static const char *
jugs_broken(const void *rules, const void *state)
{
	(void)rules;
	return ((const struct jugs_state *)state)->large == 4 ? "four litres are measured" : NULL;
}

static unsigned
jugs_landmark(const void *rules, const void *state)
{
	const struct jugs_rules *r = rules;
	const struct jugs_state *s = state;
	return s->small == r->small && s->large == r->large;
}

static unsigned
jugs_landmarks_due(const void *rules)
{
	(void)rules;
	return 1;
}

static const struct variant variants[] = {
#define JUGS(name, breaks, depth, rule, ...)                                                                 \
	{name, breaks, rule, depth, &(const struct jugs_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef JUGS
};

const struct model jugs_model = {
	.name = "jugs",
	.state_bytes = sizeof(struct jugs_state),
	.begin = jugs_begin,
	.moves = jugs_moves,
	.broken = jugs_broken,
	.landmark = jugs_landmark,
	.landmarks_due = jugs_landmarks_due,
	.landmarks = (const char *const[]){"both jugs full"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
