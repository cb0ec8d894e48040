/*
 * release: leases given up, released at the master until it has confirmed that they are gone.
 *
 * An acquire whose answer was lost may still be executed. Its release is therefore sent at once on the same
 * link, and again until a confirmation carries a master's time later than the acquire's own deadline: from
 * then on the acquire refuses itself. The key's own end is the last resort.
 */
#ifndef CORE_RELEASE_H
#define CORE_RELEASE_H

#include "daemon/core/state.h"

/* Of this lease as it is now: every seat that is ours or may be. place_ms: for how long the daemon goes back
 * to the head of the queue at home; 0: it does not. */
void release_seats(struct core *core, const struct lease *l, int64_t place_ms);

/* The same, but no release leaves before from_ms: holders of this lease may rely on it until then. */
void release_seats_from(struct core *core, const struct lease *l, int64_t from_ms);

void release_vote(struct core *core, const struct vote *vote);
/* The slot is another server from now on: nothing of ours stands there. */
void release_leave(struct core *core, unsigned master);
void release_timer(struct core *core, struct release *release);

/* A master is in use again: what no answer has confirmed is sent now, and what was due meanwhile. What was
 * confirmed before is sent again when the acquire can no longer run. */
void release_retry_all(struct core *core);

#endif
