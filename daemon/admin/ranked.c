/*
 * ranked: see ranked.h.
 */
#include "daemon/admin/ranked.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct one {
	struct rank rank;
	char *text;
	size_t n;
};

struct ranked {
	size_t most;
	size_t n;
	size_t bytes;
	bool closed;
	size_t next;
	struct one list[]; /* a heap, and sorted when closed */
};

struct ranked *
ranked_new(size_t most)
{
	most = most < RANKED_MOST ? most : RANKED_MOST;
	struct ranked *ranked = calloc(1, sizeof *ranked + most * sizeof ranked->list[0]);
	if (ranked) {
		ranked->most = most;
	}
	return ranked;
}

void
ranked_free(struct ranked *ranked)
{
	for (size_t i = 0; ranked && i < ranked->n; i++) {
		free(ranked->list[i].text);
	}
	free(ranked);
}

bool
rank_before(const struct rank *a, const struct rank *b)
{
	return a->waits_ms != b->waits_ms ? a->waits_ms < b->waits_ms : a->held_ms < b->held_ms;
}

const struct rank *
ranked_last(const struct ranked *ranked)
{
	bool full = ranked->n > 0 && (ranked->n == ranked->most || ranked->bytes >= RANKED_BYTES);
	return full ? &ranked->list[0].rank : NULL;
}

static void
ranked_swap(struct ranked *ranked, size_t a, size_t b)
{
	struct one one = ranked->list[a];
	ranked->list[a] = ranked->list[b];
	ranked->list[b] = one;
}

/* No child comes after its parent. */
static void
ranked_raise(struct ranked *ranked, size_t at)
{
	while (at > 0 && rank_before(&ranked->list[(at - 1) / 2].rank, &ranked->list[at].rank)) {
		ranked_swap(ranked, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void
ranked_sink(struct ranked *ranked)
{
	for (size_t at = 0, child = 1; child < ranked->n; at = child, child = 2 * at + 1) {
		if (child + 1 < ranked->n &&
			rank_before(&ranked->list[child].rank, &ranked->list[child + 1].rank)) {
			child++;
		}
		if (!rank_before(&ranked->list[at].rank, &ranked->list[child].rank)) {
			return;
		}
		ranked_swap(ranked, at, child);
	}
}

static void
ranked_drop(struct ranked *ranked)
{
	assert(ranked->n > 0);
	ranked->bytes -= ranked->list[0].n;
	free(ranked->list[0].text);
	ranked->list[0] = ranked->list[--ranked->n];
	ranked_sink(ranked);
}

bool
ranked_add(struct ranked *ranked, const struct rank *rank, struct slice text)
{
	const struct rank *last = ranked_last(ranked);
	assert(!ranked->closed);
	if (ranked->most == 0 || (last && !rank_before(rank, last))) {
		return true;
	}
	char *copy = malloc(text.n + 1);
	if (!copy) {
		return false;
	}
	slice_text(copy, text.n + 1, text);
	if (ranked->n == ranked->most) {
		ranked_drop(ranked);
	}
	ranked->list[ranked->n] = (struct one){*rank, copy, text.n};
	ranked->bytes += text.n;
	ranked_raise(ranked, ranked->n++);
	while (ranked->n > 1 && ranked->bytes > RANKED_BYTES) {
		ranked_drop(ranked);
	}
	return true;
}

static int
one_compare(const void *a, const void *b)
{
	const struct rank *left = &((const struct one *)a)->rank, *right = &((const struct one *)b)->rank;
	return rank_before(left, right) ? -1 : rank_before(right, left);
}

void
ranked_close(struct ranked *ranked)
{
	ranked->closed = true;
	if (ranked->n > 0) {
		qsort(ranked->list, ranked->n, sizeof ranked->list[0], one_compare);
	}
}

bool
ranked_closed(const struct ranked *ranked)
{
	return ranked->closed;
}

struct slice
ranked_at(const struct ranked *ranked, size_t i)
{
	return i < ranked->n ? (struct slice){ranked->list[i].text, ranked->list[i].n} : (struct slice){0};
}

struct slice
ranked_next(struct ranked *ranked)
{
	assert(ranked->closed);
	struct slice text = ranked_at(ranked, ranked->next);
	ranked->next += text.n > 0;
	return text;
}
