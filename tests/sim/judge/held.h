/*
 * held: the checker's part about holds: the holders of each name, and until when they may rely on their
 * holds.
 *
 * A hold is sure from its grant until the earlier of two times: when its holder sends the last UNLOCK or
 * leaves properly; and the later of the deadline that it was told (CHECK, VALIDITY) and the one that its
 * daemon was sure of at the last step.
 */
#ifndef SIM_HELD_H
#define SIM_HELD_H

#include "daemon/core/base/action.h"
#include "daemon/redis/call.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct hold {
	struct hold *next;
	unsigned name;
	struct host *host;
	uint64_t host_life;
	char daemon[CALL_DAEMON_ID_SIZE]; /* whose lease the hold belongs to */
	session_id session;
	uint64_t tag; /* of the session's connections */
	char owner[8];
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: not a semaphore */
	int64_t permits; /* of these */
	int64_t token;
	int64_t count;
	int64_t since_us;      /* the grant */
	bool leased;           /* requested with LEASE */
	int64_t lease_ends_ms; /* LEASE, by the host's clock; INT64_MAX: none */
	int64_t ends_ms;       /* LEASE, MAXHOLD or CLAIM; INT64_MAX: none of them */
	int64_t ceiling_ms;    /* MAXHOLD alone */
	int64_t claim_ends_ms; /* CLAIM alone; INT64_MAX: claimed */
	int64_t told_us;       /* true time */
	int64_t valid_us;      /* until when its daemon was sure of it at the last step, true time */
	int64_t sure_us;       /* the same, also while its client is away; 0: not held, or withheld */
	int64_t longest_ms;    /* the same by the host's clock, without later jumps: withheld.h */
	int64_t ended_us;      /* when its holder ended it; INT64_MAX: not yet */
	const char *layout;    /* the keys by its daemon's rules */
	bool lost;             /* its daemon has told of the loss */
	int64_t withhold_us;   /* if withheld: at least until then */
	int64_t withheld_us;   /* withheld since then; 0: not withheld */
	bool begun;            /* EVENTS has told of its grant */
	bool over;             /* EVENTS has told of its end */
	bool unannounced;      /* no client knows of it, because its session had no connection */
	bool unsent;           /* unannounced: its daemon died before the answer left, and takes it as told */
	bool torn;             /* its daemon died in the step that ended it */
	bool copied;           /* by the copy of a ledger: no client will ever know of it */
};

/* The hold of this session, or of this connection's session; NULL: none that a client knows of. */
struct hold *held_find(
	struct world *world, const struct conn *conn, session_id session, unsigned name, const char *owner);
struct hold *held_by(struct world *world, const struct conn *conn, unsigned name, const char *owner);
const struct hold *held_with(
	const struct world *world, const struct host *host, unsigned name, int64_t token);

/* Until when its daemon is sure of it, and until when its holder may rely on it. */
int64_t held_good_us(const struct hold *hold);
int64_t held_until_us(const struct hold *hold);
/* The same; a holder that is away, and may come back within its grace, is told then what its daemon is sure
 * of. */
int64_t held_returns_us(const struct world *world, const struct hold *hold);
/* Whether its daemon certainly still has it. */
bool held_surely(const struct world *world, const struct hold *hold);

/* Whether its daemon has it. */
bool held_there(const struct hold *hold);

/* Until when a hold of this name may be relied on; 0: there is none. */
int64_t held_longest_us(const struct world *world, unsigned name);
/* The token of the newest hold; 0: there is none. */
int64_t held_token(const struct world *world, unsigned name);

/* Actions of clients. */
void held_release_sent(struct world *world, struct conn *conn, const struct request *request);
void held_session_ended(struct world *world, uint64_t tag); /* the whole session ended properly */
/* The process that this connection's session is bound to has ended. */
void held_exited(struct world *world, const struct conn *conn);

/* Actions of daemons. */
/* Its holder has asked about it, and so knows of it. */
void held_claimed(const struct world *world, struct hold *hold);
/* A request that names it has come: its CLAIM is over. */
void held_named(struct hold *hold);
/* The request of this connection asks about it, by a LOCK or another verb: that of an id claims it by its
 * token only, and else puts the end of its CLAIM off (5.17). */
void held_asked(const struct conn *conn, struct hold *hold);
/* Its CLAIM ends no sooner than ms from now. */
void held_put_off(struct hold *hold, int64_t ms);
/* The LOCK that this connection's daemon is told of in this step names a hold with this tag (3.46). */
bool held_names(const struct conn *conn, const char *owner);
void held_given_back(struct world *world, struct hold *hold);
void held_remove(struct world *world, struct hold *hold);
void held_lost(struct host *host, unsigned name, int64_t token);
void held_step(struct world *world, struct host *host, int64_t now_ms);

void held_free(struct world *world);

#endif
