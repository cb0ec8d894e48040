/*
 * share: exclusive and shared holds of a name, which stand on the one lease that the daemon has of it.
 *
 *     a writer comes first ──acquire─▶ EXCLUSIVE lease: a writer has it, or readers ──▶ given back
 *                                        │ readers have it, and another daemon wants it
 *                                        ▼
 *     a reader comes first ──acquire─▶ SHARED lease: readers, here and there ─────────▶ given back
 *
 * Waiters are served in arrival order. A writer holds the name alone. Readers are granted together: all in
 * front of the next writer, and none behind it. While another daemon has a waiting writer, no later reader is
 * granted here. A shared lease never becomes an exclusive one: it is given back, and acquired again.
 */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H

#include "daemon/core/lock/family.h"

#include <stdbool.h>

struct core;
struct lease;
struct reply;
struct resource;
struct waiter;

extern const struct lock_family share_family;

/* Whether a writer holds it here. */
bool lease_written(const struct lease *l);

/* HELD, and not of permits: neither a hold here nor a daemon that waits elsewhere is in this waiter's way. */
bool lease_open(const struct core *core, const struct lease *l, const struct waiter *w);

#endif
