/*
 * Tests of daemon/net/access.h: who may log in, and how many connections each user has.
 */
#include "daemon/net/access.h"
#include "tests/support/suite.h"

static const struct access_user users[] = {
	ACCESS_LOGIN("ann", "secret", RIGHT_ADMIN),
	ACCESS_LOGIN("default", "other", RIGHTS_USUAL),
};

/* Of users without hashes it is known at once. */
static const struct access_user *
login(const struct access *access, struct slice name, struct slice password)
{
	const char *hash = "";
	const struct access_user *user = access_login(access, name, password, &hash);
	ck_assert_ptr_null(hash);
	return user;
}

START_TEST(the_right_password_logs_in)
{
	struct access *access = access_new(users, 2);
	const struct access_user *user = login(access, SLICE("ann"), SLICE("secret"));
	ck_assert_ptr_nonnull(user);
	ck_assert_str_eq(user->name, "ann");
	ck_assert_uint_eq(user->rights, RIGHT_ADMIN);
	user = login(access, (struct slice){NULL, 0}, SLICE("other"));
	ck_assert_ptr_nonnull(user);
	ck_assert_str_eq(user->name, "default");
	ck_assert_uint_eq(user->rights, RIGHTS_USUAL);
	access_free(access);
}
END_TEST

START_TEST(anything_else_does_not)
{
	static const char *const wrong[] = {
		"", "s", "secre", "secretx", "secretsecret", "Secret", "other", "no such user"};
	struct access *access = access_new(users, 2);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ck_assert_ptr_null(login(access, SLICE("ann"), slice_of(wrong[i])));
		ck_assert_ptr_null(login(access, SLICE("bob"), slice_of(wrong[i])));
		ck_assert_ptr_null(login(access, SLICE("an"), slice_of(wrong[i])));
	}
	ck_assert_ptr_null(login(access, SLICE("ann"), (struct slice){"secret\0", 7}));
	ck_assert_ptr_null(login(access, SLICE("annn"), SLICE("secret")));
	access_free(access);
}
END_TEST

START_TEST(without_users_nobody_has_to_log_in)
{
	struct access *access = access_new(NULL, 0);
	ck_assert(!access_required(access));
	ck_assert_ptr_null(login(access, SLICE("default"), SLICE("no such user")));
	access_free(access);
	access = access_new(users, 1);
	ck_assert(access_required(access));
	access_free(access);
}
END_TEST

START_TEST(a_uid_or_a_group_makes_a_user_and_the_first_one_counts)
{
	static const struct access_user local[] = {
		ACCESS_LOGIN("login", "x", RIGHTS_USUAL),
		{.name = "uid", .password = "", .uid = 1000, .gid = ACCESS_NOBODY},
		{.name = "gid", .password = "", .uid = ACCESS_NOBODY, .gid = 50},
		{.name = "root", .password = "", .uid = 0, .gid = 0},
		{.name = "rest", .password = "", .uid = ACCESS_ANYONE, .gid = ACCESS_NOBODY},
	};
	static const uint32_t groups[] = {40, 50};
	struct access *access = access_new(local, 5);
	ck_assert_str_eq(access_local(access, 1000, groups, 2)->name, "uid");
	ck_assert_str_eq(access_local(access, 1001, groups, 2)->name, "gid");
	ck_assert_str_eq(access_local(access, 1001, groups, 1)->name, "rest");
	ck_assert_str_eq(access_local(access, 0, groups, 1)->name, "root");
	ck_assert_str_eq(access_local(access, ACCESS_NOBODY, NULL, 0)->name, "rest");
	/* Who has no password cannot log in. */
	ck_assert_ptr_null(login(access, SLICE("uid"), SLICE("")));
	ck_assert_ptr_null(login(access, SLICE("uid"), SLICE("no such user")));
	access_free(access);
	access = access_new(local, 1);
	ck_assert_ptr_null(access_local(access, ACCESS_NOBODY, groups, 2));
	access_free(access);
}
END_TEST

START_TEST(rights_are_for_the_names_of_the_user)
{
	static const char *const names[] = {"cron/*", "a[0-9]"};
	static const struct access_user some[] = {
		{.name = "some",
			.password = "x",
			.rights = RIGHT_SEE | RIGHT_BREAK,
			.names = names,
			.name_count = 2},
		ACCESS_LOGIN("all", "x", RIGHT_SHARED),
	};
	struct access *access = access_new(some, 2);
	struct viewer viewer = {.user = access_at(access, 0), .number = 7};
	ck_assert(viewer_may(&viewer, RIGHT_BREAK));
	ck_assert(viewer_may(&viewer, RIGHT_BREAK | RIGHT_ADMIN));
	ck_assert(!viewer_may(&viewer, RIGHT_LOCK | RIGHT_SHARED | RIGHT_ADMIN));
	ck_assert(viewer_names(&viewer, SLICE("cron/x")));
	ck_assert(viewer_names(&viewer, SLICE("a5")));
	ck_assert(!viewer_names(&viewer, SLICE("a55")));
	ck_assert(!viewer_names(&viewer, SLICE("cron")));
	ck_assert(!viewer_names_all(&viewer));
	ck_assert(viewer_sees_user(&viewer, 7));
	ck_assert(!viewer_sees_user(&viewer, 8));
	viewer.admin = true;
	ck_assert(viewer_may(&viewer, RIGHT_LOCK));
	ck_assert(viewer_names(&viewer, SLICE("cron")));
	ck_assert(viewer_sees_user(&viewer, 8));
	viewer = (struct viewer){.user = access_at(access, 1)};
	ck_assert(viewer_names(&viewer, SLICE("cron")));
	ck_assert(!viewer_may(&viewer, RIGHT_LOCK));
	viewer = (struct viewer){.user = NULL};
	ck_assert(viewer_may(&viewer, RIGHT_LOCK));
	ck_assert(viewer_may(&viewer, RIGHT_SEE));
	ck_assert(!viewer_may(&viewer, RIGHT_BREAK | RIGHT_ADMIN));
	ck_assert(viewer_names(&viewer, SLICE("cron")));
	access_free(access);
}
END_TEST

START_TEST(each_user_has_a_quota_of_its_own)
{
	struct quota quota = {.most = 2};
	struct quota_user *a = quota_enter_uid(&quota, 1000, 0);
	struct quota_user *b = quota_enter_uid(&quota, 1000, 0);
	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_null(quota_enter_uid(&quota, 1000, 0));
	struct quota_user *c = quota_enter_uid(&quota, 1001, 0);
	struct quota_user *d = quota_enter_name(&quota, "1000", 0);
	ck_assert_ptr_nonnull(c);
	ck_assert_ptr_nonnull(d);
	quota_leave(&quota, a);
	a = quota_enter_uid(&quota, 1000, 0);
	ck_assert_ptr_nonnull(a);
	quota_leave(&quota, d);
	quota_leave(&quota, a);
	quota_leave(&quota, b);
	quota_leave(&quota, c);
	quota_leave(&quota, NULL);
	ck_assert_ptr_null(quota.first);
	ck_assert_ptr_nonnull(quota_enter_name(&quota, "left for quota_done", 0));
	quota_done(&quota);
}
END_TEST

START_TEST(a_quota_of_its_own_is_in_place_of_that_of_all)
{
	struct quota quota = {.most = 1};
	ck_assert_ptr_nonnull(quota_enter_name(&quota, "a", 2));
	ck_assert_ptr_nonnull(quota_enter_name(&quota, "a", 2));
	ck_assert_ptr_null(quota_enter_name(&quota, "a", 2));
	ck_assert_ptr_nonnull(quota_enter_name(&quota, "b", 0));
	ck_assert_ptr_null(quota_enter_name(&quota, "b", 0));
	quota_done(&quota);
}
END_TEST

START_TEST(a_quota_of_none_lets_nobody_in_and_keeps_nothing)
{
	struct quota quota = {.most = 0};
	for (int i = 0; i < 100; i++) {
		ck_assert_ptr_null(quota_enter_uid(&quota, i, 0));
	}
	ck_assert_ptr_null(quota.first);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("access", NULL, NULL, the_right_password_logs_in, anything_else_does_not,
		without_users_nobody_has_to_log_in, a_uid_or_a_group_makes_a_user_and_the_first_one_counts,
		rights_are_for_the_names_of_the_user, each_user_has_a_quota_of_its_own,
		a_quota_of_its_own_is_in_place_of_that_of_all,
		a_quota_of_none_lets_nobody_in_and_keeps_nothing);
}
