/*
 * session_terms: the checker's part about the grace and the heartbeat of a session.
 *
 * If a session with a grace loses its connection, it can be resumed until the grace is over, by its daemon's
 * clock. It does not end before, and no hold is lost without notice. After its end it holds nothing beyond
 * the deadlines that it could have been told. A session with a heartbeat is closed only after a silence of
 * that length.
 */
#ifndef SIM_SESSION_TERMS_H
#define SIM_SESSION_TERMS_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

#define PACT_BUCKETS 256

/* All sessions that ever had a grace or a heartbeat, and those of each daemon that may still live; newest
 * first. */
struct pacts {
	struct session_terms *tagged[PACT_BUCKETS];
	struct session_terms *living[PLAN_HOSTS_MAX];
};

struct session_terms {
	struct session_terms *next_tag;
	struct session_terms *next_living;
	struct host *host;
	uint64_t host_life;
	uint64_t tag; /* of its connections */
	session_id session;
	int64_t grace_ms;
	int64_t most_ms; /* the longest requested */
	int64_t heartbeat_ms;
	int64_t heard_ms; /* its last request, or the last answer; the host's clock */
	bool detached;
	int64_t cut_ms;       /* when its connection was lost; the host's clock */
	int64_t cut_grace_ms; /* the grace at that time */
	bool graced;          /* the grace has begun: the client did not leave properly */
	bool over;            /* it has ended */
};

/* Answers, notes and events of daemons. */
void session_terms_reply(struct world *world, struct conn *conn, const struct reply *reply);
/* The connection moves to the session with that tag. Its own session ends unless it has other connections. */
void session_terms_moves(struct world *world, const struct conn *conn, uint64_t tag);
void session_terms_heard(struct world *world, const struct conn *conn);
void session_terms_closed(struct world *world, const struct conn *conn, enum end end);
/* The process that its session was bound to has ended. */
void session_terms_exited(struct world *world, const struct conn *conn);
void session_terms_note(struct host *host, const struct note *note);

/* Its daemon died in a step in which this connection's session may have got other terms. */
void session_terms_torn(struct world *world, const struct conn *conn, int64_t grace_ms, int64_t heartbeat_ms);

/* The pact of this living session; NULL: none. */
const struct session_terms *session_terms_of(
	const struct world *world, const struct host *host, session_id session);

/* The pact of the session with this tag, which may have ended; NULL: none. */
const struct session_terms *session_terms_tagged(const struct world *world, uint64_t tag);
/* The first pact at this daemon whose session may live; drops those whose session has ended. */
struct session_terms *session_terms_living(struct world *world, const struct host *host);

void session_terms_free(struct world *world);

#endif
