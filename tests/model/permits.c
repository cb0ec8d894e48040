/*
 * permits: n permits, or readers and a writer, over several masters. No clocks and no faults: the arithmetic
 * alone decides. Daemons ask master after master, in any order, and give up or release whenever they like.
 *
 * Of n permits each is a lock of its own, a slot: a daemon settles for one and needs a majority of masters
 * for it. For shared and exclusive locks every master grants readers while no writer is there, and a writer
 * while nobody is; both need a majority. Two majorities share a master, and that one says no.
 *
 * A permit that a daemon keeps ahead, without a user, is out here like any other: so there are no more users
 * than permits out. That a user gets it only while its lease is good is the rule of retained leases, which is
 * explored in leases.c, since a slot is a lock like any other.
 *
 * Promised: no more than n permits are out (MANY); a writer is alone (MIXED).
 */
#include "tests/model/explorer.h"

#include <assert.h>
#include <string.h>

#define MANY  "more permits are out than there are"
#define MIXED "a writer is not alone"

#define MASTERS_MAX 5
#define DAEMONS_MAX 4

enum scheme {
	SCHEME_SLOTS = 0, /* every permit is a lock of its own */
	SCHEME_COUNT,     /* every master counts up to n */
	SCHEME_SHARED,
};

struct permit_rules {
	uint8_t masters;
	uint8_t daemons;
	enum scheme scheme;
	uint8_t permits;     /* n; not of SCHEME_SHARED */
	bool reader_single;  /* one master is enough for a reader */
	bool writer_trusted; /* readers must be gone at one of the writer's masters only */
};

/* What a daemon asks for and what a master gave it: 0 nothing; a slot, 1 .. n; or one of these. */
enum {
	SHARE = 1,
	WRITE = 2,
};

struct permit_state {
	uint8_t given[MASTERS_MAX][DAEMONS_MAX];
	uint8_t wants[DAEMONS_MAX];
};

static unsigned
votes_count(const struct permit_rules *rules, const struct permit_state *s, unsigned d)
{
	unsigned count = 0;
	for (unsigned m = 0; m < rules->masters; m++)
		count += s->given[m][d] != 0;
	return count;
}

static bool
holds(const struct permit_rules *rules, const struct permit_state *s, unsigned d)
{
	bool single = rules->reader_single && rules->scheme == SCHEME_SHARED && s->wants[d] == SHARE;
	return votes_count(rules, s, d) >= (single ? 1 : rules->masters / 2u + 1);
}

/* Whether the master may give d what it wants, by what it gave to others. */
static bool
master_agrees(const struct permit_rules *rules, const struct permit_state *s, unsigned m, unsigned d)
{
	unsigned all = 0, same = 0, writers = 0;
	for (unsigned other = 0; other < rules->daemons; other++) {
		uint8_t given = other == d ? 0 : s->given[m][other];
		all += given != 0;
		same += given == s->wants[d];
		writers += given == WRITE;
	}
	switch (rules->scheme) {
	case SCHEME_SLOTS:
		return same == 0;
	case SCHEME_COUNT:
		return all < rules->permits;
	case SCHEME_SHARED:
		break;
	}
	if (s->wants[d] == SHARE || (rules->writer_trusted && votes_count(rules, s, d) > 0))
		return writers == 0;
	return all == 0;
}

static unsigned
want_highest(const struct permit_rules *rules)
{
	switch (rules->scheme) {
	case SCHEME_SLOTS:
		return rules->permits;
	case SCHEME_COUNT:
		break;
	case SCHEME_SHARED:
		return WRITE;
	}
	return 1;
}

static const char *
want_name(const struct permit_rules *rules, unsigned want)
{
	static const char *const slots[] = {"nothing", "slot 1", "slot 2", "slot 3"};
	assert(want < sizeof slots / sizeof slots[0]);
	if (rules->scheme == SCHEME_COUNT)
		return "a permit";
	if (rules->scheme == SCHEME_SHARED)
		return want == SHARE ? "to share" : "to write";
	return slots[want];
}

static void
daemon_moves(const struct permit_rules *rules, const struct permit_state *s, unsigned d, struct explorer *ex)
{
	struct permit_state next = *s;
	if (s->wants[d] == 0) {
		for (unsigned want = 1; want <= want_highest(rules); want++) {
			next.wants[d] = (uint8_t)want;
			explorer_offer(ex, &next, "%c wants %s", 'A' + d, want_name(rules, want));
		}
		return;
	}
	for (unsigned m = 0; m < rules->masters; m++) {
		if (s->given[m][d] != 0 || !master_agrees(rules, s, m, d))
			continue;
		next.given[m][d] = s->wants[d];
		bool won = holds(rules, &next, d) && !holds(rules, s, d);
		explorer_offer(ex, &next, "m%u agrees with %c%s", m + 1, 'A' + d, won ? ": it holds" : "");
		next = *s;
	}
	for (unsigned m = 0; m < rules->masters; m++)
		next.given[m][d] = 0;
	next.wants[d] = 0;
	explorer_offer(ex, &next, "%c gives back what it has", 'A' + d);
}

static void
permits_begin(const void *rules, void *state)
{
	(void)rules;
	(void)state;
}

static void
permits_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	(void)depth;
	const struct permit_rules *r = rules;
	for (unsigned d = 0; d < r->daemons; d++)
		daemon_moves(r, state, d, ex);
}

static void
holders_count(
	const struct permit_rules *rules, const struct permit_state *s, unsigned *all, unsigned *writers)
{
	*all = *writers = 0;
	for (unsigned d = 0; d < rules->daemons; d++) {
		bool held = holds(rules, s, d);
		*all += held;
		*writers += held && s->wants[d] == WRITE;
	}
}

static const char *
permits_broken(const void *rules, const void *state)
{
	const struct permit_rules *r = rules;
	unsigned all, writers;
	holders_count(r, state, &all, &writers);
	if (r->scheme == SCHEME_SHARED)
		return writers > 0 && all > 1 ? MIXED : NULL;
	return all > r->permits ? MANY : NULL;
}

static void
permits_relabel(const struct permit_rules *rules, const struct permit_state *from, const uint8_t *order,
	struct permit_state *to)
{
	assert(rules->daemons <= DAEMONS_MAX);
	for (unsigned d = 0; d < rules->daemons; d++) {
		to->wants[d] = from->wants[order[d]];
		for (unsigned m = 0; m < rules->masters; m++)
			to->given[m][d] = from->given[m][order[d]];
	}
	explorer_sort(to->given, rules->masters, sizeof to->given[0]);
}

static void
permits_normalize(const void *rules, void *state)
{
	const struct permit_rules *r = rules;
	const struct permit_state from = *(const struct permit_state *)state;
	struct permit_state *least = state;
	struct permit_state other = from;
	uint8_t order[DAEMONS_MAX] = {0, 1, 2, 3};

	permits_relabel(r, &from, order, least);
	while (explorer_permute(order, r->daemons)) {
		permits_relabel(r, &from, order, &other);
		if (memcmp(&other, least, sizeof other) < 0)
			*least = other;
	}
}

enum landmark {
	LANDMARK_FULL = 1,
	LANDMARK_READERS = 2,
	LANDMARK_WRITER = 4,
};

static unsigned
permits_landmark(const void *rules, const void *state)
{
	const struct permit_rules *r = rules;
	unsigned all, writers;
	holders_count(r, state, &all, &writers);
	return (all >= r->permits ? LANDMARK_FULL : 0) | (all >= 2 ? LANDMARK_READERS : 0) |
	       (writers > 0 ? LANDMARK_WRITER : 0);
}

static unsigned
permits_landmarks_due(const void *rules)
{
	const struct permit_rules *r = rules;
	return r->scheme == SCHEME_SHARED ? LANDMARK_READERS | LANDMARK_WRITER : LANDMARK_FULL;
}

static const struct variant variants[] = {
#define PERMITS(name, breaks, depth, rule, ...)                                                              \
	{name, breaks, rule, depth, &(const struct permit_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef PERMITS
};

const struct model permits_model = {
	.name = "permits",
	.state_bytes = sizeof(struct permit_state),
	.begin = permits_begin,
	.moves = permits_moves,
	.broken = permits_broken,
	.normalize = permits_normalize,
	.landmark = permits_landmark,
	.landmarks_due = permits_landmarks_due,
	.landmarks = (const char *const[]){"all permits out", "two readers", "a writer"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
