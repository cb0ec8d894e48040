/*
 * Maps: everything that was added is found by its number until it is removed, and nothing else.
 */
#include "daemon/core/base/map.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdint.h>

#define MANY 5000

static int entries[MANY];

static void *
entry_of(uint64_t id)
{
	return &entries[id % MANY];
}

START_TEST(an_empty_map_has_nothing)
{
	struct map map = {0};

	ck_assert_ptr_null(map_find(&map, 0));
	ck_assert_ptr_null(map_find(&map, 1));
	map_done(&map);
}
END_TEST

START_TEST(all_are_found_until_they_are_removed)
{
	struct map map = {0};

	for (uint64_t id = 1; id <= MANY; id++)
		ck_assert_int_eq(map_add(&map, id, entry_of(id)), 0);
	ck_assert_uint_eq(map.count, MANY);
	for (uint64_t id = 3; id <= MANY; id += 3)
		map_remove(&map, id, entry_of(id));
	for (uint64_t id = 0; id <= MANY + 1; id++) {
		bool there = id >= 1 && id <= MANY && id % 3 != 0;

		ck_assert_ptr_eq(map_find(&map, id), there ? entry_of(id) : NULL);
	}
	map_done(&map);
}
END_TEST

/* Numbers that share a slot push each other on, around the end of the table, too: whoever goes, the others
 * are found. */
START_TEST(those_that_share_a_slot_are_all_found)
{
	const uint64_t room = 64; /* of the smallest table */
	uint64_t ids[16], id = 0;
	size_t n = sizeof(ids) / sizeof(*ids);

	/* The last three slots: map.c takes the high bits of this product. */
	for (size_t i = 0; i < n; i++) {
		do {
			id++;
		} while ((id * UINT64_C(0x9e3779b97f4a7c15)) >> 58 != room - 1 - i % 3);
		ids[i] = id;
	}
	for (size_t gone = 0; gone < n; gone++) {
		struct map map = {0};

		for (size_t i = 0; i < n; i++)
			ck_assert_int_eq(map_add(&map, ids[i], entry_of(ids[i])), 0);
		ck_assert_uint_eq(map.room, room);
		map_remove(&map, ids[gone], entry_of(ids[gone]));
		for (size_t i = 0; i < n; i++)
			ck_assert_ptr_eq(map_find(&map, ids[i]), i == gone ? NULL : entry_of(ids[i]));
		map_done(&map);
	}
}
END_TEST

/* As a daemon has them: the oldest go, newer ones come, for long. */
START_TEST(numbers_may_go_on_for_ever)
{
	struct map map = {0};

	for (uint64_t id = 1; id <= 40 * MANY; id++) {
		ck_assert_int_eq(map_add(&map, id, entry_of(id)), 0);
		if (id > 100)
			map_remove(&map, id - 100, entry_of(id - 100));
		ck_assert_ptr_eq(map_find(&map, id), entry_of(id));
	}
	ck_assert_uint_eq(map.count, 100);
	ck_assert_uint_le(map.room, 256);
	map_done(&map);
}
END_TEST

static bool
is_entry(const void *entry, const void *what)
{
	return entry == what;
}

/* Two texts may have one hash: each is found by what it is, and stays when the other goes. */
START_TEST(entries_of_one_number_are_told_apart)
{
	struct map map = {0};

	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(map_add(&map, 7, &entries[i]), 0);
	for (size_t gone = 0; gone < 3; gone++) {
		map_remove(&map, 7, &entries[gone]);
		for (size_t i = 0; i < 3; i++)
			ck_assert_ptr_eq(
				map_search(&map, 7, is_entry, &entries[i]), i <= gone ? NULL : &entries[i]);
	}
	map_done(&map);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("map", NULL, NULL, an_empty_map_has_nothing, all_are_found_until_they_are_removed,
		those_that_share_a_slot_are_all_found, numbers_may_go_on_for_ever,
		entries_of_one_number_are_told_apart);
}
