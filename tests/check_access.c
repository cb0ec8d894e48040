/*
 * Tests of daemon/net/access.h: who may log in, and how many connections each user has.
 */
#include "daemon/net/access.h"
#include "tests/support/suite.h"

static const struct access_user users[] = {
	{.name = "ann", .password = "secret", .admin = true},
	{.name = "default", .password = "other"},
};

START_TEST(the_right_password_logs_in)
{
	struct access *access = access_new(users, 2);
	const struct access_user *user = access_login(access, SLICE("ann"), SLICE("secret"));
	ck_assert_ptr_nonnull(user);
	ck_assert_str_eq(user->name, "ann");
	ck_assert(user->admin);
	user = access_login(access, (struct slice){NULL, 0}, SLICE("other"));
	ck_assert_ptr_nonnull(user);
	ck_assert_str_eq(user->name, "default");
	ck_assert(!user->admin);
	access_free(access);
}
END_TEST

START_TEST(anything_else_does_not)
{
	static const char *const wrong[] = {
		"", "s", "secre", "secretx", "secretsecret", "Secret", "other", "no such user"};
	struct access *access = access_new(users, 2);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ck_assert_ptr_null(access_login(access, SLICE("ann"), slice_of(wrong[i])));
		ck_assert_ptr_null(access_login(access, SLICE("bob"), slice_of(wrong[i])));
		ck_assert_ptr_null(access_login(access, SLICE("an"), slice_of(wrong[i])));
	}
	ck_assert_ptr_null(access_login(access, SLICE("ann"), (struct slice){"secret\0", 7}));
	ck_assert_ptr_null(access_login(access, SLICE("annn"), SLICE("secret")));
	access_free(access);
}
END_TEST

START_TEST(without_users_nobody_has_to_log_in)
{
	struct access *access = access_new(NULL, 0);
	ck_assert(!access_required(access));
	ck_assert_ptr_null(access_login(access, SLICE("default"), SLICE("no such user")));
	access_free(access);
	access = access_new(users, 1);
	ck_assert(access_required(access));
	access_free(access);
}
END_TEST

START_TEST(each_user_has_a_quota_of_its_own)
{
	struct quota quota = {.most = 2};
	struct quota_user *a = quota_enter_uid(&quota, 1000);
	struct quota_user *b = quota_enter_uid(&quota, 1000);
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_null(quota_enter_uid(&quota, 1000));
	struct quota_user *c = quota_enter_uid(&quota, 1001);
	struct quota_user *d = quota_enter_name(&quota, "1000");
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_nonnull(d);
	quota_leave(&quota, a);
	a = quota_enter_uid(&quota, 1000);
	ck_assert_ptr_nonnull(a);
	quota_leave(&quota, d);
	quota_leave(&quota, a);
	quota_leave(&quota, b);
	quota_leave(&quota, c);
	quota_leave(&quota, NULL);
	ck_assert_ptr_null(quota.first);
	ck_assert_ptr_nonnull(quota_enter_name(&quota, "left for quota_done"));
	quota_done(&quota);
}
END_TEST

START_TEST(a_quota_of_none_lets_nobody_in_and_keeps_nothing)
{
	struct quota quota = {.most = 0};
	for (int i = 0; i < 100; i++) {
		ck_assert_ptr_null(quota_enter_uid(&quota, i));
	}
	ck_assert_ptr_null(quota.first);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("access", NULL, NULL, the_right_password_logs_in, anything_else_does_not,
		without_users_nobody_has_to_log_in, each_user_has_a_quota_of_its_own,
		a_quota_of_none_lets_nobody_in_and_keeps_nothing);
}
