/*
 * suite: builds and runs a Check suite of one test case. Used by suites only.
 */
#include "tests/support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

int
suite_run(const char *name, const TTest *const *tests, size_t count, SFun setup, SFun teardown)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	size_t i;
	int failed;

	signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	tcase_set_timeout(tcase, SUITE_LIMIT_S);
	if (setup || teardown)
		tcase_add_checked_fixture(tcase, setup, teardown);
	for (i = 0; i < count; i++) {
		for (size_t before = 0; before < i; before++) {
			if (tests[before] == tests[i]) {
				fprintf(stderr, "%s: %s is listed twice\n", name, tests[i]->name);
				return EXIT_FAILURE;
			}
		}
		tcase_add_test(tcase, tests[i]);
	}
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
