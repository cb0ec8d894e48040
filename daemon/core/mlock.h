/*
 * mlock: the names of one MLOCK, of which a session gets all or none.
 *
 *     all that are missing, ──all granted──▶ answered with their tokens
 *     each tried once
 *         │  ▲
 *     refused│granted
 *         ▼  │
 *     the smallest of them, waited for, with nothing larger held
 *
 * Whoever waits for a name in an MLOCK holds nothing but smaller names of it; so MLOCKs never wait for each
 * other in a cycle, within a daemon or between several. Until the answer its holds are the session's as far
 * as others are concerned, but told to nobody: they are given back, not withheld, when something goes wrong,
 * and one that is lost is taken again, after all that are larger have been given back.
 */
#ifndef CORE_MLOCK_H
#define CORE_MLOCK_H

#include "daemon/core/state.h"

/* MLOCK and MUNLOCK. */
void mlock_begin(struct core *core, struct conn *conn, const struct command *command);
void mlock_munlock(struct core *core, struct conn *conn, const struct command *command);

/* Before a step ends: what follows for those that were touched. False: none was. */
bool mlock_schedule(struct core *core);

/* WAIT is over. No more requests will come: what it waits for is tried once. Its connection is gone. */
void mlock_timer(struct core *core, struct mlock *b);
void mlock_make_once(struct core *core, struct mlock *b);
void mlock_drop(struct core *core, struct mlock *b);

/* Every one that waits gets this answer. */
void mlock_answer_all(struct core *core, const struct reply *reply);

#endif
