/*
 * process: the processes that sessions are bound to (SESSION BIND), and the news of their end.
 *
 * The driver is the only user. A client names the process that connected over the Unix socket, or another by
 * a pidfd that it passes along. Neither can be a recycled pid. The core decides what a binding means, not
 * this file.
 */
#ifndef NET_PROCESS_H
#define NET_PROCESS_H

#include "daemon/core/base/peer.h"
#include "proto/reply.h"

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct processes;
struct record;

/* Of a client that the kernel gives no number here: what whoever runs the daemon has to change. */
#define PROCESS_APART                                                                                        \
	"the process is in a PID namespace this daemon does not see: start the daemon's container with "     \
	"--pid=host, or its pod with hostPID: true or shareProcessNamespace: true"

/* What the identity of a process shows. Only PROCESS_ENDED says that it has ended; otherwise it may be
 * working. */
enum process_sight {
	PROCESS_RUNS,
	PROCESS_ENDED,
	PROCESS_LATER, /* not now: this daemon is out of descriptors or memory */
	PROCESS_UNSEEN /* it is of another PID namespace, or the kernel or /proc hides it */
};

/* Called from the event loop, never from within the functions below. The process is forgotten already.
 * PROCESS_ENDED or PROCESS_UNSEEN. */
typedef void process_gone(void *arg, struct process process, enum process_sight sight);

/* Each watched process costs a descriptor. */
struct processes_limits {
	size_t most;     /* processes watched at the same time */
	size_t per_user; /* bound by clients of one uid */
};

/* NULL: out of memory. */
struct processes *processes_new(struct event_base *base, const struct processes_limits *limits,
	process_gone *gone, void *arg) __attribute__((warn_unused_result));
/* Lower limits apply to new bindings. */
void processes_set_limits(struct processes *set, const struct processes_limits *limits);
void processes_free(struct processes *set);

/*
 * Tells which process a pidfd names. 0: *out is set. -1: *error says why it cannot be bound: not a pidfd, a
 * process that has ended or is not visible, or a process of another user than uid (0 may bind any). The
 * caller keeps the descriptor.
 */
int process_identify(int pidfd, int64_t uid, struct process *out, struct reply *error)
	__attribute__((warn_unused_result));

/*
 * Watches a process for a client of this uid. The set owns pidfd from now on, also on failure. A process that
 * is watched already is watched once. -1 and *error: too many, or out of memory.
 */
int processes_watch(struct processes *set, struct process process, int pidfd, int64_t uid,
	struct reply *error) __attribute__((warn_unused_result));

bool processes_has(const struct processes *set, struct process process);
/* Stops watching: the core did not accept the binding. */
void processes_forget(struct processes *set, struct process process);

/* The session is bound to this watched process, and may outlive its connections. */
void processes_bind(struct processes *set, struct process process, session_id session);
/* Keeps, for reports, the label of the last connection of such a session. Does nothing if there is no such
 * session or no memory. */
void processes_keep_label(struct processes *set, session_id session, const char *label);
/* NULL: no label is stored. Valid until the process ends. */
const char *processes_label(const struct processes *set, session_id session);

size_t processes_count(const struct processes *set);

/*
 * A new pidfd, close-on-exec, which the caller owns, of the process that connected over a Unix socket: its
 * pid and when its connection was accepted (CLOCK_BOOTTIME, ms). -1: it has ended, or is not visible here. A
 * process that got a recycled pid began after the connection, and so is not taken for it.
 */
int process_open_peer(int64_t pid, int64_t since_ms) __attribute__((warn_unused_result));

/* A new pidfd of this process, close-on-exec, which the caller owns. -1: *sight says why there is none. */
int process_open(struct process process, enum process_sight *sight) __attribute__((warn_unused_result));

/*
 * Watches a process again that this session is bound to, whatever the limits. If the process has ended
 * meanwhile, or cannot be seen here, the next turn of the loop reports that. If the process cannot be watched
 * now, the daemon tries again: the session must not end while the process may be alive. False: out of memory.
 */
bool processes_restore(struct processes *set, struct process process, session_id session, int64_t uid)
	__attribute__((warn_unused_result));

/* A record for each process that is watched. */
void processes_save(const struct processes *set, struct record *r);
/* As processes_restore(), the process of the current record, for the session that is bound to it. */
void processes_load(struct processes *set, struct record *r);

#endif
