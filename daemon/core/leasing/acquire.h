/*
 * acquire: a round that asks the masters for a lease, from the first question to the lease or the refusal.
 *
 * All masters that can be asked are asked at once. A majority wins; a minority is released at once, on the
 * same links. One of the masters, the queue master, keeps the queue of the name. Its "not your turn" counts
 * whatever the other masters say, and it says when to ask again.
 *
 * A daemon that has released the lease while another daemon waits, or that is behind others in the queue,
 * asks the queue master alone at first. So it does not take a master from the daemon whose turn it is. It
 * asks the other masters only if the queue master has no objection, if this daemon turns out to be the head
 * of the queue, or if the queue master names the same holder as last time: a holder that is gone may be
 * remembered there alone. If a round has no winner, its daemons ask again soon, at different times.
 */
#ifndef CORE_ACQUIRE_H
#define CORE_ACQUIRE_H

struct core;
struct lease;
struct vote;

/* NONE or WAITING: begins a round, for what the first waiter wants. A majority must be usable
 * (majority_usable). */
void acquire_begin(struct core *core, struct lease *l);

/* NONE, with PAUSE_FOREIGN: leaves time for a foreign client, which has no position in our queue, and then
 * asks again. */
void acquire_pause(struct core *core, struct lease *l);

/* ACQUIRING: handles an answer that lease_answered() has accepted. */
void acquire_vote(struct core *core, struct lease *l, const struct vote *vote);

/* ACQUIRING: the answers take too long. WAITING: time to ask again. */
void acquire_timer(struct core *core, struct lease *l);

/* That master sent a wake-up for this name: the queue master calls the head of its queue. */
void acquire_called(struct core *core, struct lease *l, unsigned master);

/* A wake-up may have been missed, or a master can be asked again. This does not make us the head of the
 * queue: with several masters, one of them may come and go many times a second, and if each time counted as a
 * call, this daemon would take the others from the daemon whose turn it is. */
void acquire_again(struct core *core, struct lease *l);

/* WAITING, and no majority can be asked: gives up our position in the queue, and forgets a lock of another
 * kind or limit that was found there. */
void acquire_step_back(struct core *core, struct lease *l);

#endif
