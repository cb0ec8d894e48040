/*
 * closer: a program that closes the descriptors of libholdfast, and uses their numbers for files of its own.
 * tests/e2e/check_library.py starts it. The file named by the second argument says what is wrong; exit status
 * 0: nothing.
 *
 *     closer all FILE        closes all descriptors while a lock is held, opens NUMBERS files, and goes on
 *     closer silent FILE     the same with pipes in which nothing comes
 *     closer standard FILE   closes 0 to 2 before it opens a handle
 */
#include "client/c/holdfast.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERS 64 /* more than the library has */

static const char *path; /* of the report */

static void
fail(const char *what, const struct holdfast_error *error)
{
	FILE *report = fopen(path, "w");

	if (report != NULL) {
		(void)fprintf(report, "%s: %s\n", what, error != NULL ? error->text : "");
		(void)fclose(report);
	}
	_exit(1);
}

static struct holdfast_lock *
take(struct holdfast *hf, const char *name)
{
	struct holdfast_error error;
	struct holdfast_lock *lock = holdfast_lock(hf, name, NULL, &error);

	if (lock == NULL) {
		fail(name, &error);
	}
	return lock;
}

static void
give(struct holdfast_lock *lock)
{
	struct holdfast_error error;

	if (holdfast_unlock(lock, &error) != HOLDFAST_OK) {
		fail("unlock", &error);
	}
}

/* The program's own files take the free numbers, and the library neither writes to them nor closes them. A
 * regular file can always be read; silent: a pipe in which nothing comes. */
static void
numbers_use(int files[NUMBERS], const char *folder, bool silent)
{
	char name[512];
	int ends[2];

	if (silent && pipe(ends) != 0) {
		fail("pipe", NULL);
	}
	for (int i = 0; i < NUMBERS; i++) {
		(void)snprintf(name, sizeof(name), "%s.%d", folder, i);
		files[i] = silent ? dup(ends[0]) : open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (files[i] < 0) {
			fail("open", NULL);
		}
	}
}

static void
numbers_check(const int files[NUMBERS], bool silent)
{
	struct stat about;

	for (int i = 0; i < NUMBERS; i++) {
		if (fstat(files[i], &about) != 0 ||
			(silent ? !S_ISFIFO(about.st_mode) : !S_ISREG(about.st_mode))) {
			fail("a file of the program was closed", NULL);
		}
		if (!silent && about.st_size != 0) {
			fail("a file of the program was written to", NULL);
		}
	}
}

/* In a thread of its own, so that it waits for a descriptor that has become a file of the program. */
static void *
await(void *lock)
{
	struct holdfast_error error;

	if (holdfast_wait(lock, 0, &error) != HOLDFAST_OK) {
		fail("wait", &error);
	}
	return NULL;
}

static void
close_all(bool silent)
{
	struct holdfast *hf = holdfast_open(NULL, NULL);
	struct holdfast_lock *held = take(hf, "held"), *waits;
	struct holdfast_error error;
	pthread_t waiter;
	int files[NUMBERS];

	waits = holdfast_begin(hf, &(const char *){"held"}, 1, NULL, &error);
	for (int fd = 3; fd < 256; fd++) {
		(void)close(fd);
	}
	numbers_use(files, path, silent);
	if (waits == NULL || pthread_create(&waiter, NULL, await, waits) != 0) {
		fail("begin", &error);
	}
	if (holdfast_check(held, &error) != HOLDFAST_OK) {
		fail("check", &error);
	}
	/* The library notices within a second, and comes back: that may take longer than it waits here. */
	if (holdfast_unlock(held, &error) != HOLDFAST_OK && error.status != HOLDFAST_UNREACHABLE) {
		fail("unlock", &error);
	}
	(void)pthread_join(waiter, NULL);
	for (int i = 0; i < 20; i++) {
		give(take(hf, "next"));
	}
	give(waits);
	holdfast_close(hf);
	numbers_check(files, silent);
}

static void
close_standard(void)
{
	struct holdfast *hf;
	struct holdfast_lock *lock;

	for (int fd = 0; fd < 3; fd++) {
		(void)close(fd);
	}
	hf = holdfast_open(NULL, NULL);
	lock = take(hf, "standard");
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			fail("a standard descriptor is the library's", NULL);
		}
	}
	give(lock);
	holdfast_close(hf);
}

int
main(int argc, char **argv)
{
	if (argc != 3) {
		return 2;
	}
	path = argv[2];
	if (strcmp(argv[1], "standard") != 0) {
		close_all(strcmp(argv[1], "silent") == 0);
	} else {
		close_standard();
	}
	return 0;
}
