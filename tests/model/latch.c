/*
 * latch: a count-down latch as a set that only grows, kept by every master. Who counts down adds its own mark
 * at the masters and is told so when a majority has it. Who reads takes the union of what a majority has,
 * writes that back until a majority has it, and only then tells how many marks there are. Without writing
 * back, a mark that a minority has would be seen by one reader and missed by the next.
 *
 * A master may lose its memory, a minority at a time, and is guarded, as long as a round may last that counts
 * what it had. Then the sets of N - majority + 1 other masters are copied, and it is admitted.
 *
 * No clocks: any step may take for ever. Promised: a mark that was acknowledged is in every later reading
 * (LOST); so is one that an earlier reading told of (BACKWARDS).
 */
#include "tests/model/explorer.h"

#include <string.h>

#define LOST      "an acknowledged count-down is forgotten"
#define BACKWARDS "a latch that was told of counts up"

#define MASTERS_MAX 5
#define MARKS_MAX   3

enum copy {
	COPY_RIGHT = 0,
	COPY_NONE,
	COPY_BEFORE_GUARD, /* while rounds that count the lost memory are under way */
};

struct latch_rules {
	uint8_t masters;
	uint8_t marks;
	bool forgetful;
	enum copy copy;
	uint8_t copied_less; /* so many fewer other masters are copied */
	bool no_write_back;
};

enum memory {
	MEMORY_ADMITTED = 0,
	MEMORY_GUARDED,
	MEMORY_COPYING, /* one master at a time */
};

enum marking {
	MARKING_NOT = 0,
	MARKING_ASKED,
	MARKING_DONE, /* acknowledged */
};

enum reading {
	READING_NOT = 0,
	READING_ASKED,
	READING_WRITES, /* back what it saw */
};

enum harm {
	HARM_NONE = 0,
	HARM_LOST,
	HARM_BACKWARDS,
};

struct master {
	uint8_t set;
	uint8_t memory;
	uint8_t copied;   /* its set is in the copy that is being made */
	uint8_t confirms; /* set of marks whose round counts this master */
	uint8_t read;     /* the reader's round counts it */
};

struct latch_state {
	struct master master[MASTERS_MAX];
	uint8_t marking[MARKS_MAX];
	uint8_t copy; /* for the one that is COPYING */
	uint8_t reading;
	uint8_t seen;  /* by the reader so far */
	uint8_t acked; /* when the reader began: what it must see */
	uint8_t known; /* when it began: what earlier readings told of */
	uint8_t told;
	uint8_t harm;
};

struct turn {
	const struct latch_rules *rules;
	const struct latch_state *from;
	struct latch_state next;
	struct explorer *ex;
};

static unsigned
majority(const struct latch_rules *rules)
{
	return rules->masters / 2u + 1;
}

/* --- who counts down --------------------------------------------------------------------------------------
 */

static void
confirms_clear(struct turn *t, unsigned mark)
{
	for (unsigned m = 0; m < t->rules->masters; m++)
		t->next.master[m].confirms &= (uint8_t) ~(1u << mark);
}

static void
move_mark(struct turn *t, unsigned mark)
{
	unsigned bit = 1u << mark, confirmed = 0;
	for (unsigned m = 0; m < t->rules->masters; m++)
		confirmed += (t->from->master[m].confirms & bit) != 0;
	for (unsigned m = 0; m < t->rules->masters; m++) {
		const struct master *was = &t->from->master[m];
		if (was->memory != MEMORY_ADMITTED || (was->confirms & bit))
			continue;
		t->next.master[m].set |= (uint8_t)bit;
		t->next.master[m].confirms |= (uint8_t)bit;
		bool done = confirmed + 1 >= majority(t->rules);
		if (done) {
			t->next.marking[mark] = MARKING_DONE;
			confirms_clear(t, mark);
		}
		OFFER(t, "m%u adds the mark of %c%s", m + 1, 'A' + mark, done ? ": acknowledged" : "");
	}
	confirms_clear(t, mark);
	t->next.marking[mark] = MARKING_NOT;
	OFFER(t, "the count-down of %c gives up this try", 'A' + mark);
}

static void
mark_moves(struct turn *t, unsigned mark)
{
	if (t->from->marking[mark] == MARKING_ASKED)
		move_mark(t, mark);
	if (t->from->marking[mark] != MARKING_NOT)
		return;
	t->next.marking[mark] = MARKING_ASKED;
	OFFER(t, "%c counts down", 'A' + mark);
}

/* --- who reads --------------------------------------------------------------------------------------------
 */

static void
reading_end(struct turn *t)
{
	t->next.reading = READING_NOT;
	t->next.seen = t->next.acked = t->next.known = 0;
	for (unsigned m = 0; m < t->rules->masters; m++)
		t->next.master[m].read = 0;
}

static void
reading_tell(struct turn *t)
{
	if (t->next.acked & ~t->next.seen)
		t->next.harm = HARM_LOST;
	else if (t->next.known & ~t->next.seen)
		t->next.harm = HARM_BACKWARDS;
	t->next.told |= t->next.seen;
	reading_end(t);
}

/* The round has a majority: the reading is over, or its writing back begins. */
static const char *
reading_settle(struct turn *t)
{
	unsigned count = 0;
	for (unsigned m = 0; m < t->rules->masters; m++)
		count += t->next.master[m].read;
	if (count < majority(t->rules))
		return "";
	if (t->next.reading == READING_WRITES || t->rules->no_write_back) {
		reading_tell(t);
		return ": the reading is over";
	}
	t->next.reading = READING_WRITES;
	for (unsigned m = 0; m < t->rules->masters; m++)
		t->next.master[m].read = 0;
	return ": what was seen is written back";
}

static void
move_read(struct turn *t)
{
	bool writes = t->from->reading == READING_WRITES;
	for (unsigned m = 0; m < t->rules->masters; m++) {
		struct master *master = &t->next.master[m];
		if (master->memory != MEMORY_ADMITTED || master->read)
			continue;
		if (writes)
			master->set |= t->from->seen;
		else
			t->next.seen |= master->set;
		master->read = 1;
		const char *change = reading_settle(t);
		OFFER(t, "m%u %s%s", m + 1, writes ? "has what was seen" : "is read", change);
	}
	reading_end(t);
	OFFER(t, "the reading gives up");
}

static void
reader_moves(struct turn *t)
{
	if (t->from->reading != READING_NOT) {
		move_read(t);
		return;
	}
	t->next.reading = READING_ASKED;
	t->next.known = t->from->told;
	for (unsigned mark = 0; mark < t->rules->marks; mark++)
		t->next.acked |= (uint8_t)((t->from->marking[mark] == MARKING_DONE) << mark);
	OFFER(t, "a reading begins");
}

/* --- masters ----------------------------------------------------------------------------------------------
 */

static void
copy_end(struct turn *t)
{
	t->next.copy = 0;
	for (unsigned m = 0; m < t->rules->masters; m++)
		t->next.master[m].copied = 0;
}

static void
move_forget(struct turn *t, unsigned m)
{
	unsigned forgot = 1;
	for (unsigned other = 0; other < t->rules->masters; other++)
		forgot += other != m && t->from->master[other].memory != MEMORY_ADMITTED;
	if (!t->rules->forgetful || forgot + majority(t->rules) > t->rules->masters)
		return;
	for (unsigned set = 0; set <= t->from->master[m].set; set++) {
		if (set & ~(unsigned)t->from->master[m].set)
			continue;
		if (t->from->master[m].memory == MEMORY_COPYING)
			copy_end(t);
		t->next.master[m].set = (uint8_t)set;
		t->next.master[m].memory = MEMORY_GUARDED;
		OFFER(t, "m%u loses its memory%s", m + 1, set ? " in part" : "");
	}
}

/* No round is under way that counts what the master has forgotten. A reader's union only needs to have seen
 * it. */
static bool
guard_over(const struct turn *t, unsigned m)
{
	const struct master *master = &t->from->master[m];
	return master->confirms == 0 && !(master->read && t->from->reading == READING_WRITES);
}

static void
move_guarded(struct turn *t, unsigned m)
{
	bool over = guard_over(t, m);
	if (over && t->rules->copy == COPY_NONE) {
		t->next.master[m].memory = MEMORY_ADMITTED;
		OFFER(t, "m%u is admitted without a copy", m + 1);
		return;
	}
	for (unsigned other = 0; other < t->rules->masters; other++) {
		if (t->from->master[other].memory == MEMORY_COPYING)
			return;
	}
	if (!over && t->rules->copy != COPY_BEFORE_GUARD)
		return;
	t->next.master[m].memory = MEMORY_COPYING;
	OFFER(t, "%s, m%u asks others for a copy", over ? "the guard is over" : "the guard still runs",
		m + 1);
}

static void
move_copy(struct turn *t, unsigned m)
{
	unsigned copied = 0;
	for (unsigned other = 0; other < t->rules->masters; other++)
		copied += t->from->master[other].copied;
	if (copied >= t->rules->masters - majority(t->rules) + 1 - t->rules->copied_less) {
		if (!guard_over(t, m))
			return;
		t->next.master[m].set |= t->from->copy;
		t->next.master[m].memory = MEMORY_ADMITTED;
		copy_end(t);
		OFFER(t, "m%u has the copy and is admitted", m + 1);
		return;
	}
	for (unsigned other = 0; other < t->rules->masters; other++) {
		const struct master *was = &t->from->master[other];
		if (was->memory != MEMORY_ADMITTED || was->copied)
			continue;
		t->next.master[other].copied = 1;
		t->next.copy |= was->set;
		OFFER(t, "m%u's set is copied", other + 1);
	}
}

static void
master_moves(struct turn *t, unsigned m)
{
	move_forget(t, m);
	if (t->from->master[m].memory == MEMORY_GUARDED)
		move_guarded(t, m);
	if (t->from->master[m].memory == MEMORY_COPYING)
		move_copy(t, m);
}

/* --- the model --------------------------------------------------------------------------------------------
 */

static void
latch_begin(const void *rules, void *state)
{
	(void)rules;
	(void)state;
}

static void
latch_moves(const void *rules, unsigned depth, const void *state, struct explorer *ex)
{
	(void)depth;
	const struct latch_rules *r = rules;
	struct turn t = {.rules = r, .from = state, .ex = ex};
	t.next = *t.from;
	for (unsigned mark = 0; mark < r->marks; mark++)
		mark_moves(&t, mark);
	reader_moves(&t);
	for (unsigned m = 0; m < r->masters; m++)
		master_moves(&t, m);
}

static const char *
latch_broken(const void *rules, const void *state)
{
	(void)rules;
	switch ((enum harm)((const struct latch_state *)state)->harm) {
	case HARM_NONE:
		break;
	case HARM_LOST:
		return LOST;
	case HARM_BACKWARDS:
		return BACKWARDS;
	}
	return NULL;
}

/* The set with mark order[k] called k. */
static uint8_t
set_relabel(uint8_t set, const uint8_t *order)
{
	unsigned relabelled = 0;
	for (unsigned k = 0; k < MARKS_MAX; k++)
		relabelled |= (unsigned)(set >> order[k] & 1) << k;
	return (uint8_t)relabelled;
}

static void
latch_relabel(const struct latch_rules *rules, const struct latch_state *from, const uint8_t *order,
	struct latch_state *to)
{
	*to = *from;
	for (unsigned k = 0; k < MARKS_MAX; k++)
		to->marking[k] = from->marking[order[k]];
	for (unsigned m = 0; m < rules->masters; m++) {
		to->master[m].set = set_relabel(from->master[m].set, order);
		to->master[m].confirms = set_relabel(from->master[m].confirms, order);
	}
	to->copy = set_relabel(from->copy, order);
	to->seen = set_relabel(from->seen, order);
	to->acked = set_relabel(from->acked, order);
	to->known = set_relabel(from->known, order);
	to->told = set_relabel(from->told, order);
	explorer_sort(to->master, rules->masters, sizeof to->master[0]);
}

static void
latch_normalize(const void *rules, void *state)
{
	const struct latch_rules *r = rules;
	const struct latch_state from = *(const struct latch_state *)state;
	struct latch_state *least = state;
	struct latch_state other;
	uint8_t order[MARKS_MAX] = {0, 1, 2};

	latch_relabel(r, &from, order, least);
	while (explorer_permute(order, r->marks)) {
		latch_relabel(r, &from, order, &other);
		if (memcmp(&other, least, sizeof other) < 0)
			*least = other;
	}
}

enum landmark {
	LANDMARK_TOLD = 1,
	LANDMARK_COPIED = 2,
};

static unsigned
latch_landmark(const void *rules, const void *state)
{
	const struct latch_rules *r = rules;
	const struct latch_state *s = state;
	return (s->told == (1u << r->marks) - 1 ? LANDMARK_TOLD : 0) | (s->copy != 0 ? LANDMARK_COPIED : 0);
}

static unsigned
latch_landmarks_due(const void *rules)
{
	const struct latch_rules *r = rules;
	return LANDMARK_TOLD | (r->forgetful ? LANDMARK_COPIED : 0);
}

static const struct variant variants[] = {
#define LATCH(name, breaks, depth, rule, ...)                                                                \
	{name, breaks, rule, depth, &(const struct latch_rules){__VA_ARGS__}},
#include "tests/model/variants.def"
#undef LATCH
};

const struct model latch_model = {
	.name = "latch",
	.state_bytes = sizeof(struct latch_state),
	.begin = latch_begin,
	.moves = latch_moves,
	.broken = latch_broken,
	.normalize = latch_normalize,
	.landmark = latch_landmark,
	.landmarks_due = latch_landmarks_due,
	.landmarks = (const char *const[]){"every mark told of", "a copy"},
	.variants = variants,
	.variant_count = sizeof variants / sizeof variants[0],
};
