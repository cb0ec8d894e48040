/*
 * Tests of daemon/admin/ranked.h: of many locks the first ones, whatever the order in which they come.
 */
#include "daemon/admin/ranked.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rank
rank_of(unsigned draw)
{
	return (struct rank){draw % 3 == 0 ? (int64_t)(draw / 3 % 40) : INT64_MAX, (int64_t)(draw % 1009)};
}

static int
rank_compare(const void *a, const void *b)
{
	const struct rank *left = a, *right = b;

	return rank_before(left, right) ? -1 : rank_before(right, left);
}

/* So many of them, in an order that a seed gives; the texts are the ranks. */
static void
check_first(size_t most, size_t count, unsigned seed)
{
	struct ranked *ranked = ranked_new(most);
	struct rank *all = calloc(count, sizeof(*all));
	size_t told = 0;

	ck_assert(ranked != NULL && all != NULL);
	for (size_t i = 0; i < count; i++) {
		char text[64];

		seed = seed * 1664525U + 1013904223U;
		all[i] = rank_of(seed >> 8);
		(void)snprintf(text, sizeof(text), "%lld %lld", (long long)all[i].waits_ms,
			(long long)all[i].held_ms);
		ck_assert(ranked_add(ranked, &all[i], slice_of(text)));
		ck_assert_int_eq(ranked_last(ranked) != NULL, i + 1 >= most);
	}
	qsort(all, count, sizeof(*all), rank_compare);
	ranked_close(ranked);
	for (struct slice text; (text = ranked_next(ranked)).n > 0; told++) {
		char wanted[64];

		(void)snprintf(wanted, sizeof(wanted), "%lld %lld", (long long)all[told].waits_ms,
			(long long)all[told].held_ms);
		ck_assert(slice_equal(text, slice_of(wanted)));
	}
	ck_assert_uint_eq(told, count < most ? count : most);
	free(all);
	ranked_free(ranked);
}

START_TEST(the_first_ones_are_kept_and_told_in_order)
{
	check_first(1, 100, 1);
	check_first(7, 6, 2);
	check_first(50, 50, 3);
	for (unsigned seed = 4; seed < 12; seed++) {
		check_first(200, 3000, seed);
	}
}
END_TEST

/* Long texts: fewer are kept, and they are the first ones. */
START_TEST(of_long_texts_fewer_are_kept)
{
	static char text[RANKED_BYTES / 4];
	struct ranked *ranked = ranked_new(100);
	size_t told = 0;

	ck_assert(ranked != NULL);
	memset(text, 'x', sizeof(text));
	for (int64_t i = 0; i < 20; i++) {
		const struct rank rank = {INT64_MAX, 100 - i};

		text[0] = (char)('a' + i);
		ck_assert(ranked_add(ranked, &rank, (struct slice){text, sizeof(text)}));
	}
	ranked_close(ranked);
	for (struct slice one; (one = ranked_next(ranked)).n > 0; told++) {
		ck_assert_int_eq(one.p[0], (char)('a' + 19 - (int)told));
	}
	ck_assert_uint_eq(told, 4);
	ranked_free(ranked);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("ranked", NULL, NULL, the_first_ones_are_kept_and_told_in_order,
		of_long_texts_fewer_are_kept);
}
