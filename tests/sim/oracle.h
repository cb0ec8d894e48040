/*
 * oracle: the checker's part about what each request may be answered, by the verb and by what the model knows
 * of its session before: which types of answer, and which error codes. An answer that nothing of that allows
 * is undocumented, or untrue. What the numbers in it say is judged where they belong (answers.h, said.h).
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

struct world;

/* Before the model learns of the answer. */
void oracle_reply(struct world *world, struct conn *conn, const struct reply *reply);

/* A connection of this daemon whose session is bound to that process; NULL: none. */
struct conn *oracle_bound(const struct world *world, const struct conn *conn, int64_t pid);

#endif
