/* Tests of daemon/net/usage.c. */
#include "daemon/net/usage.h"

#include "tests/support/suite.h"

#define MS INT64_C(1000000)

static struct usage usage;

static void
begin(void)
{
	usage = (struct usage){0};
}

/* So many requests of 10 bytes each, in a turn that ends then and took a tenth of a ms for each. */
static void
serve(int64_t requests, int64_t ended_ms)
{
	usage.all.requests += requests;
	usage.all.bytes += 10 * requests;
	usage_served(&usage, ended_ms * MS - requests * MS / 10, ended_ms * MS);
}

static struct usage_sum
rates(int64_t now_ms)
{
	struct usage_sum sum = {0};
	usage_add_rates(&usage, now_ms * MS, &sum);
	return sum;
}

START_TEST(what_never_asked_has_no_rate)
{
	ck_assert_int_eq(rates(5000).requests, 0);
	ck_assert_int_eq(rates(5000).busy_ns, 0);
}
END_TEST

START_TEST(a_rate_is_that_of_the_latest_second)
{
	for (int64_t ms = 1000; ms <= 3000; ms += 10) {
		serve(5, ms);
	}
	ck_assert_int_ge(rates(3000).requests, 490);
	ck_assert_int_le(rates(3000).requests, 510);
	ck_assert_int_eq(rates(3000).bytes / rates(3000).requests, 10);
	ck_assert_int_ge(rates(3000).busy_ns, 49 * MS);
	ck_assert_int_le(rates(3000).busy_ns, 51 * MS);
	for (int64_t ms = 3010; ms <= 5000; ms += 10) {
		serve(1, ms);
	}
	ck_assert_int_le(rates(5000).requests, 105);
}
END_TEST

START_TEST(one_that_is_quiet_falls_to_nothing)
{
	for (int64_t ms = 1000; ms <= 2000; ms += 10) {
		serve(5, ms);
	}
	ck_assert_int_ge(rates(2500).requests, 400);
	ck_assert_int_le(rates(4000).requests, 10);
	ck_assert_int_eq(rates(60000).requests, 0);
	serve(1, 70000);
	ck_assert_int_eq(rates(70000).requests, 0);
}
END_TEST

START_TEST(the_first_second_is_not_made_larger_than_it_is)
{
	serve(50, 1000);
	ck_assert_int_eq(rates(1001).requests, 50);
	ck_assert_int_eq(rates(1900).requests, 50);
	/* Several connections add up. */
	struct usage_sum sum = {.requests = 7};
	usage_add_rates(&usage, 1900 * MS, &sum);
	ck_assert_int_eq(sum.requests, 57);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("usage", begin, NULL, what_never_asked_has_no_rate,
		a_rate_is_that_of_the_latest_second, one_that_is_quiet_falls_to_nothing,
		the_first_second_is_not_made_larger_than_it_is);
}
