/*
 * losses: the checker's part about holds that end otherwise than by their holder (G5, G8). A daemon says so
 * at once, to each connection in the way that its session asked for; with a reason that is one; and until the
 * session asks for the name again, each request about such a hold is answered LOST, and no other is. Nothing
 * is held any more when its time is over. What its holder has ended is not withheld from others.
 */
#ifndef SIM_LOSSES_H
#define SIM_LOSSES_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

/* A hold that its session was told to have lost, or is about to be told of. */
struct loss_told {
	struct loss_told *next;
	const struct host *host;
	uint64_t host_life;
	session_id session;
	unsigned name;
	char owner[8];
	enum onloss onloss;      /* how its session wanted to hear of it then, */
	const struct conn *conn; /* PUSH: and where */
	bool due;                /* it was noted in this very step, */
	bool pushed;             /* and its session has been sent a word */
	bool known;              /* its holder has been told by a push or an answer, or has chosen the end; */
	uint64_t reminded;       /* by the one to this request; 0: by none */
	bool asked;              /* for the name again: it may be forgotten, */
	bool again;              /* and has it again */
	bool old;                /* and so many were lost since that it may be forgotten */
};

/* How a session wants to hear of it, where that is not by the end of its connections. */
struct loss_manner {
	struct loss_manner *next;
	const struct host *host;
	uint64_t host_life;
	session_id session;
	enum onloss onloss;
	const struct conn *conn; /* ONLOSS PUSH: where to */
};

struct losses {
	struct loss_told *told;
	struct loss_manner *manners;
	const struct conn *pushed; /* the last word, which comes right before its note; NULL: none */
	unsigned pushed_name;
};

/* What daemons do. */
void losses_note(struct host *host, const struct note *note);
void losses_push(struct world *world, const struct conn *conn, const struct push *push);
void losses_reply(struct world *world, const struct conn *conn, const struct reply *reply);
/* A session has the name again: what it lost before is over. */
void losses_granted(
	struct world *world, const struct host *host, session_id session, unsigned name, const char *owner);
/* At the end of a step: who has to be told has been. */
void losses_step(struct world *world, const struct host *host);

/* A command has been carried out that may ask for a name again. */
void losses_command(struct world *world, const struct conn *conn);

void losses_done(struct world *world);

#endif
