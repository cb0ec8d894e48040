/*
 * labours: requests that take long, because they look at everything there is or make a glob that may be long,
 * one in each turn of the loop, or a part of one.
 *
 *     dispatch ──▶ labours_take() ──▶ one in each turn, of one user ──▶ the handler ──▶ the answer, or
 *                                     after the other, and of each       ▲    labours_go_on() ──┐
 *                                     first come, first served           └──────────────────────┘
 *
 * Meanwhile a connection waits for its answer, as it does for the core's, and whoever asks for little is
 * served in each turn: however many clients list all locks as fast as they can, he waits for a part of a
 * list, and if he asks for one too and is another user, for his turn among users. One that goes on is ended
 * before the next that may go on begins, so that only one keeps in memory what it has.
 */
#ifndef DAEMON_LABOURS_H
#define DAEMON_LABOURS_H

#include "daemon/desk.h"

#include <bsd/sys/queue.h>
#include <stdbool.h>

struct labour {
	STAILQ_ENTRY(labour) entry;
	conn_id id;
	bool goes_on; /* it may; then it does not begin while another one does */
	/* Its turn has come. It answers, and frees itself, unless it goes on; connection NULL: it has gone,
	 * and with it all but the labour. */
	void (*turn)(struct labour *labour, struct desk *desk, struct connection *connection);
};

STAILQ_HEAD(labour_list, labour);
TAILQ_HEAD(labour_users, labour_user);

struct labours {
	struct labour_users users;   /* who waits, whose turn it is next first */
	struct labour_user *serving; /* whose labour has its turn right now */
	struct labour *going;        /* has begun, and goes on; NULL: none */
	bool done;                   /* one had its turn, in this turn of the loop */
};

void labours_init(struct labours *labours);
void labours_done(struct labours *labours);

/* Whether it is one, by its verb. */
bool labours_is(enum verb verb);
/* Answers it now or later, by the handler of its verb. */
void labours_take(
	struct desk *desk, struct connection *connection, const struct command *command, desk_verb *handler);

/* From within its turn: there is more of it. The next turn of its user is for that. */
void labours_go_on(struct labours *labours, struct labour *labour, struct connection *connection);

/* A turn of the loop begins. */
void labours_turn(struct desk *desk);
/* The next turn must not wait. */
bool labours_wait(const struct labours *labours);

#endif
