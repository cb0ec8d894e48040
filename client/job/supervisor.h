/*
 * supervisor: the wrapper's side of the supervisor process, and the process itself.
 */
#ifndef CLIENT_SUPERVISOR_H
#define CLIENT_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct news;
struct supervisor;
struct supervisor_plan;

/* Forks. The caller has blocked all signals. False and errno on failure. */
bool supervisor_start(struct supervisor *s, const struct supervisor_plan *plan)
	__attribute__((warn_unused_result));

void supervisor_go(struct supervisor *s);

/* Sends a signal to all descendants; TERM, KILL, STOP and CONT also to those that have left the group with
 * the tether. KILL is repeated until none is left. */
void supervisor_signal(struct supervisor *s, int signal);

/* The wrapper was continued, but not by the supervisor. */
void supervisor_continued(struct supervisor *s);

/* Changes limit_ms of the plan. */
void supervisor_limit(struct supervisor *s, int64_t limit_ms);

/* Blocks. False if a signal interrupted it. */
bool supervisor_read(struct supervisor *s, struct news *news) __attribute__((warn_unused_result));

/* After NEWS_GONE or NEWS_FAILED: lets the supervisor end, and waits for its end. */
void supervisor_finish(struct supervisor *s);

/* After NEWS_LOST: what the supervisor has left is our children now. Kills all that counts, and returns when
 * nothing of it is left. child: 0: it never started. */
void supervisor_kill_orphans(const struct supervisor_plan *plan, pid_t child, bool child_ended);

#endif
