/*
 * child: the children of this process: a program that is run to its end beside the loop; and, as process 1,
 * orphans.
 *
 * handover tries the next program in this way. The private redis-server, which outlives the program of this
 * process, is in daemon/redis/embedded.c.
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child;
struct event_base;
struct log;
struct reaper;

/* The number of the descriptor that it is given. */
#define CHILD_GIVEN 3

/* Room for how it ended, and the first line that it wrote. */
#define CHILD_WHY_MAX 512

/* Called from the event loop, never from within the functions below. failed: how it ended, and what it said,
 * for people; NULL: with exit status 0. The child has to be freed. */
typedef void child_ended(void *arg, const char *failed);

/*
 * Runs a program with the environment of this process, as the leader of a process group. It has /dev/null,
 * its output is heard, and it has a copy of the descriptor given, which stays the caller's; all others have
 * to be close-on-exec. After most_ms it is killed, and a second later its end is reported at the latest. No
 * memory is copied, however much this process has, and the loop waits only until the program is loaded. NULL
 * with errno.
 */
struct child *child_run(struct event_base *base, const char *path, char *const argv[], int given,
	int64_t most_ms, child_ended *ended, void *arg) __attribute__((warn_unused_result));
/* Kills it if it runs, with its process group, and takes leave of it; waits for that a second at most. NULL
 * is allowed. */
void child_free(struct child *child);
/* As child_known. */
bool child_reaped(struct child *child, pid_t pid, int status);

/* "exit status 3", "killed by signal 9". */
#define CHILD_STATUS_MAX 64
void child_status_text(int status, char text[CHILD_STATUS_MAX]);

/*
 * Reaps orphans. As process 1, as in a container, the daemon inherits every process whose parent has ended,
 * and the kernel keeps each ended one until its status is read.
 */

/* A child was reaped, with this status as of waitpid(). False: no part of the daemon had started the child,
 * so the child was an orphan. */
typedef bool child_known(void *arg, pid_t pid, int status);

/* Reaps every child that ends from now on, and first those that have ended before. base and log are held by
 * reference. NULL: out of memory. */
struct reaper *reaper_new(struct event_base *base, child_known *known, void *arg, struct log *log)
	__attribute__((warn_unused_result));
/* Call it before base is freed. */
void reaper_free(struct reaper *reaper);

#endif
