/*
 * pact: what a session was promised beyond its connection, and is held to. A part of the checker.
 *
 * A session with a grace whose connection is lost can be resumed until its grace is over, by its daemon's
 * clock; it does not end before, what it holds is lost only with a word, and it holds nothing any more than
 * it could have been told when it has ended. A session with a heartbeat is closed only when it was silent for
 * so long.
 */
#ifndef SIM_PACT_H
#define SIM_PACT_H

#include "daemon/core/action.h"
#include "tests/sim/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

#define PACT_BUCKETS 256

/* Of all sessions that were ever promised something, and of those few of each daemon that may live: the
 * newest first. */
struct pacts {
	struct pact *tagged[PACT_BUCKETS];
	struct pact *living[PLAN_HOSTS_MAX];
};

struct pact {
	struct pact *next_tag;
	struct pact *next_living;
	struct host *host;
	uint64_t host_life;
	uint64_t tag; /* of its connections */
	session_id session;
	int64_t grace_ms;
	int64_t most_ms; /* the longest that it has asked for */
	int64_t heartbeat_ms;
	int64_t heard_ms; /* its last request, or the last answer: by the host's clock */
	bool detached;
	int64_t cut_ms;       /* since then, */
	int64_t cut_grace_ms; /* with this grace, */
	bool graced;          /* which has begun then: it was no goodbye */
	bool over;            /* it has ended */
};

/* What daemons answer, tell, and learn. */
void pact_reply(struct world *world, struct conn *conn, const struct reply *reply);
/* It speaks for the session with that tag from now on, and its own ends unless others speak for that. */
void pact_moves(struct world *world, const struct conn *conn, uint64_t tag);
void pact_heard(struct world *world, const struct conn *conn);
void pact_closed(struct world *world, const struct conn *conn, enum end end);
/* The process that its session was bound to has ended. */
void pact_exited(struct world *world, const struct conn *conn);
void pact_note(struct host *host, const struct note *note);

/* The living session of this daemon that has one; NULL: none. */
const struct pact *pact_of(const struct world *world, const struct host *host, session_id session);

/* That of the session with this tag, which may have ended; NULL: none. */
const struct pact *pact_tagged(const struct world *world, uint64_t tag);
/* The first of the sessions with one that may live at this daemon; those that have ended are let go. */
struct pact *pact_living(struct world *world, const struct host *host);

void pact_free(struct world *world);

#endif
