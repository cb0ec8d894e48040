/*
 * unseen_process: a daemon goes on from its ledger where it sees no process that a session is bound to, as in
 * another PID namespace. Such a process may be at work. So what it holds is withheld until what it was told
 * is over, or its session lasts for its grace.
 */
#ifndef SIM_UNSEEN_PROCESS_H
#define SIM_UNSEEN_PROCESS_H

#include <stdint.h>

struct host;

/* A process that goes on from a ledger wants to know when this one ends, and cannot see it, perhaps. */
void unseen_process_watched(struct host *host, int64_t pid);

#endif
