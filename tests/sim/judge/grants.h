/*
 * grants: the checker's part about grants. Two sure holds of one name that exclude each other never overlap,
 * and no more permits are held than exist. The token of a new exclusive hold is greater than all earlier
 * ones; the token of any other hold is greater than those of earlier exclusive holds. Each grant has half of
 * its lease left.
 */
#ifndef SIM_GRANTS_H
#define SIM_GRANTS_H

#include "daemon/core/view.h"
#include "proto/name.h"
#include "tests/sim/judge/held.h"
#include "tests/sim/world/conn.h"

#include <stdint.h>

struct host;
struct world;

/* The request of a granted LOCK. */
struct asked {
	unsigned name;
	const char *owner;
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: it is of none */
	int64_t permits; /* of these */
	int64_t lease_ms;
	int64_t max_hold_ms;
	int64_t claim_ms;
	bool part;   /* by an MLOCK */
	bool torn;   /* its daemon dies in the step of the grant, and nobody hears of that */
	bool waited; /* asked in an earlier step, so that it claims nothing (3.46) */
};

/* A LOCK is granted to this session, for the first time or re-entrantly. Returns its hold. */
struct hold *grants_check(struct world *world, const struct conn *conn, session_id session,
	const struct asked *r, int64_t token);
/* One name of this connection's MLOCK is granted. */
void grants_part(struct world *world, struct conn *conn, unsigned name, const char *owner, int64_t token);
/* A grant to a session whose LOCK lost its connection. */
void grants_stray(struct host *host, const struct note *note);
/* A grant that no client was told of, as its daemon died in the step: to a LOCK or an MLOCK that waits. */
void grants_torn(struct host *host, unsigned name, const struct hold_view *view);
/* EXTEND sets the end of its LEASE anew, so long from now on. */
void grants_extended(struct hold *hold, int64_t extend_ms);
/* A grant to a rival (foreign_client.h); token 0: its locks have no tokens. */
void grants_rival(struct world *world, unsigned name, int64_t token);

#endif
