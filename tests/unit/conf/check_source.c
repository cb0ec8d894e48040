/*
 * check_source: a configuration of several files: which are read, in which order, and which of them an error
 * names.
 */
#include "conf/conf.h"

#include "conf/loader.h"

#include <check.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct conf_errors errors;
static char root[] = "/tmp/check_source.XXXXXX";
static char main_file[64];

static void
root_make(void)
{
	strcpy(strrchr(root, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	snprintf(main_file, sizeof(main_file), "%s/h.yml", root);
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("STATE_DIRECTORY");
	unsetenv("RUNTIME_DIRECTORY");
}

static int
entry_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void
root_remove(void)
{
	nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file below the root, in a directory that is made for it. */
static void
file_write(const char *name, const char *text)
{
	char path[256];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (strchr(name, '/') != NULL) {
		*strrchr(path, '/') = '\0';
		mkdir(path, 0755);
		path[strlen(path)] = '/';
	}
	to = fopen(path, "we");
	ck_assert_ptr_nonnull(to);
	fputs(text, to);
	ck_assert_int_eq(fclose(to), 0);
}

static struct conf *
good(void)
{
	struct conf *conf = conf_load(main_file, true, &errors);

	ck_assert_msg(conf != NULL, "%s", errors.text[0]);
	return conf;
}

/* Refused; error i is this, after the root's path. */
static void
bad(size_t i, const char *expected)
{
	char whole[512];

	ck_assert_ptr_null(conf_load(main_file, true, &errors));
	ck_assert_uint_gt(errors.count, i);
	snprintf(whole, sizeof(whole), "%s/%s", root, expected);
	ck_assert_msg(strncmp(errors.text[i], whole, strlen(whole)) == 0, "expected: %s\ngot: %s", whole,
		errors.text[i]);
}

START_TEST(a_later_value_holds_in_place_of_an_earlier_one)
{
	struct conf *conf;

	file_write("h.yml", "lease: 3s\nlog: { level: debug, to: /a }\nlimits: { clients: 7 }\n");
	file_write("h.d/20-b.yml", "log: { to: /c }\nlease: 5s\n");
	file_write("h.d/10-a.yml", "lease: 4s\nlog:\n  to: /b\npool: 2\n");
	conf = good();
	ck_assert_int_eq(conf->lease_ms, 5000);
	ck_assert_int_eq(conf->log.level, CONF_LEVEL_DEBUG);
	ck_assert_str_eq(conf->log.to, "/c");
	ck_assert_int_eq(conf->limits.clients, 7);
	ck_assert_int_eq(conf->pool, 2);
	conf_free(conf);
}
END_TEST

START_TEST(items_of_a_list_join_those_before)
{
	struct conf *conf;

	file_write("h.yml", "rules:\n  - match: a\n  - match: b\nlease: 3s\n");
	file_write("h.d/1.yml",
		"rules:\n  - { match: c, lease: 9s }\nmasters: [ 'redis://r1', 'redis://r2' ]\n");
	file_write("h.d/2.yml", "masters: [ 'redis://r3' ]\nrules: []\nlease: 4s\n");
	conf = good();
	ck_assert_uint_eq(conf->rule_count, 3);
	ck_assert_str_eq(conf->rules[0].match, "a");
	ck_assert_str_eq(conf->rules[2].match, "c");
	ck_assert_int_eq(conf->rules[2].lease_ms, 9000);
	/* Also of a rule that was read before. */
	ck_assert_int_eq(conf->rules[0].lease_ms, 4000);
	ck_assert_uint_eq(conf->master_count, 3);
	ck_assert_str_eq(conf->masters[2].url.address.host, "r3");
	conf_free(conf);
}
END_TEST

START_TEST(only_visible_files_that_end_in_yml_are_read)
{
	char expected[256];
	struct conf *conf;

	file_write("h.yml", "");
	file_write("h.d/Z.yml", "pool: 2\n");
	file_write("h.d/a.yaml", "pool: 3\n");
	file_write("h.d/b.yml~", "pool: 4\n");
	file_write("h.d/b.yml.dpkg-new", "pool: 4\n");
	file_write("h.d/.b.yml", "pool: 4\n");
	file_write("h.d/.yml", "pool: 4\n");
	conf = good();
	ck_assert_int_eq(conf->pool, 3);
	snprintf(expected, sizeof(expected), "%s/h.yml, %s/h.d/Z.yml, %s/h.d/a.yaml", root, root, root);
	ck_assert_str_eq(conf->files, expected);
	conf_free(conf);
}
END_TEST

START_TEST(the_file_itself_may_be_missing_if_nobody_named_it)
{
	struct conf *conf;

	bad(0, "h.yml: cannot be read: No such file or directory");
	conf = conf_load(main_file, false, &errors);
	ck_assert_ptr_nonnull(conf);
	ck_assert_str_eq(conf->files, "");
	conf_free(conf);
	file_write("h.d/a.yml", "pool: 3\n");
	conf = conf_load(main_file, false, &errors);
	ck_assert_ptr_nonnull(conf);
	ck_assert_int_eq(conf->pool, 3);
	conf_free(conf);
	bad(0, "h.yml: cannot be read: No such file or directory");
}
END_TEST

START_TEST(a_file_with_another_ending_has_no_directory)
{
	struct conf *conf;

	file_write("h.yml", "");
	file_write("h.yml.d/a.yml", "pool: 3\n");
	file_write("h", "pool: 2\n");
	file_write("h.d/a.yml", "pool: 4\n");
	main_file[strlen(main_file) - strlen(".yml")] = '\0';
	conf = good();
	ck_assert_int_eq(conf->pool, 2);
	conf_free(conf);
}
END_TEST

START_TEST(an_error_names_the_file_it_is_in)
{
	file_write("h.yml", "\npol: 3\n");
	file_write("h.d/a.yml", "lease: 1\n");
	file_write("h.d/b.yml", "a: [\n");
	file_write("h.d/c.yml", "pool: 2\npool: 3\n");
	bad(0, "h.d/b.yml:2:1: not YAML");
	bad(1, "h.yml:2:1: unknown key \"pol\"; did you mean \"pool\"?");
	bad(2, "h.d/a.yml:1:8: lease: \"1\" has no unit");
	bad(3, "h.d/c.yml:2:1: pool: given twice, first in line 1; keep one");
	ck_assert_uint_eq(errors.count, 4);
}
END_TEST

START_TEST(what_does_not_go_together_names_both_files)
{
	file_write("h.yml", "listen:\n  - unix: /run/h.sock\nmasters: [ 'redis://r1' ]\n");
	file_write("h.d/a.yml", "\nlisten: [ { tcp: '127.0.0.1:1' }, { unix: /run/h.sock } ]\n");
	bad(0, "h.d/a.yml:2:35: listen: the same as item 1 of \"/");
	ck_assert_ptr_nonnull(strstr(errors.text[0], "/h.yml\"; name each once"));
	file_write("h.d/a.yml", "masters: [ 'redis://r2' ]\n");
	bad(0, "h.d/a.yml:1:12: masters: 2 of them; allowed: 1, 3, 5 or 7");
	file_write("h.d/b.yml", "masters: [ 'redis://r3', 'redis://r3', 'redis://r4' ]\n");
	bad(0, "h.d/b.yml:1:26: masters: the same server as item 1; each");
	file_write("h.d/b.yml", "masters:\n");
	bad(0, "h.d/b.yml:1:9: masters: nothing is below it;");
}
END_TEST

START_TEST(a_limit_counts_the_items_of_all_files)
{
	char name[32], text[4096] = "rules:\n";
	size_t n = strlen(text);
	struct conf *conf;

	file_write("h.yml", "");
	for (int i = 0; i < CONF_RULES_MAX / 2; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "  - match: a%d\n", i);
	file_write("h.d/1.yml", text);
	for (char *at = text; (at = strchr(at, ':')) != NULL; at++)
		if (at[1] == ' ')
			at[2] = 'b';
	file_write("h.d/2.yml", text);
	conf = good();
	ck_assert_uint_eq(conf->rule_count, CONF_RULES_MAX);
	conf_free(conf);
	file_write("h.d/3.yml", "rules: [ { match: c } ]\n");
	bad(0, "h.d/3.yml:1:10: rules: more than 256 items");
	for (int i = 3; i <= 64; i++) {
		snprintf(name, sizeof(name), "h.d/%d.yml", i);
		file_write(name, "");
	}
	bad(0, "h.d: 64 files; at most 63 are read, so put some into one");
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
	char path[256];

	file_write("h.yml", "");
	file_write("h.d/b.yml", "");
	file_write("h.d/a.yml/b", "");
	bad(0, "h.d/a.yml: cannot be read: Is a directory");
	snprintf(path, sizeof(path), "%s/h.d/c.yml", root);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	bad(1, "h.d/c.yml: cannot be read: No such file or directory");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("source");
	TCase *tcase = tcase_create("source");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, root_make, root_remove);
	tcase_add_test(tcase, a_later_value_holds_in_place_of_an_earlier_one);
	tcase_add_test(tcase, items_of_a_list_join_those_before);
	tcase_add_test(tcase, only_visible_files_that_end_in_yml_are_read);
	tcase_add_test(tcase, the_file_itself_may_be_missing_if_nobody_named_it);
	tcase_add_test(tcase, a_file_with_another_ending_has_no_directory);
	tcase_add_test(tcase, an_error_names_the_file_it_is_in);
	tcase_add_test(tcase, what_does_not_go_together_names_both_files);
	tcase_add_test(tcase, a_limit_counts_the_items_of_all_files);
	tcase_add_test(tcase, what_cannot_be_read_is_an_error);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
