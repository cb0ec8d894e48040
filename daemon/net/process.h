/*
 * process: the processes that sessions are bound to (SESSION BIND), and the news of their end.
 *
 * The driver is the only user. A process is named by a pidfd that its client passed over the Unix socket:
 * that works across PID namespaces and cannot name a recycled pid. Nothing here decides what a binding means;
 * the core does.
 */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include "daemon/core/peer.h"
#include "proto/reply.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct processes;

/* Called from the event loop, never from within the functions below; the process is forgotten already. */
typedef void process_ended(void *arg, struct process process);

/* Each costs a descriptor. */
struct processes_limits {
	size_t most;     /* watched at the same time */
	size_t per_user; /* bound by clients of one uid */
};

/* NULL: out of memory. */
struct processes *processes_new(struct event_base *base, const struct processes_limits *limits,
	process_ended *ended, void *arg) __attribute__((warn_unused_result));
/* Lower limits are for those that come. */
void processes_set_limits(struct processes *set, const struct processes_limits *limits);
void processes_free(struct processes *set);

/*
 * Says who a pidfd names. 0: *out is set. -1: *error says why it cannot be bound: not a pidfd, a process that
 * has ended or is out of sight, or one of another user than uid (0 may bind any). The descriptor stays the
 * caller's.
 */
int process_identify(int pidfd, int64_t uid, struct process *out, struct reply *error)
	__attribute__((warn_unused_result));

/*
 * Watches a process for a client of this uid, through pidfd, which the set owns from here on in any case. A
 * process that is watched already is watched once. -1 and *error: too many, or out of memory.
 */
int processes_watch(struct processes *set, struct process process, int pidfd, int64_t uid,
	struct reply *error) __attribute__((warn_unused_result));

bool processes_has(const struct processes *set, struct process process);
/* No news of it any more: the core did not want the binding. */
void processes_forget(struct processes *set, struct process process);

/* The session that is bound to a process that is watched: it may outlive its connections. */
void processes_bind(struct processes *set, struct process process, session_id session);
/* Keeps what the last connection of such a session called itself, for people to see. Without memory, or such
 * a session, it is not kept. */
void processes_keep_label(struct processes *set, session_id session, const char *label);
/* NULL: none is kept. Valid until the process ends. */
const char *processes_label(const struct processes *set, session_id session);

size_t processes_count(const struct processes *set);

#endif
