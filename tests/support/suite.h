/*
 * suite: runs a suite of the test framework Check, for main().
 */
#ifndef SUPPORT_SUITE_H
#define SUPPORT_SUITE_H

#include <check.h>
#include <stddef.h>

#define SUITE_LIMIT_S 300 /* per test: tests wait for events, which come late on a busy machine */

/* Runs the tests, each in a process of its own between setup and teardown (both may be NULL). Returns the
 * exit status for main(). */
int suite_run(const char *name, const TTest *const *tests, size_t count, SFun setup, SFun teardown);

/* return SUITE_RUN("log", setup, teardown, one_test, another_test); */
#define SUITE_RUN(name, setup, teardown, ...)                                                                \
	suite_run((name), (const TTest *const[]){__VA_ARGS__},                                               \
		sizeof((const TTest *const[]){__VA_ARGS__}) / sizeof(const TTest *), (setup), (teardown))

#endif
