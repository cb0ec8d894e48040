/*
 * asyncs: the ASYNC waits of one session by their ids, for a session that has many.
 *
 * A few are searched one by one. With thousands, each LOCK would go through all of them to see that its id is
 * not in use, and other clients would wait. So the first lookup among many makes a table, which is kept up
 * until few are left. Without memory for it, the lookup stays slow.
 */
#ifndef CORE_ASYNCS_H
#define CORE_ASYNCS_H

#include "daemon/core/state.h"

/* Up to so many are searched one by one. */
#define ASYNCS_FEW 16

/* The wait with this id; NULL: none. */
struct waiter *asyncs_find(const struct core *core, struct session *s, struct slice id);

/* The wait is ASYNC, and has just joined its session's waits; and: it is about to leave them. */
void asyncs_add(const struct core *core, struct waiter *w);
void asyncs_remove(const struct waiter *w);

/* Frees the table of a session that ends. */
void asyncs_done(struct session *s);

#endif
