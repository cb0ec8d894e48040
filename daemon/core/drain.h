/*
 * drain: the daemon stops (PROTOCOL.md 6.9). core.c calls it.
 *
 *     DRAIN_NONE ──▶ DRAIN_WAITS ──▶ DRAIN_ENDS      state.h
 *
 * It takes nothing new and waits for those who hold; then it tells who still holds, and takes its
 * registration back from its masters.
 */
#ifndef CORE_DRAIN_H
#define CORE_DRAIN_H

#include "daemon/core/event.h"

#include <stdbool.h>

struct core;

/* EVENT_DRAIN. The connection of this number gets the answer when the wait is over; 0: nobody does. Unless
 * waits, that is now. */
void drain_ask(struct core *core, conn_id id, bool waits);

/* Everything of a step has been settled. Goes on to the end if nobody is waited for any more; true: it did,
 * and there is more to schedule. */
bool drain_goes_on(struct core *core) __attribute__((warn_unused_result));

/* When nobody relies on a lease of this daemon any more its masters are told, once: daemons with other limits
 * or of another format need not wait for the end of its registration. */
void drain_leave(struct core *core);

#endif
