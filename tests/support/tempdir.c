/*
 * tempdir: mkdtemp, and a process that waits for the end of the test to remove it. Used by suites only.
 */
#include "tests/support/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REMOVE_TRIES 100

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	if (remove(path) == 0 || errno == ENOENT)
		return 0;
	return -1;
}

/* A server that is being killed may still create a file: then removes the tree again. */
static void
remove_tree(const char *path)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int i;

	for (i = 0; i < REMOVE_TRIES && access(path, F_OK) == 0; i++) {
		if (i > 0)
			nanosleep(&pause, NULL);
		nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
}

static void
janitor_run(const char *path, int lifeline)
{
	char byte;

	/* Check kills the process group of a test that takes too long; this process has to outlive it. */
	setsid();
	if (dup2(lifeline, 0) < 0)
		_exit(1);
	close_range(1, ~0U, 0);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	remove_tree(path);
	_exit(0);
}

void
tempdir_init(struct tempdir *dir)
{
	const char *top = getenv("TMPDIR");
	int ends[2];

	snprintf(dir->path, sizeof dir->path, "%s/hf-XXXXXX", top && strlen(top) < 40 ? top : "/tmp");
	if (!mkdtemp(dir->path) || pipe2(ends, O_CLOEXEC) != 0) {
		perror(dir->path);
		abort();
	}
	dir->janitor = fork();
	if (dir->janitor < 0) {
		perror("fork");
		abort();
	}
	if (dir->janitor == 0)
		janitor_run(dir->path, ends[0]);
	close(ends[0]);
	dir->lifeline = ends[1];
}

void
tempdir_done(struct tempdir *dir)
{
	close(dir->lifeline);
	while (waitpid(dir->janitor, NULL, 0) < 0 && errno == EINTR)
		;
}
