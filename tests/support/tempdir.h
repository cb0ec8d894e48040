/*
 * tempdir: a private directory for one test, gone when the test is, however it ends.
 *
 * A small helper process removes it as soon as the test's process has closed it or died, so that a failed
 * assertion, a timeout or kill -9 leaves nothing behind either.
 */
#ifndef SUPPORT_TEMPDIR_H
#define SUPPORT_TEMPDIR_H

#include <sys/types.h>

#define TEMPDIR_PATH_MAX 64 /* short, so that Unix sockets fit below it */

struct tempdir {
	char path[TEMPDIR_PATH_MAX];
	pid_t janitor;
	int lifeline;
};

/* Aborts the test when there is no place for a directory. */
void tempdir_init(struct tempdir *dir);
/* Returns when everything is removed. */
void tempdir_done(struct tempdir *dir);

#endif
