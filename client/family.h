/*
 * family: the processes of a running command, as /proc shows them.
 *
 * A command with a process group of its own is all of that group. One that shares the group of a terminal's
 * pipeline is what descends from `root` inside that group, and the command itself. Who else leaves the group
 * (a daemon with setsid()) has left the family.
 *
 * The caller is root or its parent, and a subreaper, so that descendants stay descendants when their parents
 * end.
 */
#ifndef CLIENT_FAMILY_H
#define CLIENT_FAMILY_H

#include <stdbool.h>
#include <sys/types.h>

struct family {
	pid_t group;   /* process group */
	pid_t root;    /* whose descendants count; itself does not */
	bool shared;   /* the group has other processes, too */
	pid_t command; /* a member in any group: a shell for people makes one for itself; 0: it has ended */
};

/* Sends a signal to every living member. False when there was none. */
bool family_signal(const struct family *f, int signal);

enum family_rest {
	FAMILY_GONE,  /* no member lives */
	FAMILY_LIVES, /* *pidfd becomes readable when one of them ends; close it */
	FAMILY_UNSURE /* /proc changed while it was read, or could not be: look again */
};

enum family_rest family_watch(const struct family *f, int *pidfd) __attribute__((warn_unused_result));

/* The parent of a process; 0: it is gone, or has none that we see. */
pid_t family_parent(pid_t pid);

/* pidfd_open(2); -1 and errno. Close-on-exec. */
int family_pidfd(pid_t pid) __attribute__((warn_unused_result));

#endif
