/*
 * check_history: the holds that have ended, in a ring of bytes. Whatever comes, each name has its latest
 * holds without a gap, and of all names together as many are kept as fit.
 */
#include "daemon/admin/history.h"
#include "proto/buffer.h"
#include "proto/record.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 5
#define HOLDS 3000
#define ENTRY 88   /* bytes of a hold, at least */
#define LOOSE 1024 /* bytes that may be lost at the end of the ring, and to rounding */

static struct history *h;
static int64_t tokens[NAMES][HOLDS]; /* the holds of each name, in their order */
static size_t counts[NAMES];
static uint32_t seed;

static uint32_t
draw(uint32_t below)
{
	seed = seed * 1664525U + 1013904223U;
	return (seed >> 8) % below;
}

static struct slice
name_of(size_t i)
{
	static const char *const names[NAMES] = {"a", "b", "a-name", "another/name/that/is/longer", "e"};

	return slice_of(names[i]);
}

static void
ends(size_t name, int64_t token, enum note_type type, int64_t span_ms, const char *text, size_t why_n)
{
	static const char why[256] = {0};
	static const struct peer peer = {.pid = 7, .uid = 8, .address = "unix", .name = "client"};

	history_note(h,
		&(struct note){.type = type,
			.peer = &peer,
			.name = name_of(name),
			.token = token,
			.kind = KIND_EXCLUSIVE,
			.span_ms = span_ms,
			.why = {why, why_n},
			.text = text},
		1);
}

struct seen {
	size_t name, count;
	const char *end; /* of the first one */
};

static bool
see(void *arg, const struct past_hold *hold)
{
	struct seen *seen = arg;

	ck_assert(slice_equal(hold->name, name_of(seen->name)));
	ck_assert_uint_lt(seen->count, counts[seen->name]);
	ck_assert_int_eq(hold->token, tokens[seen->name][counts[seen->name] - 1 - seen->count]);
	ck_assert_int_eq(hold->pid, 7);
	ck_assert(slice_equal(hold->client, SLICE("client")));
	if (seen->count == 0 && seen->end != NULL)
		ck_assert(slice_equal(hold->end, slice_of(seen->end)));
	seen->count++;
	return true;
}

/* The latest hold was broken by arg. */
static bool
see_breaker(void *arg, const struct past_hold *hold)
{
	ck_assert(slice_equal(hold->broken_by, slice_of(arg)));
	return false;
}

/* How many of the name are remembered: the latest ones. */
static size_t
remembered(size_t name, const char *end)
{
	struct seen seen = {name, 0, end};

	history_each(h, name_of(name), see, &seen);
	return seen.count;
}

static size_t
all_remembered(void)
{
	size_t n = 0;

	for (size_t i = 0; i < NAMES; i++)
		n += remembered(i, NULL);
	return n;
}

static void
many_end(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t name = draw(NAMES);
		int64_t token = tokens[name][counts[name]] = 1 + (int64_t)draw(1U << 20);

		counts[name]++;
		ends(name, token, NOTE_RELEASED, 5, NULL, draw(3) == 0 ? draw(256) : 0);
	}
}

static void
begin(void)
{
	seed = 4711;
	memset(counts, 0, sizeof(counts));
	h = NULL;
}

static void
end(void)
{
	history_free(h);
}

START_TEST(each_name_has_its_latest_holds)
{
	static const size_t sizes[] = {600, 1000, 1024, 4096, 65536};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		begin();
		h = history_new(sizes[s]);
		ck_assert_ptr_nonnull(h);
		for (size_t i = 0; i < 100; i++) {
			many_end(20);
			ck_assert_uint_le(all_remembered() * ENTRY, sizes[s]);
		}
		/* A hold has at most some 400 bytes here. */
		if (sizes[s] > LOOSE)
			ck_assert_uint_ge(all_remembered() * 400, sizes[s] - LOOSE);
		history_free(h);
		h = NULL;
	}
}
END_TEST

START_TEST(another_size_keeps_what_fits)
{
	size_t before;

	h = history_new(8192);
	many_end(200);
	before = all_remembered();
	history_resize(h, 65536);
	ck_assert_uint_eq(all_remembered(), before);
	many_end(50);
	ck_assert_uint_eq(all_remembered(), before + 50);
	history_resize(h, 1024);
	ck_assert_uint_lt(all_remembered(), before);
	ck_assert_uint_gt(all_remembered(), 0);
	history_resize(h, 0);
	ck_assert_uint_eq(all_remembered(), 0);
	many_end(3);
	ck_assert_uint_eq(all_remembered(), 0);
}
END_TEST

START_TEST(the_next_process_has_the_same)
{
	struct record r;
	struct buffer state;
	size_t before;

	h = history_new(4096);
	many_end(300);
	before = all_remembered();
	buffer_init(&state, SIZE_MAX / 2);
	record_save(&r, &state);
	history_save(h, &r);
	record_begin(&r, RECORD_END);
	record_end(&r);
	history_free(h);
	h = history_new(4096);
	ck_assert(record_load(&r, (struct slice){buffer_bytes(&state), buffer_length(&state)}));
	while (record_next(&r) == RECORD_HISTORY)
		history_load(h, &r);
	ck_assert_msg(!r.failed, "%s", r.why);
	ck_assert_uint_eq(all_remembered(), before);
	buffer_done(&state);
}
END_TEST

START_TEST(a_hold_that_is_broken_and_then_withheld_was_broken)
{
	h = history_new(4096);
	tokens[0][counts[0]++] = 500;
	history_breaker(h, "ops from 10.0.0.7:4711");
	ends(0, 500, NOTE_LOST, -1, "broken", 0);
	ck_assert_uint_eq(remembered(1, NULL), 0);
	ends(0, 500, NOTE_WITHHELD, 30, NULL, 0);
	ck_assert_uint_eq(remembered(0, "broken"), 1);
	history_each(h, name_of(0), see_breaker, "ops from 10.0.0.7:4711");
	tokens[0][counts[0]++] = 501;
	ends(0, 501, NOTE_WITHHELD, 30, NULL, 0);
	ck_assert_uint_eq(remembered(0, "withheld"), 2);
	history_each(h, name_of(0), see_breaker, "");
	tokens[0][counts[0]++] = 502;
	ends(0, 502, NOTE_LOST, 30, "maxhold", 0);
	ck_assert_uint_eq(remembered(0, "maxhold"), 3);
	ends(0, 503, NOTE_GRANTED, 0, NULL, 0);
	ck_assert_uint_eq(remembered(0, "maxhold"), 3);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("history", begin, end, each_name_has_its_latest_holds, another_size_keeps_what_fits,
		the_next_process_has_the_same, a_hold_that_is_broken_and_then_withheld_was_broken);
}
