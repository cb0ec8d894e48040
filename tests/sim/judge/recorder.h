/*
 * recorder: records the history of a world: what its clients asked and were told, as tests/history/HISTORY.md
 * has it, written when they send and when they read, at true time. At the end tests/history judges it, as it
 * judges all other histories; promise.h says which of its rules count.
 *
 * A session is recorded as its clients see it, over all its connections. Each tag (OWNER) of it is a client
 * of the history, as it holds names for itself. An announced time runs by the client's clock: VALID_MS is
 * what it is in true time.
 *
 * Not written is: what another program than holdfast locks, as nobody tells it anything; a latch, as a SET
 * of the simulator has no number of its own by which lives are told apart; what clients without any order do
 * (chaos_client.h), and sessions that several connections speak for, as a hold would then end by what another
 * client sends; BREAK, for the same reason, as it ends the holds of others; a LOCK of a name whose key has
 * another name (twins), as nobody can have it; a request with a wrong token, or of an id that does not wait
 * for the answer (astray), as it is no hold's; and what is asked after the process has ended that the session
 * is bound to, as all it had is over by then.
 */
#ifndef SIM_RECORDER_H
#define SIM_RECORDER_H

#include "daemon/core/base/action.h"
#include "tests/sim/judge/verdict.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct client;
struct recorded_session;
struct world;

struct recorder {
	struct recorded_session *sessions; /* the newest first */
	uint64_t count;
	struct recorded judged;
	bool print; /* in the end, to the standard output, also if the world failed */
};

/* Of clients. */
void recorder_opens(struct conn *conn);
void recorder_asks(struct conn *conn, const struct request *request);
void recorder_reads(struct conn *conn, const struct request *request, const struct reply *reply);
/* token: granted, or lost; ms: for how long it is good, < 0: not asked for. */
void recorder_pushed(struct conn *conn, enum push_type type, unsigned name, const char *id, int64_t token,
	int64_t ms, enum code code);
void recorder_quits(struct conn *conn);
void recorder_ends(struct conn *conn, bool peer);
/* It will not ask again for what waited when its connection was lost. */
void recorder_forgets(struct client *client);
/* Nobody comes back to what it had. */
void recorder_gives_up(struct client *client);
/* The process that its session is bound to has ended. */
void recorder_exits(struct conn *conn);

/* Of daemons. */
/* The request of this connection waits. */
void recorder_waits(struct conn *conn);
/* It speaks for the session with that tag from now on. */
void recorder_joins(struct conn *conn, uint64_t tag);

/* At the end of the world. */
void recorder_judge(struct world *world);
/* Its lines, if they are to be printed and are not yet. */
void recorder_print(struct world *world);
void recorder_done(struct world *world);

#endif
