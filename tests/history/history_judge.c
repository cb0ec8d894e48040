/*
 * history_judge: compares the holds of all clients: who was surely entitled at one time, tokens, order,
 * repeats, and what was told of a hold that had passed on.
 */
#include "tests/history/history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const history_rules[RULE_COUNT] = {
	"exclusion", "tokens", "answers", "re-entry", "deadlines", "losses", "arrival", "repeats", "latches"};

/* Up to here its holder may rely on it; at or before its start: it never could. */
int64_t
hold_sure_end(const struct hold *hold)
{
	return hold->end < hold->deadline ? hold->end : hold->deadline;
}

static bool
is_sure(const struct hold *hold)
{
	return hold_sure_end(hold) > hold->start;
}

static void
found_pair(struct history *h, enum history_rule rule, const struct hold *one, const struct hold *other,
	const char *what)
{
	const struct event *const lines[] = {
		one->asked, one->granted, one->ended, one->freed, other->asked, other->granted, other->ended};

	history_found(h, rule, lines, sizeof(lines) / sizeof(lines[0]), "%s: %s", other->name, what);
}

/* --- exclusion
 * ----------------------------------------------------------------------------------------------- */

/* Whether both may be held at one time, if there are permits enough. */
static bool
goes_with(const struct hold *one, const struct hold *other)
{
	return one->kind == other->kind && one->kind != 'x' && one->limit == other->limit;
}

/* The hold, and those that stand when it is granted. */
static void
judge_beside(struct history *h, const struct list *standing, const struct hold *hold)
{
	int64_t permits = hold->permits;
	bool against = false;

	for (size_t i = 0; i < standing->n; i++) {
		const struct hold *one = standing->at[i];
		permits += one->permits;
		if (goes_with(one, hold))
			continue;
		against = true;
		if (one->as != NULL && one->as == hold->as)
			found_pair(h, RULE_REPEATS, one, hold, "granted twice to one id");
		else
			found_pair(h, RULE_EXCLUSION, one, hold, "two holders at one time");
	}
	if (!against && permits > hold->limit)
		found_pair(h, RULE_EXCLUSION, standing->at[standing->n - 1], hold,
			"too many permits at one time");
}

/* holds: of a name, in the order of their grants. */
static void
judge_exclusion(struct history *h, struct hold **holds, size_t n)
{
	struct list standing = {0};

	for (size_t i = 0; i < n; i++) {
		size_t left = 0;
		if (!is_sure(holds[i]))
			continue;
		for (size_t k = 0; k < standing.n; k++) {
			if (hold_sure_end(standing.at[k]) > holds[i]->start)
				standing.at[left++] = standing.at[k];
		}
		standing.n = left;
		if (left > 0)
			judge_beside(h, &standing, holds[i]);
		list_add(&standing, holds[i]);
	}
	list_free(&standing, false);
}

/* --- tokens
 * -------------------------------------------------------------------------------------------------- */

typedef int64_t key_of(const struct hold *hold);

static int64_t
start_of(const struct hold *hold)
{
	return hold->start;
}

/* Its holder had it from its start until then: what UNLOCK answered as held was, also if its client was never
 * told for how long. */
static int64_t
held_end(const struct hold *hold)
{
	return is_sure(hold) || hold->freed == NULL ? hold_sure_end(hold) : hold->end;
}

static bool
was_held(const struct hold *hold)
{
	return held_end(hold) > hold->start;
}

static int64_t
wanted_of(const struct hold *hold)
{
	return hold->wanted;
}

static int64_t
token_of(const struct hold *hold)
{
	return hold->token;
}

static int
by_key(const void *a, const void *b, void *key)
{
	key_of *of = *(key_of **)key;
	int64_t one = of(*(struct hold *const *)a), other = of(*(struct hold *const *)b);

	return (one > other) - (one < other);
}

static void
sort(struct list *holds, key_of *key)
{
	if (holds->n > 0)
		qsort_r(holds->at, holds->n, sizeof(void *), by_key, &key);
}

static void
choose(struct list *into, struct hold **holds, size_t n, const char *kinds, bool known)
{
	into->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!holds[i]->shared && strchr(kinds, holds[i]->kind) != NULL &&
			(!known || was_held(holds[i])))
			list_add(into, holds[i]);
	}
}

static void
judge_repeated_tokens(struct history *h, struct hold **holds, size_t n)
{
	struct list all = {0};

	choose(&all, holds, n, "xsp", false);
	sort(&all, token_of);
	for (size_t i = 1; i < all.n; i++) {
		if (token_of(all.at[i - 1]) == token_of(all.at[i]))
			found_pair(h, RULE_TOKENS, all.at[i - 1], all.at[i], "a token is used twice");
	}
	list_free(&all, false);
}

/* For each of the kinds `late` the one of `early` with the greatest token that came before, if that is not
 * smaller. */
static void
judge_order(struct history *h, struct hold **holds, size_t n, const char *early, const char *late, bool known)
{
	key_of *since = known ? held_end : start_of, *until = known ? start_of : wanted_of;
	struct list before = {0}, after = {0};
	const struct hold *highest = NULL;
	size_t k = 0;

	choose(&before, holds, n, early, known);
	choose(&after, holds, n, late, known);
	sort(&before, since);
	sort(&after, until);
	for (size_t i = 0; i < after.n; i++) {
		const struct hold *hold = after.at[i];
		for (; k < before.n && since(before.at[k]) <= until(hold); k++) {
			if (highest == NULL || token_of(before.at[k]) > highest->token)
				highest = before.at[k];
		}
		if (highest != NULL && highest != hold && highest->token >= hold->token)
			found_pair(h, RULE_TOKENS, highest, hold,
				known ? "held after the other, by a token that is no greater"
				      : "asked for after the other was granted, and has a token that is no "
					"greater");
	}
	list_free(&before, false);
	list_free(&after, false);
}

static void
judge_tokens(struct history *h, struct hold **holds, size_t n)
{
	/* These are in the order of the grants. Readers of one time are in none, nor are permits. */
	static const char *const ordered[][2] = {{"xsp", "x"}, {"x", "sp"}, {"s", "p"}};

	judge_repeated_tokens(h, holds, n);
	for (size_t i = 0; i < sizeof(ordered) / sizeof(ordered[0]); i++) {
		judge_order(h, holds, n, ordered[i][0], ordered[i][1], false);
		judge_order(h, holds, n, ordered[i][0], ordered[i][1], true);
	}
}

/* --- losses, arrival
 * ----------------------------------------------------------------------------------------- */

/* A hold whose announced deadline is over may pass on. From then on its UNLOCK says that it was lost. */
static void
judge_losses(struct history *h, struct hold **holds, size_t n)
{
	struct list open = {0}; /* whose UNLOCK answered that they were held */

	for (size_t i = 0; i < n; i++) {
		size_t left = 0;
		for (size_t k = 0; k < open.n; k++) {
			struct hold *one = open.at[k];
			if (one->end <= holds[i]->start)
				continue;
			if (one->deadline <= holds[i]->start && one->token < holds[i]->token &&
				!goes_with(one, holds[i]))
				found_pair(h, RULE_LOSSES, one, holds[i],
					"given back as if it was held, after another had it");
			else
				open.at[left++] = one;
		}
		open.n = left;
		if (holds[i]->freed != NULL)
			list_add(&open, holds[i]);
	}
	list_free(&open, false);
}

/* Whether its client knew this long after it had passed on that it has nothing to do with it any more. */
static bool
told_in_time(const struct history *h, const struct hold *hold, int64_t passed)
{
	int64_t due = passed + h->late_ms * MS;

	return hold->ended != NULL ? hold->ended->at <= due : h->until <= due;
}

/* Whoever is connected, and need not ask, is told when another has it. */
static void
judge_untold(struct history *h, struct hold **holds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hold *one = holds[i];
		if (!one->heeded || told_in_time(h, one, one->deadline))
			continue;
		for (size_t k = i + 1; k < n; k++) {
			const struct hold *other = holds[k];
			if (other->start < one->deadline || other->token <= one->token ||
				goes_with(one, other))
				continue;
			if (!told_in_time(h, one, other->start))
				found_pair(h, RULE_LOSSES, one, other, "not told of its loss");
			break;
		}
	}
}

static bool
judged_by_arrival(const struct hold *hold)
{
	return hold->kind == 'x' && hold->plain && hold->as == NULL && hold->granted->client->daemon != NULL;
}

/* At each daemon: what was known to wait when another was asked for is granted before it. */
static void
judge_arrival(struct history *h, struct hold **holds, size_t n)
{
	struct list waited = {0}, asked = {0};

	for (size_t i = 0; i < n; i++) {
		if (judged_by_arrival(holds[i]))
			list_add(holds[i]->arrived != HISTORY_NEVER ? &waited : &asked, holds[i]);
	}
	for (size_t i = 0; i < waited.n; i++)
		list_add(&asked, waited.at[i]);
	for (size_t i = 0; i < waited.n; i++) {
		const struct hold *one = waited.at[i];
		for (size_t k = 0; k < asked.n; k++) {
			const struct hold *other = asked.at[k];
			if (one->arrived < other->wanted && other->token < one->token &&
				other->start > one->arrived &&
				one->granted->client->daemon == other->granted->client->daemon)
				found_pair(h, RULE_ARRIVAL, other, one, "overtaken while it waited");
		}
	}
	list_free(&waited, false);
	list_free(&asked, false);
}

/* --- repeats
 * ------------------------------------------------------------------------------------------------- */

/* The hold among these that was granted to the same id by the same token; NULL: there is none. */
static struct hold *
same_of_id(struct hold **holds, size_t n, const struct hold *hold)
{
	for (size_t i = 0; hold->as != NULL && i < n; i++) {
		if (holds[i]->as == hold->as && holds[i]->token == hold->token)
			return holds[i];
	}
	return NULL;
}

/* Grants of one token to one id are one hold, whoever read them. */
static size_t
join_repeats(struct hold **holds, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		struct hold *one = holds[i], *first = same_of_id(holds, left, one);
		if (first == NULL) {
			holds[left++] = one;
			continue;
		}
		first->deadline = one->deadline > first->deadline ? one->deadline : first->deadline;
		first->wanted = one->wanted < first->wanted ? one->wanted : first->wanted;
		if (one->end < first->end) {
			first->end = one->end;
			first->ended = one->ended;
			first->freed = one->freed;
		}
		first->over |= one->over;
	}
	return left;
}

/* An id's UNLOCK ends its hold, whichever client sends it. */
static void
give_back(const struct history *h, struct hold **holds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; holds[i]->as != NULL && k < h->given.n; k++) {
			const struct given *given = h->given.at[k];
			if (given->asked->as != holds[i]->as || given->asked->args[0] != holds[i]->name ||
				given->token != holds[i]->token || given->asked->at >= holds[i]->end)
				continue;
			holds[i]->end = given->asked->at;
			holds[i]->ended = given->asked;
			holds[i]->over = true;
		}
	}
}

/* --- all
 * ----------------------------------------------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	const struct hold *one = *(struct hold *const *)a, *other = *(struct hold *const *)b;
	int order = strcmp(one->name, other->name);

	return order != 0 ? order : (one->start > other->start) - (one->start < other->start);
}

static void
judge_name(struct history *h, struct hold **holds, size_t n)
{
	size_t left = 0;

	n = join_repeats(holds, n);
	give_back(h, holds, n);
	/* What a running client did after it was read can only end its hold sooner: until then nothing is
	 * known. */
	for (size_t i = 0; i < n; i++) {
		if (holds[i]->over || h->running == HISTORY_NEVER)
			holds[left++] = holds[i];
	}
	judge_exclusion(h, holds, left);
	judge_tokens(h, holds, left);
	judge_losses(h, holds, left);
	judge_untold(h, holds, left);
	judge_arrival(h, holds, left);
}

static void
judge_holds(struct history *h)
{
	struct list holds = {0};

	for (size_t i = 0; i < h->holds.n; i++)
		list_add(&holds, h->holds.at[i]);
	if (holds.n > 0)
		qsort(holds.at, holds.n, sizeof(void *), by_name);
	for (size_t from = 0, to; from < holds.n; from = to) {
		const char *name = ((struct hold *)holds.at[from])->name;
		for (to = from; to < holds.n && ((struct hold *)holds.at[to])->name == name; to++)
			;
		judge_name(h, (struct hold **)holds.at + from, to - from);
	}
	list_free(&holds, false);
}

/* What has no answer in the end, and should have one. */
static void
judge_missing(struct history *h, const struct question *question)
{
	if (h->running == HISTORY_NEVER && question->asked != NULL &&
		h->until - question->asked->at > (question->wait_ms + h->late_ms) * MS)
		history_found(h, RULE_ANSWERS, &question->asked, 1, "no answer came");
}

void
history_judge(struct history *h, history_report *report, void *context)
{
	h->report = report;
	h->context = context;
	for (size_t i = 0; i < h->clients.n; i++) {
		struct client *c = h->clients.at[i];
		for (size_t k = 0; k < c->events.n; k++) {
			const struct event *e = c->events.at[k];
			e->word->follow(c, e);
		}
		judge_missing(h, &c->question);
		for (size_t k = 0; k < c->waits.n; k++)
			judge_missing(h, &((struct wait *)c->waits.at[k])->question);
	}
	judge_holds(h);
	history_latches(h);
}
