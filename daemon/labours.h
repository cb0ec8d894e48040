/*
 * labours: requests that take long, because they look at everything there is or make a glob that may be long,
 * one in each turn of the loop.
 *
 *     dispatch ──▶ labours_take() ──┬─ the first one of a turn ────────────▶ its handler
 *                                   └─ the others ──▶ first come, first served, one in each turn that follows
 *
 * Meanwhile a connection waits for its answer, as it does for the core's, and whoever asks for little is
 * served in each turn: however many clients list all locks as fast as they can, he waits for one list.
 */
#ifndef DAEMON_LABOURS_H
#define DAEMON_LABOURS_H

#include "daemon/desk.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

STAILQ_HEAD(labour_list, labour);

struct labours {
	struct labour_list waiting;
	bool done; /* one was, in this turn */
};

void labours_init(struct labours *labours);
void labours_done(struct labours *labours);

/* Whether it is one, by its verb. */
bool labours_is(enum verb verb);
/* Answers it now or later, by the handler of its verb. */
void labours_take(
	struct desk *desk, struct connection *connection, const struct command *command, desk_verb *handler);

/* A turn begins: the one that has waited for longest has it. */
void labours_turn(struct desk *desk);
/* The next turn must not wait. */
bool labours_wait(const struct labours *labours);

#endif
