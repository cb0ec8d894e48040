/*
 * What a lease is good for, and for how long; stories as in check_core.c.
 */
#include "daemon/core/core.h"
#include "daemon/core/view.h"
#include "tests/support/story.h"
#include "tests/support/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct rule longer[] = {
	{.match = "capped*", .lease_ms = LEASE_MS, .wait_ms = -1},
	{.match = "*", .lease_ms = 4 * LEASE_MS, .wait_ms = -1},
};

static const struct rule shorter[] = {
	{.match = "capped*", .lease_ms = LEASE_MS, .wait_ms = -1},
	{.match = "*", .lease_ms = LEASE_MS / 4, .wait_ms = -1},
};

START_TEST(a_longer_rule_lengthens_no_lease_that_was_asked_for_before)
{
	struct world w;

	world_ready(&w);
	lock(&w, 1, "a");
	core_set_rules(w.core, longer, 2);
	granted(&w, "a", 1, 500);
	/* The key was asked for with the old rule's life, and ends with it. Too short by now: renewed first.
	 */
	ck_assert_str_eq(w.trace, "renew a#1");
	ck_assert_int_eq(last_call(&w)->ttl_ms, 4 * LEASE_MS + MARGIN_MS);
	core_set_rules(w.core, shorter, 2);
	ck_assert_str_eq(answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1), "c1 :500");
	core_set_rules(w.core, longer, 2);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :3917");
	world_done(&w);
}
END_TEST

START_TEST(a_longer_rule_does_not_put_off_the_renewal_of_a_short_lease)
{
	struct world w;

	world_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	ck_assert_str_eq(after(&w, 333), "renew a#1");
	core_set_rules(w.core, longer, 2);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :977");
	ck_assert_str_eq(after(&w, 333), "renew a#1");
	world_done(&w);
}
END_TEST

START_TEST(a_shorter_rule_never_shortens_the_key_below_what_the_holder_was_told)
{
	struct world w;

	world_ready(&w);
	lock(&w, 1, "a");
	granted(&w, "a", 1, 500);
	core_set_rules(w.core, shorter, 2);
	ck_assert_str_eq(after(&w, 333), "renew a#1");
	/* 655 ms are promised; the master's clock may run a hundredth faster, or step by the margin. */
	ck_assert_int_eq(last_call(&w)->ttl_ms, 655 + 6 + 2 + MARGIN_MS);
	answer(&w, CALL_RENEW, OUTCOME_YES, "a", 1);
	ck_assert_str_eq(check(&w, 1, "a"), "c1 :647");
	world_done(&w);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("lease", NULL, NULL, a_longer_rule_lengthens_no_lease_that_was_asked_for_before,
		a_longer_rule_does_not_put_off_the_renewal_of_a_short_lease,
		a_shorter_rule_never_shortens_the_key_below_what_the_holder_was_told);
}
