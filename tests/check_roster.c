/*
 * Rosters: everything that was added is found by its number until it is removed, and nothing else.
 */
#include "daemon/core/map.h"
#include "tests/support/suite.h"

#include <stdbool.h>

#define MANY 5000

static int entries[MANY];

static void *
entry_of(conn_id id)
{
	return &entries[id % MANY];
}

START_TEST(an_empty_roster_has_nobody)
{
	struct roster roster = {0};

	ck_assert_ptr_null(roster_find(&roster, 0));
	ck_assert_ptr_null(roster_find(&roster, 1));
	roster_done(&roster);
}
END_TEST

START_TEST(all_are_found_until_they_are_removed)
{
	struct roster roster = {0};

	for (conn_id id = 1; id <= MANY; id++)
		ck_assert_int_eq(roster_add(&roster, id, entry_of(id)), 0);
	ck_assert_uint_eq(roster.count, MANY);
	for (conn_id id = 3; id <= MANY; id += 3)
		roster_remove(&roster, id);
	for (conn_id id = 0; id <= MANY + 1; id++) {
		bool there = id >= 1 && id <= MANY && id % 3 != 0;

		ck_assert_ptr_eq(roster_find(&roster, id), there ? entry_of(id) : NULL);
	}
	roster_done(&roster);
}
END_TEST

/* Numbers that share a place push each other on, around the end of the table, too: whoever goes, the others
 * are found. */
START_TEST(those_that_share_a_place_are_all_found)
{
	const conn_id stride = 64; /* of the smallest table */
	conn_id ids[16];
	size_t n = sizeof(ids) / sizeof(*ids);

	for (size_t gone = 0; gone < n; gone++) {
		struct roster roster = {0};

		for (size_t i = 0; i < n; i++) {
			ids[i] = (i + 1) * stride - 1 - i % 3;
			ck_assert_int_eq(roster_add(&roster, ids[i], entry_of(ids[i])), 0);
		}
		ck_assert_uint_eq(roster.room, stride);
		roster_remove(&roster, ids[gone]);
		for (size_t i = 0; i < n; i++)
			ck_assert_ptr_eq(roster_find(&roster, ids[i]), i == gone ? NULL : entry_of(ids[i]));
		roster_done(&roster);
	}
}
END_TEST

/* As a daemon has them: the oldest go, newer ones come, for long. */
START_TEST(numbers_may_go_on_for_ever)
{
	struct roster roster = {0};

	for (conn_id id = 1; id <= 40 * MANY; id++) {
		ck_assert_int_eq(roster_add(&roster, id, entry_of(id)), 0);
		if (id > 100)
			roster_remove(&roster, id - 100);
		ck_assert_ptr_eq(roster_find(&roster, id), entry_of(id));
	}
	ck_assert_uint_eq(roster.count, 100);
	ck_assert_uint_le(roster.room, 256);
	roster_done(&roster);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("roster", NULL, NULL, an_empty_roster_has_nobody,
		all_are_found_until_they_are_removed, those_that_share_a_place_are_all_found,
		numbers_may_go_on_for_ever);
}
