/*
 * labours: requests that take long, because they look at everything there is or make a glob that may be long,
 * one in each turn of the loop, or a part of one.
 *
 *     dispatch ──▶ labours_take() ──┬─ the first one of a turn ────────────▶ its handler ──▶ the answer, or
 *                                   │                                ▲      labours_go_on()
 *                                   └─ the others ──▶ first come, first served, one in each turn that follows
 *
 * Meanwhile a connection waits for its answer, as it does for the core's, and whoever asks for little is
 * served in each turn: however many clients list all locks as fast as they can, he waits for a part of a
 * list. One that goes on is ended before the next one begins, so that only one keeps in memory what it has.
 */
#ifndef DAEMON_LABOURS_H
#define DAEMON_LABOURS_H

#include "daemon/desk.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

struct labour {
	STAILQ_ENTRY(labour) entry;
	conn_id id;
	/* Its turn has come. It answers, and frees itself, unless it goes on; connection NULL: it has gone,
	 * and with it all but the labour. */
	void (*turn)(struct labour *labour, struct desk *desk, struct connection *connection);
};

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

/* From within its turn, or a handler: there is more of it, and it is the next to have a turn. */
void labours_go_on(struct labours *labours, struct labour *labour, struct connection *connection);

/* A turn begins: the one that has waited for longest has it. */
void labours_turn(struct desk *desk);
/* The next turn must not wait. */
bool labours_wait(const struct labours *labours);

#endif
