/* Tests of daemon/base/open_files.c. */
#include "daemon/base/open_files.h"

#include "tests/support/suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY 20000

/* As the directory has them, its own one left out. */
static int64_t
listed(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int64_t n = -1;
	ck_assert(directory != NULL);
	for (const struct dirent *entry; (entry = readdir(directory));) {
		n += entry->d_name[0] != '.';
	}
	closedir(directory);
	return n;
}

START_TEST(both_ways_count_what_is_open)
{
	struct open_files files = {0};
	int64_t before = listed();
	ck_assert_int_eq(open_files_read(&files), before);
	ck_assert_int_eq(open_files_count(&files), before);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(open_files_read(&files), before + 1);
	ck_assert_int_eq(open_files_count(&files), before + 1);
	close(fd);
	ck_assert_int_eq(open_files_read(&files), before);
	ck_assert_int_eq(open_files_count(&files), before);
}
END_TEST

START_TEST(many_are_counted_over_some_looks)
{
	struct open_files files = {0};
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < 2 * MANY) {
		return; /* not permitted here */
	}
	limit.rlim_cur = 2 * MANY;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(open_files_limit(), 2 * MANY);
	int64_t before = open_files_count(&files);
	int last = fcntl(0, F_DUPFD_CLOEXEC, MANY);
	ck_assert_int_ge(last, MANY);
	for (int looks = 0; open_files_count(&files) == before; looks++) {
		ck_assert_int_lt(looks, 10);
	}
	ck_assert_int_eq(files.count, before + 1);
	close(last);
	for (int looks = 0; open_files_count(&files) != before; looks++) {
		ck_assert_int_lt(looks, 10);
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN(
		"open_files", NULL, NULL, both_ways_count_what_is_open, many_are_counted_over_some_looks);
}
