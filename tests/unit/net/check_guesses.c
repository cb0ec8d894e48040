/*
 * Tests of daemon/net/guesses.h: how many logins may fail, and who has to wait then.
 */
#include "daemon/net/guesses.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW INT64_C(1000000)

static struct guess_source
source_at(struct guesses *g, const char *address, const char *user)
{
	struct peer peer = {.uid = -1};

	snprintf(peer.address, sizeof peer.address, "%s", address);
	return guesses_source(g, &peer, false, slice_of(user));
}

/* A user at this address fails so many times at once. */
static void
user_fails(struct guesses *g, const char *address, const char *user, int times)
{
	struct guess_source source = source_at(g, address, user);

	for (int i = 0; i < times; i++)
		guesses_failed(g, &source, NOW);
}

static int64_t
user_waits(struct guesses *g, const char *address, const char *user, int64_t ms)
{
	struct guess_source source = source_at(g, address, user);

	return guesses_wait_ms(g, &source, NOW + ms);
}

static void
fails(struct guesses *g, const char *address, int times)
{
	user_fails(g, address, "ann", times);
}

static int64_t
waits(struct guesses *g, const char *address, int64_t ms)
{
	return user_waits(g, address, "ann", ms);
}

static struct guesses *
none(void)
{
	struct guesses *g = calloc(1, sizeof *g);

	ck_assert_ptr_nonnull(g);
	return g;
}

START_TEST(ten_failures_are_free_then_there_is_one_in_a_second)
{
	struct guesses *g = none();

	ck_assert_int_eq(waits(g, "10.0.0.1:1", 0), 0);
	fails(g, "10.0.0.1:1", GUESSES_FREE - 1);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 0), 0);
	fails(g, "10.0.0.1:1", 1);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 0), 1000);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 999), 1);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 1000), 0);
	/* Whoever has waited for long has ten again, and no more. */
	fails(g, "10.0.0.1:1", 5);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 0), 6000);
	ck_assert_int_eq(waits(g, "10.0.0.1:1", 60000), 0);
	free(g);
}
END_TEST

START_TEST(an_address_is_a_host_or_an_ipv6_network)
{
	static const struct {
		const char *one, *other;
		bool same;
	} pairs[] = {
		{"10.0.0.1:1", "10.0.0.1:2", true},
		{"10.0.0.1:1", "10.0.0.2:1", false},
		{"10.0.0.1:1", "[::ffff:10.0.0.1]:1", true},
		{"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.2]:1", false},
		{"[2001:db8::1]:1", "[2001:db8::2]:2", true},
		{"[2001:db8:0:1::1]:1", "[2001:db8:0:2::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
		{"?", "what is this", true},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct guesses *g = none();

		fails(g, pairs[i].one, 20);
		ck_assert_int_gt(waits(g, pairs[i].one, 0), 0);
		ck_assert_msg((waits(g, pairs[i].other, 0) > 0) == pairs[i].same, "%s and %s", pairs[i].one,
			pairs[i].other);
		free(g);
	}
}
END_TEST

START_TEST(users_of_a_unix_socket_are_apart)
{
	struct guesses *g = none();
	struct peer one = {.uid = 1, .address = "unix"}, other = {.uid = 2, .address = "unix"};

	struct guess_source first = guesses_source(g, &one, true, SLICE("ann"));
	struct guess_source second = guesses_source(g, &other, true, SLICE("ann"));

	for (int i = 0; i < 20; i++)
		guesses_failed(g, &first, NOW);
	ck_assert_int_gt(guesses_wait_ms(g, &first, NOW), 0);
	ck_assert_int_eq(guesses_wait_ms(g, &second, NOW), 0);
	ck_assert_int_eq(waits(g, "unix", 0), 0);
	ck_assert_int_eq(waits(g, "0.0.0.1:1", 0), 0);
	free(g);
}
END_TEST

START_TEST(of_too_many_addresses_the_one_that_waits_least_is_forgotten)
{
	struct guesses *g = none();
	char name[32];

	fails(g, "10.9.9.9:1", 100);
	fails(g, "10.8.8.8:1", 10);
	for (int i = 0; i < GUESSES_SLOTS * 2; i++) {
		snprintf(name, sizeof name, "user%d", i);
		user_fails(g, "10.7.7.7:1", name, 11);
	}
	ck_assert_uint_eq(g->count, GUESSES_SLOTS);
	ck_assert_int_eq(waits(g, "10.9.9.9:1", 0), 91000);
	ck_assert_int_eq(waits(g, "10.8.8.8:1", 0), 0);
	/* And one that has waited makes room before the table grows. */
	free(g);
	g = none();
	fails(g, "10.9.9.9:1", 10);
	struct guess_source later = source_at(g, "10.8.8.8:1", "ann");
	guesses_failed(g, &later, NOW + 3600000);
	ck_assert_uint_eq(g->count, 2); /* of the user, and of the address alone */
	free(g);
}
END_TEST

START_TEST(who_guesses_one_password_slows_down_no_other_user)
{
	struct guesses *g = none();

	/* What is refused does not count, so one user fails once a second and no oftener. */
	for (int64_t ms = 0; ms < 60000; ms += 50) {
		struct guess_source source = source_at(g, "10.0.0.1:1", "nobody");
		if (guesses_wait_ms(g, &source, NOW + ms) == 0)
			guesses_failed(g, &source, NOW + ms);
		ck_assert_int_eq(user_waits(g, "10.0.0.1:2", "bob", ms), 0);
	}
	ck_assert_int_gt(user_waits(g, "10.0.0.1:1", "nobody", 59960), 0);
	free(g);
}
END_TEST

START_TEST(who_tries_one_name_after_the_other_is_slowed_down_and_known_users_are_not)
{
	struct guesses *g = none();
	struct guess_source known = source_at(g, "10.0.0.1:1", "bob");
	struct guess_source elsewhere = source_at(g, "10.0.0.2:1", "bob");
	char name[32];

	guesses_right(g, &known, NOW);
	for (int i = 0; i < 2 * GUESSES_WIDE_FREE; i++) {
		snprintf(name, sizeof name, "user%d", i);
		user_fails(g, "10.0.0.1:1", name, 1);
	}
	ck_assert_int_gt(user_waits(g, "10.0.0.1:1", "another", 0), 0);
	ck_assert_int_eq(user_waits(g, "10.0.0.1:1", "bob", 0), 0);
	ck_assert_int_eq(user_waits(g, "10.0.0.2:1", "another", 0), 0);
	ck_assert_int_eq(
		user_waits(g, "10.0.0.1:1", "another", (GUESSES_WIDE_FREE + 1) * GUESSES_WIDE_EVERY_MS), 0);
	/* Its own failures count for a known user, too. */
	user_fails(g, "10.0.0.1:1", "bob", GUESSES_FREE + 1);
	ck_assert_int_gt(user_waits(g, "10.0.0.1:1", "bob", 0), 0);
	/* Who has logged in elsewhere is not known here. */
	guesses_right(g, &elsewhere, NOW);
	for (int i = 0; i < GUESSES_KNOWN; i++) {
		snprintf(name, sizeof name, "user%d", i);
		known = source_at(g, "10.0.0.3:1", name);
		guesses_right(g, &known, NOW + 1 + i);
	}
	ck_assert_uint_eq(g->known_count, GUESSES_KNOWN);
	user_fails(g, "10.0.0.2:1", "others", GUESSES_WIDE_FREE + 1);
	ck_assert_int_gt(user_waits(g, "10.0.0.2:1", "bob", 0), 0);
	free(g);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("guesses", NULL, NULL, ten_failures_are_free_then_there_is_one_in_a_second,
		an_address_is_a_host_or_an_ipv6_network, users_of_a_unix_socket_are_apart,
		of_too_many_addresses_the_one_that_waits_least_is_forgotten,
		who_guesses_one_password_slows_down_no_other_user,
		who_tries_one_name_after_the_other_is_slowed_down_and_known_users_are_not);
}
