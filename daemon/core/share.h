/*
 * share: exclusive and shared holds of a name, which stand on the one lease the daemon has of it.
 *
 *     a writer is first here acquire─▶ EXCLUSIVE lease: a writer has it, or readers ──▶ given back
 *                                         │ readers have it, and another daemon wants it
 *                                         ▼
 *     a reader is first here acquire─▶ SHARED lease: readers, here and there ─────────▶ given back
 *
 * Waiters are served in the order in which they came. A writer is alone; readers come in together, all that
 * wait in front of the next writer, and none behind it. While a daemon elsewhere waits to write, nobody who
 * comes later reads here. A shared lease never becomes an exclusive one: it is given back, and acquired
 * again.
 */
#ifndef CORE_SHARE_H
#define CORE_SHARE_H

#include "daemon/core/state.h"

/* Before a step ends: grants whom it can, and asks for, keeps, or gives back the lease. */
void share_schedule(struct core *core, struct resource *r);

/* What a waiter is told whose WAIT is over. */
void share_refusal(const struct core *core, const struct waiter *w, struct reply *out);

#endif
