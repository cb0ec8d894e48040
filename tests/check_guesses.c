/*
 * Tests of the failed logins of daemon/net/access.h: how many logins may fail, and who has to wait then.
 */
#include "daemon/net/access.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW INT64_C(1000000)

/* A client at this address; fails so many times at once. */
static void
fails(struct guesses *g, const char *address, int times)
{
	struct peer peer = {.uid = -1};

	snprintf(peer.address, sizeof peer.address, "%s", address);
	for (int i = 0; i < times; i++)
		guesses_failed(g, &peer, false, NOW);
}

static int64_t
waits(const struct guesses *g, const char *address, int64_t ms)
{
	struct peer peer = {.uid = -1};

	snprintf(peer.address, sizeof peer.address, "%s", address);
	return guesses_wait_ms(g, &peer, false, NOW + ms);
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

	for (int i = 0; i < 20; i++)
		guesses_failed(g, &one, true, NOW);
	ck_assert_int_gt(guesses_wait_ms(g, &one, true, NOW), 0);
	ck_assert_int_eq(guesses_wait_ms(g, &other, true, NOW), 0);
	ck_assert_int_eq(waits(g, "unix", 0), 0);
	ck_assert_int_eq(waits(g, "0.0.0.1:1", 0), 0);
	free(g);
}
END_TEST

START_TEST(of_too_many_addresses_the_one_that_waits_least_is_forgotten)
{
	struct guesses *g = none();
	char address[PEER_ADDRESS_MAX];

	fails(g, "10.9.9.9:1", 100);
	fails(g, "10.8.8.8:1", 10);
	for (int i = 0; i < GUESSES_ADDRESSES * 2; i++) {
		snprintf(address, sizeof address, "10.1.%d.%d:1", i / 256, i % 256);
		fails(g, address, 11);
	}
	ck_assert_uint_eq(g->count, GUESSES_ADDRESSES);
	ck_assert_int_eq(waits(g, "10.9.9.9:1", 0), 91000);
	ck_assert_int_eq(waits(g, "10.8.8.8:1", 0), 0);
	/* And one that has waited makes room before the table grows. */
	free(g);
	g = none();
	fails(g, "10.9.9.9:1", 10);
	struct peer later = {.uid = -1, .address = "10.8.8.8:1"};
	guesses_failed(g, &later, false, NOW + 3600000);
	ck_assert_uint_eq(g->count, 1);
	free(g);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("guesses", NULL, NULL, ten_failures_are_free_then_there_is_one_in_a_second,
		an_address_is_a_host_or_an_ipv6_network, users_of_a_unix_socket_are_apart,
		of_too_many_addresses_the_one_that_waits_least_is_forgotten);
}
