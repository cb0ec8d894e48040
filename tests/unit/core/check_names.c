/*
 * The table of names, against what it should have in it.
 */
#include "daemon/core/lease/names.h"
#include "daemon/core/lease/resource.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 20000

/* Names by number, and which of them should be there. */
struct model {
	struct names names;
	struct resource *all[MANY];
	bool there[MANY];
	unsigned seen[MANY];
	uint32_t seed;
};

static struct resource *
resource_of(const char *text)
{
	size_t n = strlen(text);
	struct resource *r = calloc(1, sizeof(*r) + n);

	ck_assert_ptr_nonnull(r);
	r->name_at = sizeof(*r);
	r->name_n = n & 1023;
	memcpy((char *)r + r->name_at, text, n);
	return r;
}

static void
add(struct names *names, struct resource *r)
{
	r->hash = names_hash(names, resource_name(r));
	names_add(names, r);
}

static struct model *
model_new(void)
{
	struct model *m = calloc(1, sizeof(*m));
	char text[32];

	ck_assert_ptr_nonnull(m);
	names_init(&m->names, (const uint64_t[2]){1, 2});
	for (size_t i = 0; i < MANY; i++) {
		(void)snprintf(text, sizeof(text), "name:%zu", i);
		m->all[i] = resource_of(text);
	}
	return m;
}

static void
model_set(struct model *m, size_t i, bool there)
{
	if (there && !m->there[i])
		add(&m->names, m->all[i]);
	if (!there && m->there[i])
		names_remove(&m->names, m->all[i]);
	m->there[i] = there;
}

static void
model_free(struct model *m)
{
	for (size_t i = 0; i < MANY; i++) {
		model_set(m, i, false);
		free(m->all[i]);
	}
	names_done(&m->names);
	free(m);
}

/* Each is found by its name or not at all, and met once on the way through all of them. */
static void
model_check(struct model *m)
{
	size_t count = 0;

	memset(m->seen, 0, sizeof(m->seen));
	for (const struct resource *r = names_first(&m->names); r != NULL; r = names_next(&m->names, r)) {
		struct slice name = resource_name(r);

		m->seen[strtoul(name.p + strlen("name:"), NULL, 10)]++;
	}
	for (size_t i = 0; i < MANY; i++) {
		struct resource *found = names_find(&m->names, resource_name(m->all[i]));

		ck_assert_ptr_eq(found, m->there[i] ? m->all[i] : NULL);
		ck_assert_uint_eq(m->seen[i], m->there[i]);
		count += m->there[i];
	}
	ck_assert_uint_eq(m->names.count, count);
}

static uint32_t
model_draw(struct model *m, uint32_t below)
{
	m->seed = m->seed * 1664525U + 1013904223U;
	return (m->seed >> 8) % below;
}

START_TEST(names_that_come_and_go_are_found_while_they_are_there)
{
	struct model *m = model_new();

	model_check(m);
	for (int round = 1; round <= 8; round++) {
		for (size_t i = 0; i < MANY; i++)
			model_set(m, model_draw(m, MANY), model_draw(m, 8) >= (uint32_t)round - 1);
		model_check(m);
	}
	model_free(m);
}
END_TEST

START_TEST(each_name_adds_one_chain_at_most_and_chains_stay_short)
{
	struct model *m = model_new();

	for (size_t i = 0; i < MANY; i++) {
		uint32_t before = m->names.n;

		model_set(m, i, true);
		ck_assert_uint_le(m->names.n, before + 1);
		ck_assert_uint_le(m->names.count, (size_t)NAMES_PER_CHAIN * (m->names.n + 1));
	}
	model_check(m);
	model_free(m);
}
END_TEST

START_TEST(chains_go_again_one_by_one_when_there_are_few_names)
{
	struct model *m = model_new();
	uint32_t least = m->names.n, most;

	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	most = m->names.n;
	for (size_t i = 100; i < MANY; i++)
		model_set(m, i, false);
	ck_assert_uint_eq(m->names.n, most);
	for (size_t i = 0; i < MANY; i++) {
		uint32_t before = m->names.n;

		model_set(m, 100, true);
		ck_assert_uint_ge(m->names.n + 1, before);
		if (i % 1000 == 0)
			model_check(m);
		model_set(m, 100, false);
	}
	ck_assert_uint_lt(m->names.n, 101 * NAMES_SPARE + NAMES_SPARE);
	ck_assert_uint_ge(m->names.n, least);
	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	model_check(m);
	model_free(m);
}
END_TEST

static bool
model_meet(void *arg, struct resource *r)
{
	struct model *m = arg;
	struct slice name = resource_name(r);

	m->seen[strtoul(name.p + strlen("name:"), NULL, 10)]++;
	return true;
}

/* A scan, with some names that come and some that go behind each part, so that there are in the end about as
 * many as wanted. A third of the names is left as it is. */
static void
model_scan(struct model *m, uint32_t wanted)
{
	scan_cursor cursor = 0;

	memset(m->seen, 0, sizeof(m->seen));
	do {
		cursor = names_scan(&m->names, cursor, 1, model_meet, m);
		for (int i = 0; i < 8; i++) {
			uint32_t name = model_draw(m, MANY);

			if (name % 3 != 0)
				model_set(m, name, model_draw(m, MANY) < wanted);
		}
	} while (cursor != 0);
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_uint_le(m->seen[i], 1);
		if (i % 3 == 0)
			ck_assert_uint_eq(m->seen[i], m->there[i]);
	}
}

START_TEST(a_scan_in_parts_meets_who_stays_once_and_nobody_twice)
{
	struct model *m = model_new();

	for (size_t i = 0; i < 200; i++)
		model_set(m, i, true);
	/* As the table grows and grows, and as it becomes smaller again. */
	for (uint32_t round = 0; round < 12; round++)
		model_scan(m, round < 6 ? MANY : 0);
	for (size_t i = 0; i < MANY; i += 3)
		model_set(m, i, true);
	for (uint32_t round = 0; round < 12; round++)
		model_scan(m, round % 2 == 0 ? MANY : 0);
	for (size_t i = 300; i < MANY; i++)
		model_set(m, i, false);
	for (uint32_t round = 0; round < 12; round++)
		model_scan(m, 10);
	model_check(m);
	model_free(m);
}
END_TEST

static bool
model_meet_one(void *arg, struct resource *r)
{
	(void)model_meet(arg, r);
	return false;
}

START_TEST(a_scan_ends_with_the_chain_in_which_it_is_enough)
{
	struct model *m = model_new();
	scan_cursor cursor = 0;
	size_t parts = 0, met = 0;

	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	memset(m->seen, 0, sizeof(m->seen));
	do {
		cursor = names_scan(&m->names, cursor, SIZE_MAX, model_meet_one, m);
		parts++;
	} while (cursor != 0);
	for (size_t i = 0; i < MANY; i++)
		met += m->seen[i];
	ck_assert_uint_eq(met, MANY);
	ck_assert_uint_gt(parts, MANY / 3);
	model_free(m);
}
END_TEST

START_TEST(a_scan_meets_nobody_twice_when_chains_that_it_has_met_go_into_others)
{
	struct model *m = model_new();
	scan_cursor cursor = 0;
	size_t met = 0, few = 0;

	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	memset(m->seen, 0, sizeof(m->seen));
	/* Half of a chain that there will be then. */
	while (cursor < UINT32_C(1) << 23)
		cursor = names_scan(&m->names, cursor, 1, model_meet, m);
	for (size_t i = 0; i < MANY; i++) {
		met += m->seen[i];
		if (m->seen[i] == 0)
			model_set(m, i, false);
	}
	ck_assert_uint_gt(met, 10);
	for (size_t i = 0; i < 2 * (size_t)MANY; i++) {
		model_set(m, MANY - 1, true);
		model_set(m, MANY - 1, false);
	}
	do
		cursor = names_scan(&m->names, cursor, 1, model_meet, m);
	while (cursor != 0);
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_uint_le(m->seen[i], 1);
		few += m->there[i];
	}
	ck_assert_uint_ge(few, met - 1);
	ck_assert_uint_lt(m->names.n, 256);
	model_free(m);
}
END_TEST

START_TEST(any_number_is_a_cursor_and_a_part_is_short)
{
	struct model *m = model_new();

	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	for (int i = 0; i < 1000; i++) {
		scan_cursor cursor = model_draw(m, UINT32_MAX), next;
		size_t met = 0;

		memset(m->seen, 0, sizeof(m->seen));
		next = names_scan(&m->names, cursor, 1, model_meet, m);
		for (size_t name = 0; name < MANY; name++)
			met += m->seen[name];
		ck_assert(next > cursor || next == 0);
		ck_assert_uint_le(met, 20);
	}
	model_free(m);
}
END_TEST

START_TEST(all_can_be_removed_on_the_way_through_them)
{
	struct model *m = model_new();
	struct resource *r, *next;

	for (size_t i = 0; i < MANY; i++)
		model_set(m, i, true);
	for (r = names_first(&m->names); r != NULL; r = next) {
		next = names_next(&m->names, r);
		names_remove(&m->names, r);
	}
	memset(m->there, 0, sizeof(m->there));
	model_check(m);
	model_free(m);
}
END_TEST

START_TEST(a_name_is_told_from_one_that_it_begins_with)
{
	struct resource *longer = resource_of("name"), *shorter = resource_of("nam"), *none = resource_of("");
	struct names names;

	names_init(&names, (const uint64_t[2]){3, 4});
	add(&names, longer);
	add(&names, none);
	ck_assert_ptr_null(names_find(&names, resource_name(shorter)));
	add(&names, shorter);
	ck_assert_ptr_eq(names_find(&names, resource_name(longer)), longer);
	ck_assert_ptr_eq(names_find(&names, resource_name(shorter)), shorter);
	ck_assert_ptr_eq(names_find(&names, resource_name(none)), none);
	names_remove(&names, longer);
	names_remove(&names, shorter);
	names_remove(&names, none);
	names_done(&names);
	free(longer);
	free(shorter);
	free(none);
}
END_TEST
int
main(void)
{
	return SUITE_RUN("names", NULL, NULL, names_that_come_and_go_are_found_while_they_are_there,
		each_name_adds_one_chain_at_most_and_chains_stay_short,
		chains_go_again_one_by_one_when_there_are_few_names,
		a_scan_in_parts_meets_who_stays_once_and_nobody_twice,
		a_scan_ends_with_the_chain_in_which_it_is_enough,
		a_scan_meets_nobody_twice_when_chains_that_it_has_met_go_into_others,
		any_number_is_a_cursor_and_a_part_is_short, all_can_be_removed_on_the_way_through_them,
		a_name_is_told_from_one_that_it_begins_with);
}
