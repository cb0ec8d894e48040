/*
 * tempdir: a private directory for one test, removed at the end of the test, however it ends.
 *
 * A helper process removes it when the test calls tempdir_done() or its process ends. So a failed assertion,
 * a timeout or kill -9 leave nothing behind.
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

/* Aborts the test if no directory can be created. */
void tempdir_init(struct tempdir *dir);
/* Returns when the directory is removed. */
void tempdir_done(struct tempdir *dir);

#endif
