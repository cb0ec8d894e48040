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
	const struct access_user *user =
		access_login(access, &(struct access_login){name, password, 0}, &hash);
	ck_assert_int_eq(hash != NULL, user != NULL);
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

START_TEST(a_user_may_have_two_passwords)
{
	static const uint64_t salt[2] = {1, 2};
	static const struct access_user two[] = {ACCESS_LOGIN("ann", "old\nnew", RIGHT_ADMIN)};
	struct access *access = access_new(two, 1);
	ck_assert_ptr_nonnull(login(access, SLICE("ann"), SLICE("old")));
	ck_assert_ptr_nonnull(login(access, SLICE("ann"), SLICE("new")));
	ck_assert_ptr_null(login(access, SLICE("ann"), SLICE("old\nnew")));
	ck_assert_ptr_null(login(access, SLICE("ann"), SLICE("no such user")));
	ck_assert_ptr_null(login(access, SLICE("bob"), SLICE("new")));
	ck_assert(access_has(access_at(access, 0), salt, access_text_mark(salt, SLICE("old"))));
	ck_assert(access_has(access_at(access, 0), salt, access_text_mark(salt, SLICE("new"))));
	ck_assert(!access_has(access_at(access, 0), salt, access_text_mark(salt, SLICE("old\nnew"))));
	access_free(access);
}
END_TEST

/* The hashes that the password is compared with in turn, as the daemon asks; the one that is right says so.
 */
static unsigned
rounds(struct access *access, const char *name, const char *password, const char *right)
{
	struct access_login asked = {slice_of(name), slice_of(password), 0};
	const char *hash;
	unsigned n = 0;
	while (!access_login(access, &asked, &hash) && hash) {
		n++;
		ck_assert_uint_lt(n, 10);
		if (right && strcmp(hash, right) == 0) {
			access_remember(access, hash, asked.password);
		}
		asked.compared = access_mark(access, hash, asked.password);
	}
	ck_assert_int_eq(hash != NULL, right != NULL);
	return n;
}

START_TEST(wrong_passwords_are_compared_as_often_whoever_sends_them)
{
	static const struct access_user some[] = {
		{.name = "one", .password = "$1", .hashed = 1},
		{.name = "plain", .password = "p"},
		{.name = "two", .password = "$2\n$3", .hashed = 3},
		{.name = "mixed", .password = "m\n$2", .hashed = 2},
	};
	static const char *const names[] = {"one", "plain", "two", "mixed", "nobody"};
	struct access *access = access_new(some, 4);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_uint_eq(rounds(access, names[i], "wrong", NULL), 2);
	}
	ck_assert_uint_eq(rounds(access, "two", "b", "$3"), 2);
	ck_assert_uint_eq(rounds(access, "two", "b", "$3"), 0);
	ck_assert_uint_eq(rounds(access, "two", "a", "$2"), 1);
	ck_assert_uint_eq(rounds(access, "mixed", "a", "$2"), 0);
	ck_assert_uint_eq(rounds(access, "one", "a", NULL), 2);
	access_free(access);
}
END_TEST

START_TEST(a_hash_that_two_users_have_is_compared_with_once)
{
	static const struct access_user some[] = {
		{.name = "one", .password = "$2", .hashed = 1},
		{.name = "two", .password = "$1\n$2", .hashed = 3},
	};
	struct access *access = access_new(some, 2);
	ck_assert_uint_eq(rounds(access, "one", "wrong", NULL), 1);
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
		rights_are_for_the_names_of_the_user, a_user_may_have_two_passwords,
		wrong_passwords_are_compared_as_often_whoever_sends_them,
		a_hash_that_two_users_have_is_compared_with_once, each_user_has_a_quota_of_its_own,
		a_quota_of_its_own_is_in_place_of_that_of_all,
		a_quota_of_none_lets_nobody_in_and_keeps_nothing);
}
