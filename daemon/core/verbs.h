/*
 * verbs: what each request of a client does. Each request gets exactly one answer, now or when its wait
 * ends.
 */
#ifndef CORE_VERBS_H
#define CORE_VERBS_H

#include "daemon/core/base/peer.h"

#include <stdbool.h>

struct command;
struct conn;
struct core;

void verb_run(struct core *core, struct conn *conn, const struct command *command);
/* EVENT_BREAK. */
void break_event(struct core *core, const struct command *command);

/*
 * A drain: the daemon stops (PROTOCOL.md 6.9). core.c calls it.
 *
 *     DRAIN_NONE ──▶ DRAIN_WAITS ──▶ DRAIN_ENDS
 *
 * It accepts nothing new and waits for the holders; then it tells the remaining holders, and ends its
 * registration at its masters.
 */

/* EVENT_DRAIN. The connection with this number gets the answer when the wait is over; 0: no answer. Without
 * waits, it is over now. */
void drain_event(struct core *core, conn_id id, bool waits);

/* A step has been scheduled, and a drain waits. Goes on to its end if holders are no longer waited for. True:
 * it did, and there is more to schedule. */
bool drain_goes_on(struct core *core) __attribute__((warn_unused_result));

/* At the end of each step of a drain that ends. When no client relies on a lease of this daemon any more,
 * tells its masters, once: daemons with other limits or another format need not wait for the end of its
 * registration. */
void drain_leave(struct core *core);

#endif
