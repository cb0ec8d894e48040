/*
 * release: leases given up, released at the master until it confirms that they are gone.
 *
 * An acquire whose answer was lost may still be executed. So its release is sent at once on the same link,
 * and again until a confirmation carries a master's time later than the acquire's own deadline: from then on
 * the acquire refuses itself. The expiry of the key is the last resort.
 */
#ifndef CORE_RELEASE_H
#define CORE_RELEASE_H

#include "daemon/core/state.h"

/* Releases this lease as it is now: every seat that is ours or may be. place_ms: how long the daemon keeps a
 * place at the head of the queue at the queue master; 0: it takes none. */
void release_seats(struct core *core, const struct lease *l, int64_t place_ms);

/* The same, but no release leaves before from_ms: holders of this lease may rely on it until then. */
void release_seats_from(struct core *core, const struct lease *l, int64_t from_ms);

void release_vote(struct core *core, const struct vote *vote);
/* The slot is another server from now on, which has no lease of ours. */
void release_leave(struct core *core, unsigned master);
void release_timer(struct core *core, struct release *u);

/* A master is in use again: sends the releases that no answer has confirmed, and those that came due
 * meanwhile. A confirmed one is sent again after its acquire can no longer run. */
void release_retry_all(struct core *core);

#endif
