/*
 * asyncs: the ASYNC waits of one session by their ids, for a session that has many.
 *
 * Of a few all are gone through. Of thousands each LOCK would cost a look at all others, for its id must not
 * be in use, and everybody else would wait. So the first look at many makes a table, which is kept up until
 * few are left; without memory for it the look is as slow as it was.
 */
#ifndef CORE_ASYNCS_H
#define CORE_ASYNCS_H

#include "daemon/core/state.h"

/* As many are gone through. */
#define ASYNCS_FEW 16

/* The one of this id; NULL: none. */
struct waiter *asyncs_find(const struct core *core, struct session *s, struct slice id);

/* It waits ASYNC from now on, and is among its session's waits; it is about to wait no longer. */
void asyncs_add(const struct core *core, struct waiter *w);
void asyncs_remove(const struct waiter *w);

/* The table of a session that ends. */
void asyncs_done(struct session *s);

#endif
