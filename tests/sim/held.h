/*
 * held: the checker's part about holds: who has what, since when it is told, and until when it may be relied
 * on.
 *
 * A hold is sure from its grant until the earliest of: its holder sends the last UNLOCK or leaves properly;
 * the later of what it was told (CHECK, VALIDITY) and what its daemon was sure of when it last looked.
 *
 * A key that is written to at too many masters by a program other than a daemon (meddle.h) breaks what
 * exclusion assumes: the leases that are there are tainted from then on. Their daemons learn of it when they
 * renew; but if the masters forget everything just before, such a lease may be reclaimed and live on beside a
 * newer one.
 */
#ifndef SIM_HELD_H
#define SIM_HELD_H

#include "daemon/core/action.h"
#include "daemon/redis/call.h"
#include "tests/sim/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct hold {
	struct hold *next;
	unsigned name;
	struct host *host;
	uint64_t host_life;
	char daemon[CALL_DAEMON_ID_SIZE]; /* whose lease it stands on */
	session_id session;
	uint64_t tag; /* of the session's connections */
	char owner[8];
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: it is of none */
	int64_t permits; /* of these */
	int64_t token;
	int64_t count;
	int64_t since_us;      /* the grant */
	bool leased;           /* LEASE was asked for */
	int64_t lease_ends_ms; /* LEASE, by the host's clock; INT64_MAX: none */
	int64_t ends_ms;       /* LEASE or MAXHOLD; INT64_MAX: neither */
	int64_t ceiling_ms;    /* MAXHOLD alone */
	int64_t told_us;       /* true time */
	int64_t valid_us;      /* as its daemon saw it last, */
	int64_t longest_ms;    /* and by its host's clock before clocks leapt: withheld.h */
	int64_t ended_us;      /* by its holder; INT64_MAX: not yet */
	bool tainted;
	const char *layout;  /* what its daemon's rules say of keys */
	bool other_list;     /* its daemon had another list of masters than the world */
	bool lost;           /* its daemon has said so */
	int64_t withhold_us; /* withheld: until then at least */
	int64_t withheld_us; /* since then; 0: it is not */
	bool begun;          /* EVENTS have told of its grant, */
	bool over;           /* and of its end */
	bool untold;         /* nobody knows of it: its session had no connection */
};

/* The hold of this session, or of this connection's session; NULL: none that anybody knows of. */
struct hold *held_find(
	struct world *world, const struct conn *conn, session_id session, unsigned name, const char *owner);
struct hold *held_by(struct world *world, const struct conn *conn, unsigned name, const char *owner);
const struct hold *held_with(
	const struct world *world, const struct host *host, unsigned name, int64_t token);

/* Until when its daemon stands for it, and until when its holder may rely on it. */
int64_t held_good_us(const struct hold *hold);
int64_t held_until_us(const struct hold *hold);
/* Whether its daemon surely keeps it. */
bool held_surely(const struct world *world, const struct hold *hold);

/* Whether its daemon has it. */
bool held_there(const struct hold *hold);

/* Until when a hold of this name may be relied on; 0: there is none. */
int64_t held_longest_us(const struct world *world, unsigned name);
/* Whether this daemon keeps a lease that a leap ended until what its holder was told before is over (G3). */
bool held_relied_on(const struct host *host, unsigned name);
/* The token of the newest hold; 0: there is none. */
int64_t held_token(const struct world *world, unsigned name);

/* What clients do. */
void held_release_sent(struct world *world, struct conn *conn, const struct request *request);
void held_session_ended(struct world *world, uint64_t tag); /* properly, the whole session */
/* The process that this connection's session is bound to has ended. */
void held_exited(struct world *world, const struct conn *conn);

/* What daemons do. */
/* Its holder has asked about it, and knows of it. */
void held_claimed(const struct world *world, struct hold *hold);
void held_given_back(struct world *world, struct hold *hold);
void held_remove(struct world *world, struct hold *hold);
void held_lost(struct host *host, unsigned name, int64_t token);
void held_step(struct world *world, struct host *host, int64_t now_ms);

/* A lease's key is written to at too many masters. */
void held_taint(struct world *world, unsigned name);

/* What this daemon has of a name ends sooner than it thinks. */
void held_taint_at(struct host *host, unsigned name);

void held_free(struct world *world);

#endif
