/*
 * history_latch: a latch is made once, only counts down, once for each session and tag, and opens for good.
 *
 * Of a master that forgets, the latch is made again, and answers have to be told apart. So every SET of a
 * name has a number of its own, a multiple of UNIT, and all steps of a name but those that open it are fewer
 * than UNIT: an answer above 0 says to which SET it belongs, its life. What was answered before another
 * question was sent came first.
 */
#include "tests/history/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 1000

struct latches {
	struct history *history;
	struct latch **all; /* of one name, in the order in which they were asked */
	size_t n;
	struct list downs; /* in the order of who counts down */
};

/* The steps of the SET that it is about; 0: the answer does not say. */
static int64_t
life_of(const struct latch *one)
{
	return one->made ? one->steps : one->left > 0 ? (one->left + UNIT - 1) / UNIT * UNIT : 0;
}

static void
found(const struct latches *l, const struct latch *before, const struct latch *one, const char *what)
{
	const struct event *const lines[] = {before != NULL ? before->asked : NULL,
		before != NULL ? before->answered : NULL, one->asked, one->answered};

	history_found(l->history, RULE_LATCHES, lines, 4, "%s: %s", one->name, what);
}

static bool
harmed(const struct history *h, int64_t since, int64_t until)
{
	for (size_t i = 0; i < h->harms.n; i++) {
		const struct harm *harm = h->harms.at[i];
		if (harm->from <= until && harm->to >= since)
			return true;
	}
	return false;
}

static void
judge_made(const struct latches *l)
{
	const struct latch *before = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct latch *one = l->all[i];
		if (!one->made)
			continue;
		if (before != NULL && !harmed(l->history, before->start, one->end))
			found(l, before, one, "made twice");
		before = one;
	}
}

/* What is open stays open, unless it was forgotten and made again. */
static void
judge_opened(const struct latches *l)
{
	const struct latch *open = NULL;

	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i]->left == 0 && (open == NULL || l->all[i]->end < open->end))
			open = l->all[i];
	}
	for (size_t i = 0; i < l->n && open != NULL; i++) {
		const struct latch *one = l->all[i];
		if (one->start >= open->end && one->left > 0 &&
			!harmed(l->history, l->all[0]->start, one->end))
			found(l, open, one, "closed again");
	}
}

/* All steps that were asked for until then, of each session and tag the most that it said; those of a life
 * only: that were answered by then. */
static int64_t
steps_until(const struct latches *l, int64_t until, int64_t life)
{
	int64_t sum = 0, most = 0;
	const char *who = NULL;

	for (size_t i = 0; i < l->downs.n; i++) {
		const struct latch *one = l->downs.at[i];
		if (who == NULL || strcmp(who, one->who) != 0) {
			sum += most;
			most = 0;
			who = one->who;
		}
		if ((life == 0 ? one->start <= until : one->end <= until && life_of(one) == life) &&
			one->steps > most)
			most = one->steps;
	}
	return sum + most;
}

/* The first question that set it so; NULL: none. */
static const struct latch *
set_of(const struct latches *l, int64_t life)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i]->set && l->all[i]->steps == life)
			return l->all[i];
	}
	return NULL;
}

/* Of one life: fewer were left in an earlier answer, or other ones than were counted. */
static void
judge_count(const struct latches *l, const struct latch *one)
{
	int64_t life = life_of(one);
	const struct latch *set = set_of(l, life), *fewest = NULL;

	if (set == NULL || set->start > one->end) {
		found(l, set, one, "it was never set so");
		if (set == NULL)
			return;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct latch *other = l->all[i];
		if (other->left > 0 && life_of(other) == life && other->end <= one->start &&
			(fewest == NULL || other->left < fewest->left))
			fewest = other;
	}
	if (fewest != NULL && one->left > fewest->left)
		found(l, fewest, one, "more are left than before");
	if (one->left < life - steps_until(l, one->end, 0) ||
		one->left > life - steps_until(l, one->start, life))
		found(l, NULL, one, "other steps are done than were asked for");
}

/* A life that another had taken the place of is there again. */
static void
judge_come_back(const struct latches *l, int64_t life)
{
	int64_t first = HISTORY_NEVER;
	const struct latch *other = NULL;

	for (size_t i = 0; i < l->n; i++) {
		if (life_of(l->all[i]) == life && l->all[i]->end < first)
			first = l->all[i]->end;
	}
	for (size_t i = 0; i < l->n; i++) {
		int64_t its = life_of(l->all[i]);
		if (its != 0 && its != life && l->all[i]->start >= first &&
			(other == NULL || l->all[i]->end < other->end))
			other = l->all[i];
	}
	for (size_t i = 0; i < l->n && other != NULL; i++) {
		if (life_of(l->all[i]) == life && l->all[i]->start >= other->end) {
			found(l, other, l->all[i], "come back");
			return;
		}
	}
}

static void
judge_early(const struct latches *l, const struct latch *one)
{
	int64_t asked_for = steps_until(l, one->end, 0);

	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i]->set && l->all[i]->start <= one->end && l->all[i]->steps <= asked_for)
			return;
	}
	found(l, NULL, one, "open too early");
}

static int
by_who(const void *a, const void *b)
{
	return strcmp((*(struct latch *const *)a)->who, (*(struct latch *const *)b)->who);
}

static int
by_name(const void *a, const void *b)
{
	const struct latch *one = *(struct latch *const *)a, *other = *(struct latch *const *)b;
	int order = strcmp(one->name, other->name);

	return order != 0 ? order : (one->start > other->start) - (one->start < other->start);
}

static void
judge_latch(struct latches *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i]->who != NULL)
			list_add(&l->downs, l->all[i]);
	}
	if (l->downs.n > 0)
		qsort(l->downs.at, l->downs.n, sizeof(void *), by_who);
	judge_made(l);
	judge_opened(l);
	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i]->left > 0)
			judge_count(l, l->all[i]);
		else if (l->all[i]->left == 0)
			judge_early(l, l->all[i]);
		if (l->all[i]->set && set_of(l, l->all[i]->steps) == l->all[i])
			judge_come_back(l, l->all[i]->steps);
	}
	list_free(&l->downs, false);
}

void
history_latches(struct history *h)
{
	struct list *all = &h->latches;

	if (all->n > 0)
		qsort(all->at, all->n, sizeof(void *), by_name);
	for (size_t from = 0, to; from < all->n; from = to) {
		struct latches l = {.history = h, .all = (struct latch **)all->at + from};
		for (to = from; to < all->n && ((struct latch *)all->at[to])->name == l.all[0]->name; to++)
			;
		l.n = to - from;
		judge_latch(&l);
	}
}
