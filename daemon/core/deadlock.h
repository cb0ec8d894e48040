/*
 * deadlock: waits that wait for themselves, among the sessions of this daemon.
 *
 * A session stands when each of its connections waits in a LOCK or MLOCK that may take its time; it goes on
 * as soon as one of them is answered. A wait that can never be answered, whatever all who do not stand will
 * do, is stuck. One that closes such a cycle is refused, before anybody waits in vain; whoever waits in it
 * already goes on waiting.
 *
 * Not looked at, for they end by themselves: what is tried once, what an abandoned session still withholds,
 * and whatever happens at other daemons. Nothing is found that is not there; in a crowd too large to look
 * through in reasonable time a cycle may be overlooked, and lasts until somebody's WAIT is over. Where many
 * searches of crowds come at the same time some of them are put off, and who closes a cycle waits for a
 * while before he is told.
 */
#ifndef CORE_DEADLOCK_H
#define CORE_DEADLOCK_H

#include "daemon/core/state.h"

#define DEADLOCK_LOOKS                                                                                       \
	20000 /* of a search, at connections, holds and waits: a millisecond or two; and of all that         \
		 are in the same ms */

/* Whether this wait, which has just begun, closes a cycle. True: *out is the DEADLOCK that names it. */
bool deadlock_closes(struct core *core, const struct waiter *w, struct reply *out);

/* Something else than a new wait may have closed a cycle: the session has a connection less, or was given
 * something while it stands. Refuses one of its waits then. */
void deadlock_look(struct core *core, struct session *s);

/* Time for one that was put off. */
void deadlock_timer(struct core *core);
/* The session ends. */
void deadlock_forget(struct core *core, struct session *s);

#endif
