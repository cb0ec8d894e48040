/*
 * checker: watches the whole run for what may never happen (guarantees.md).
 *
 * A hold is sure from its grant until the earliest of: its holder sends the last UNLOCK or leaves properly;
 * the later of what it was told (CHECK, VALIDITY) and what its daemon was sure of when it last looked. Two
 * sure holds of one name that exclude each other never overlap, and no more permits are out than there are;
 * a new exclusive hold's token is greater than all before, any other's than those of exclusive ones; each
 * request gets one answer out of those that are documented, in time; waiters of one daemon are served in
 * their order.
 *
 * Somebody who writes to a lease's key at too many masters (meddle.h) breaks what exclusion assumes: the
 * leases that are there are tainted from then on. Their daemons learn of it when they renew; but if the
 * masters forget everything just before, such a lease may be reclaimed and live on beside a newer one.
 */
#ifndef SIM_CHECKER_H
#define SIM_CHECKER_H

#include "daemon/core/action.h"
#include "tests/sim/bundles.h"
#include "tests/sim/circle.h"
#include "tests/sim/conn.h"
#include "tests/sim/pact.h"
#include "tests/sim/plan.h"
#include "tests/sim/waits.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct hold {
	struct hold *next;
	unsigned name;
	struct host *host;
	uint64_t host_life;
	session_id session;
	uint64_t tag; /* of the session's connections */
	char owner[8];
	enum kind kind;
	int64_t permits; /* of plan.permits; 0: it is of no semaphore */
	int64_t token;
	int64_t count;
	bool leased;        /* LEASE was asked for */
	int64_t ends_ms;    /* LEASE or MAXHOLD, by the host's clock; INT64_MAX: neither */
	int64_t ceiling_ms; /* MAXHOLD alone */
	int64_t told_us;    /* true time */
	int64_t valid_us;   /* as its daemon saw it last */
	int64_t ended_us;   /* by its holder; INT64_MAX: not yet */
	bool tainted;
	bool lost;           /* its daemon has said so */
	int64_t withheld_us; /* since then; 0: it is not */
	bool untold;         /* nobody knows of it: its session had no connection */
};

struct checker {
	struct hold *holds;
	struct wait *waits;
	struct pact *pacts;
	struct bundle_wait *bundles;
	int64_t token[PLAN_NAMES_MAX];                /* the greatest of all grants, */
	int64_t exclusive[PLAN_NAMES_MAX];            /* and of those that were exclusive */
	bool tainted[PLAN_NAMES_MAX][PLAN_HOSTS_MAX]; /* the lease that a daemon has of a name */
	int64_t tainted_us[PLAN_NAMES_MAX];           /* the last time */
	/* The life of a daemon in which a master told it that a name cannot be had: is of another kind or
	 * LIMIT. */
	uint64_t refused[PLAN_NAMES_MAX][PLAN_HOSTS_MAX];
	uint64_t grants;
	uint64_t answers;
};

const char *checker_name(unsigned name);
unsigned checker_name_of(struct slice text);

void checker_done(struct world *world);

/* The hold of this connection's session; NULL: none that anybody knows of. */
struct hold *checker_hold(struct world *world, const struct conn *conn, unsigned name, const char *owner);
const struct hold *checker_hold_with(
	const struct world *world, const struct host *host, unsigned name, int64_t token);
/* Whether its daemon surely keeps it. */
bool checker_holds(const struct world *world, const struct hold *hold);
void checker_granted(struct world *world, struct conn *conn, unsigned name, const char *owner, int64_t token);
void checker_given_back(struct world *world, struct hold *hold);

/* What a rival does (rival.h). */
void checker_rival_granted(struct world *world, unsigned name, int64_t token);

/* What clients do. */
void checker_release_sent(struct world *world, struct conn *conn, const struct request *request);
void checker_ended(struct world *world, uint64_t tag); /* properly, the whole session */

/* What daemons do. */
void checker_command(struct world *world, struct conn *conn);
void checker_reply(struct world *world, struct conn *conn, const struct reply *reply);
void checker_push(struct world *world, struct conn *conn, const struct push *push);
void checker_lost(struct host *host, unsigned name, int64_t token);
/* A hold of a session whose LOCK lost its connection. */
void checker_granted_to_stray(struct host *host, session_id session, unsigned name, int64_t token);
void checker_step(struct world *world, struct host *host, int64_t now_ms);
/* The process that this connection's session is bound to has ended. */
void checker_exited(struct world *world, const struct conn *conn);
void checker_subscribed(struct world *world, const struct host *host);

/* What faults do. */
void checker_taint(struct world *world, unsigned name);

/* Until when somebody may rely on a hold of this name; 0: nobody does. */
int64_t checker_good_us(const struct world *world, unsigned name);

/* The token of the newest hold; 0: nobody holds it. */
int64_t checker_token(const struct world *world, unsigned name);

#endif
