/*
 * descendants: the processes of a running command, as /proc shows them.
 *
 * A command with a process group of its own is all of that group. One that shares the group of a terminal's
 * pipeline is what descends from `root` inside that group, and the command itself. Who else leaves the group
 * (a daemon with setsid()) has left the descendants.
 *
 * The caller is root or its parent, and a subreaper, so that descendants stay descendants when their parents
 * end.
 */
#ifndef CLIENT_DESCENDANTS_H
#define CLIENT_DESCENDANTS_H

#include <stdbool.h>
#include <sys/types.h>

struct descendants {
	pid_t group;   /* process group */
	pid_t root;    /* whose descendants count; itself does not */
	bool shared;   /* the group has other processes, too */
	pid_t command; /* a member in any group: a shell for people makes one for itself; 0: it has ended */
};

/* Sends a signal to every living member. False when there was none. */
bool descendants_signal(const struct descendants *f, int signal);

enum descendants_rest {
	DESCENDANTS_GONE,  /* no member lives */
	DESCENDANTS_LIVES, /* *pidfd becomes readable when one of them ends; close it */
	DESCENDANTS_UNSURE /* /proc changed while it was read, or could not be: look again */
};

enum descendants_rest descendants_watch(const struct descendants *f, int *pidfd)
	__attribute__((warn_unused_result));

/* The parent of a process; 0: it is gone, or has none that we see. */
pid_t descendants_parent(pid_t pid);

/* pidfd_open(2); -1 and errno. Close-on-exec. */
int descendants_pidfd(pid_t pid) __attribute__((warn_unused_result));

#endif
