/*
 * child: the children of this process that somebody has to take leave of.
 *
 * As process 1, as in a container, the daemon inherits every process whose parent has ended, and the kernel
 * keeps each ended one until its status is read. The reaper reads it.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct event_base;
struct log;
struct reaper;

/* A child was reaped, with this status as of waitpid(). False: nobody waits for it, it was an orphan. */
typedef bool child_known(void *arg, pid_t pid, int status);

/* Reaps every child that ends from now on, and first those that have ended before. base and log are kept by
 * reference. NULL: out of memory. */
struct reaper *reaper_new(struct event_base *base, child_known *known, void *arg, struct log *log)
	__attribute__((warn_unused_result));
/* Call it before base is freed. */
void reaper_free(struct reaper *reaper);

#endif
