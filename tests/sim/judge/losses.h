/*
 * losses: the checker's part about holds that do not end by their holder (G5, G8). The daemon tells each
 * connection at once, in the way that its session chose, with a true reason. Until the session requests the
 * name again, each request about such a hold, and no other request, is answered with LOST. No hold outlives
 * its time. A hold that its holder has ended is not withheld from others.
 */
#ifndef SIM_LOSSES_H
#define SIM_LOSSES_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct hold;
struct host;
struct world;

/* A lost hold whose session was told, or is about to be told. */
struct loss_report {
	struct loss_report *next;
	const struct host *host;
	uint64_t host_life;
	session_id session;
	unsigned name;
	int64_t token;
	char owner[8];
	enum onloss onloss;      /* the session's choice at that time */
	const struct conn *conn; /* PUSH: to this connection */
	bool due;                /* it was noted in this step */
	bool pushed;             /* the push was sent */
	bool known;        /* its holder was told by a push or an answer, that of an id has given it up, or
			      it chose this end */
	bool chosen;       /* the end of a LEASE or CLAIM */
	uint64_t reminded; /* serial of the request whose answer told of it; 0: none */
	bool asked;        /* the session requested the name again, so the loss may be forgotten */
	bool again;        /* the session has the name again */
	int64_t over_us;   /* lost while no daemon was there, and the next one found it then; 0: not so */
	bool old;          /* so many losses followed that it may be forgotten */
	bool unsure;       /* the session may have chosen otherwise */
};

/* A session's choice of ONLOSS, if it is not CLOSE. */
struct loss_manner {
	struct loss_manner *next;
	const struct host *host;
	uint64_t host_life;
	session_id session;
	enum onloss onloss;
	const struct conn *conn; /* ONLOSS PUSH: to this connection, */
	conn_id line;            /* which may go on over another line when this one has ended */
	bool unsure;             /* a later choice may have been written before the daemon died */
};

struct losses {
	struct loss_report *told;
	struct loss_manner *manners;
	const struct conn *pushed; /* the last push, which comes directly before its note; NULL: none */
	unsigned pushed_name;
};

/* Actions of daemons. */
void losses_note(struct host *host, const struct note *note);
void losses_push(struct world *world, const struct conn *conn, const struct push *push);
void losses_reply(struct world *world, const struct conn *conn, const struct reply *reply);
/* A session has the name again, which ends its earlier losses of the name. */
void losses_granted(
	struct world *world, const struct host *host, session_id session, unsigned name, const char *owner);
/* At the end of a step: every session that has to be told was told. */
void losses_step(struct world *world, const struct host *host);

/* A command was carried out that may request a name again. */
void losses_command(struct world *world, const struct conn *conn);

/* The daemon dies in a step that ended this hold: its client may be told of a loss, or not. */
void losses_torn(struct host *host, const struct hold *hold);
/* The daemon dies in a step that carried out ONLOSS of this connection, and has not answered. */
void losses_torn_choice(struct world *world, const struct conn *conn);
/* It was lost while no daemon was there: its client is still to be told, unless its LEASE ended it. */
void losses_over(struct host *host, const struct hold *hold);
/* It dies in a step that may have told of any of its losses. */
void losses_forgettable(struct host *host);
/* A session passes on from that life of its host to the present one. What it was not told it is still to be
 * told. */
void losses_carry(struct host *host, uint64_t life, session_id session);

/* The session has ended, though connections may speak for it still: it is reminded of nothing. */
void losses_end(struct world *world, const struct host *host, session_id session);

void losses_done(struct world *world);

#endif
