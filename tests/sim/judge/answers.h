/*
 * answers: the checker's part about the content and the time of a single answer. A request for a name that
 * the session holds already, or about a hold, is answered at once. A wait does not end before its WAIT, nor
 * by RETRIES before that many refused rounds. A holder is told the validity that its daemon is sure of, less
 * the drift, and no more than LEASE and MAXHOLD leave. BREAK ends the hold that it names, and answers how
 * long the name is withheld.
 */
#ifndef SIM_ANSWERS_H
#define SIM_ANSWERS_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct hold;
struct wait;
struct world;

/* A command has been carried out. */
void answers_command(struct world *world, const struct conn *conn);

/* A LOCK is refused with this code; CODE_COUNT: with null. */
void answers_refused(struct world *world, const struct wait *v, enum code code);

/* The holder is told that its hold is valid for so many ms. */
void answers_told(struct world *world, const struct conn *conn, const struct hold *hold, int64_t ms);

void answers_break(struct world *world, const struct conn *conn, const struct reply *reply);

#endif
