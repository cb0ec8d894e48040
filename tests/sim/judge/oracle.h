/*
 * oracle: the checker's part about the permitted answers to each request: the types of answer and the error
 * codes, by the verb and by the model's knowledge of the session. Any other answer is undocumented, or
 * untrue. The numbers in an answer are checked elsewhere (answers.h, master_answers.h).
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

struct world;

/* Called before the model learns of the answer. */
void oracle_reply(struct world *world, struct conn *conn, const struct reply *reply);

/* A connection of this daemon whose session is bound to that process; NULL: none. */
struct conn *oracle_bound(const struct world *world, const struct conn *conn, int64_t pid);

#endif
