/*
 * bundles: the checker's part about MLOCK and MUNLOCK (G12). Each MLOCK gets one answer, in time, with a
 * token for each of its names or with none of them held. A waiting MLOCK is served while there is no fault.
 * No daemon holds a name for a session that neither knows of it nor waits for it.
 */
#ifndef SIM_BUNDLES_H
#define SIM_BUNDLES_H

#include "daemon/core/base/action.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

/* An MLOCK that is not answered yet. */
struct bundle_wait {
	struct bundle_wait *next;
	struct conn *conn;
	int64_t since_us;
	int64_t until_ms; /* the host's clock; INT64_MAX: no limit */
	bool once;        /* WAIT 0, RETRIES 0, or no more requests will come */
	bool counted;     /* its rounds, by RETRIES */
};

/* Actions of daemons. */
void bundles_command(struct world *world, struct conn *conn);
void bundles_reply(struct world *world, struct conn *conn, const struct reply *reply);
void bundles_finished(struct world *world, const struct conn *conn);
void bundles_closed(struct world *world, const struct conn *conn);
void bundles_step(struct world *world, const struct host *host, int64_t now_ms);

/* Whether this session waits for an MLOCK. */
bool bundles_of(const struct world *world, const struct host *host, session_id session);

/* The same, with this name and this tag. */
bool bundles_take(const struct world *world, const struct host *host, session_id session, unsigned name,
	struct slice owner);

/* Whether a daemon keeps this name for an MLOCK that is not answered yet. */
bool bundles_keep(const struct world *world, unsigned name);

/* While there are no faults: no MLOCK waits for longer than most_us since since_us. */
void bundles_check_progress(struct world *world, int64_t since_us, int64_t most_us);
/* Whether an MLOCK from before that time still waits. */
bool bundles_since(const struct world *world, int64_t before_us);

void bundles_free(struct world *world);

#endif
