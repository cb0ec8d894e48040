/*
 * drain: the daemon stops (PROTOCOL.md 6.9). core.c calls it.
 *
 *     DRAIN_NONE ──▶ DRAIN_WAITS ──▶ DRAIN_ENDS      state.h
 *
 * It accepts nothing new and waits for the holders; then it tells the remaining holders, and ends its
 * registration at its masters.
 */
#ifndef CORE_DRAIN_H
#define CORE_DRAIN_H

#include "daemon/core/event.h"

#include <stdbool.h>

struct core;

/* EVENT_DRAIN. The connection with this number gets the answer when the wait is over; 0: no answer. Without
 * waits, it is over now. */
void drain_ask(struct core *core, conn_id id, bool waits);

/* A step has been scheduled. Goes on to the end if holders are no longer waited for. True: it did, and there
 * is more to schedule. */
bool drain_goes_on(struct core *core) __attribute__((warn_unused_result));

/* When no client relies on a lease of this daemon any more, tells its masters, once: daemons with other
 * limits or another format need not wait for the end of its registration. */
void drain_leave(struct core *core);

#endif
