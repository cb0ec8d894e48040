/*
 * process: the processes that sessions are bound to (SESSION BIND), and the news of their end.
 *
 * The driver is the only user. A process is named by a pidfd that its client passed over the Unix socket:
 * that works across PID namespaces and cannot name a recycled pid. Nothing here decides what a binding means;
 * the core does.
 */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

#include "daemon/core/peer.h"
#include "proto/reply.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct processes;

/* Called from the event loop, never from within the functions below; the process is forgotten already. */
typedef void process_ended(void *arg, struct process process);

/* NULL: out of memory. most: how many processes are watched at the same time. */
struct processes *processes_new(struct event_base *base, size_t most, process_ended *ended, void *arg)
	__attribute__((warn_unused_result));
void processes_free(struct processes *set);

/*
 * Says who a pidfd names. 0: *out is set. -1: *error says why it cannot be bound: not a pidfd, a process that
 * has ended or is out of sight, or one of another user than uid (0 may bind any). The descriptor stays the
 * caller's.
 */
int process_identify(int pidfd, int64_t uid, struct process *out, struct reply *error)
	__attribute__((warn_unused_result));

/*
 * Watches a process through pidfd, which the set owns from here on in any case. A process that is watched
 * already is watched once. -1 and *error: too many, or out of memory.
 */
int processes_watch(struct processes *set, struct process process, int pidfd, struct reply *error)
	__attribute__((warn_unused_result));

bool processes_has(const struct processes *set, struct process process);
/* No news of it any more: the core did not want the binding. */
void processes_forget(struct processes *set, struct process process);

size_t processes_count(const struct processes *set);

#endif
