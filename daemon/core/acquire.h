/*
 * acquire: asking the masters for a lease, from the question to all of them to the refusal.
 *
 * All that can be asked are asked at once. A majority wins; a minority is given back at once, on the same
 * links. One of them, home, has the queue of the name: its "not your turn" counts whatever the others say,
 * and its word on when to come back. Who gave a lease back while another daemon waits, or stands behind
 * others, asks home alone at first, so as not to take a master from the one whose turn it is; the others
 * only when home leaves that open, when it turns out to be the head, or when home is held by the same one as
 * at the last look: somebody gone may be there alone. Who lost without a winner comes back soon, but not all
 * at the same time.
 */
#ifndef CORE_ACQUIRE_H
#define CORE_ACQUIRE_H

#include "daemon/core/state.h"

/* NONE or WAITING: asks, for what the first waiter wants. A majority must be usable (quorum_usable). */
void acquire_begin(struct core *core, struct lease *l);

/* NONE, just given back: lets somebody else have it who does not stand in our queue, and then asks again. */
void acquire_rest(struct core *core, struct lease *l);

/* ACQUIRING: an answer, which lease_heard() has taken. */
void acquire_vote(struct core *core, struct lease *l, const struct vote *vote);

/* ACQUIRING: the answers take too long. WAITING: time to look again. */
void acquire_timer(struct core *core, struct lease *l);

/* A wake-up for this name from that master: home calls the head of its queue. */
void acquire_called(struct core *core, struct lease *l, unsigned master);

/* A wake-up may have been missed, or a master can be asked again. That does not make us the head: with
 * several masters one of them may come and go many times a second, and whoever takes that for a call takes
 * the others from the one whose turn it is each time. */
void acquire_look(struct core *core, struct lease *l);

/* WAITING, without a majority that could be asked: gives up our place in the queue, and forgets what was
 * there of another kind. */
void acquire_step_back(struct core *core, struct lease *l);

#endif
