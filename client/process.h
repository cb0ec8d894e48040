/*
 * process: processes as /proc shows them: the members of a running command, ancestors, and the peers of the
 * daemon by name.
 */
#ifndef CLIENT_PROCESS_H
#define CLIENT_PROCESS_H

#include "proto/answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The processes of a running command. If the command has a process group of its own, the members are all
 * processes of that group. If it shares the group of a terminal's pipeline, the members are the descendants
 * of `root` inside that group, and the command itself. Any other process that leaves the group (a daemon with
 * setsid()) is no longer a member.
 *
 * The caller is root or its parent. It is a subreaper, so that descendants remain descendants when their
 * parents end.
 *
 * Far members are descendants in any group that have a pipe, the tether of client/job/run.h.
 */
struct descendants {
	pid_t group;   /* process group */
	pid_t root;    /* its descendants are members; root is not */
	bool shared;   /* the group also has other processes */
	pid_t command; /* a member in any group, since an interactive shell makes its own; 0: it has ended */
	uint64_t pipe; /* its inode; 0: there are no far members */
};

/* Sends a signal to every living member; TERM, KILL, STOP and CONT to far members, too. False if there was
 * none. */
bool descendants_signal(const struct descendants *d, int signal);

/*
 * Sends CONT after a STOP, when all members have come to a stop, for which it waits 100 ms at most. A member
 * that gets both while it forks leaves a child that is stopped and that no CONT reaches any more (seen with
 * Linux 6.18).
 */
void descendants_continue(const struct descendants *d);

enum descendants_rest {
	DESCENDANTS_GONE,  /* no member is alive */
	DESCENDANTS_LIVES, /* *pidfd becomes readable when a member ends; the caller closes it */
	DESCENDANTS_UNSURE /* /proc changed while it was read, or could not be read: try again */
};

enum descendants_rest descendants_watch(const struct descendants *d, int *pidfd)
	__attribute__((warn_unused_result));

/* The parent of a process; 0: the process is gone, or its parent is not visible. */
pid_t descendants_parent(pid_t pid);

/* pidfd_open(2); -1 and errno. Close-on-exec. */
int descendants_pidfd(pid_t pid) __attribute__((warn_unused_result));

#define PROCESS_PROGRAM_MAX 32
#define PEER_TEXT_MAX       320

/* The name of a process's program, as ps(1) shows it; "": there is no such process. */
void process_program(int64_t pid, char name[PROCESS_PROGRAM_MAX]);

/* The first of these that is known: on this host, the command of a `holdfast run` with its arguments; the
 * name that the client gave its connection; on this host, the program of the process; "-". It may contain
 * control bytes. map has client, pid and address (PROTOCOL.md 6). Returns out. */
const char *peer_name(char out[PEER_TEXT_MAX], const struct answer *map, bool local);

/* The process of the client, "pid 4711", else its address. Returns out. */
const char *peer_address(char out[PEER_TEXT_MAX], const struct answer *map);

/* Where the client is and who it is: "pid 4711 on app-1, uid 1000"; over TCP "10.0.0.7:51234, user billing",
 * or the address alone. host: "": this host. Returns out. */
const char *peer_origin(char out[PEER_TEXT_MAX], const struct answer *map, const char *host);

#endif
