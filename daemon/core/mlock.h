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
 * An MLOCK that waits for a name holds only smaller names. So MLOCKs never wait for each other in a cycle,
 * within a daemon or between several. Until the answer, its holds count as the session's for all others, but
 * no client has been told of them. So they are given back and not withheld if something goes wrong. One that
 * is lost is taken again, after all larger ones have been given back.
 */
#ifndef CORE_MLOCK_H
#define CORE_MLOCK_H

#include "daemon/core/state.h"

/* MLOCK and MUNLOCK. */
void mlock_begin(struct core *core, struct conn *conn, const struct command *command);
void mlock_munlock(struct core *core, struct conn *conn, const struct command *command);

/* Before a step ends: decides what follows for the dirty ones. False: none was dirty. */
bool mlock_schedule(struct core *core);

/* mlock_timer(): WAIT is over. mlock_make_once(): no more requests will come, so what it waits for is tried
 * once. mlock_drop(): its connection is gone. */
void mlock_timer(struct core *core, struct mlock *b);
void mlock_make_once(struct core *core, struct mlock *b);
void mlock_drop(struct core *core, struct mlock *b);

/* Answers every waiting MLOCK. */
void mlock_answer_all(struct core *core, const struct reply *reply);

#endif
