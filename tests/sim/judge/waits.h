/*
 * waits: the checker's part about LOCKs that are not answered yet, in the order in which the daemons accepted
 * them. Each gets one answer, in time, and waiters of one daemon are served in order.
 *
 * A stray is a wait whose connection was lost while its session has a grace: its place is kept for the
 * session until the grace is over. If the daemon keeps it longer, nothing more is expected of its place.
 */
#ifndef SIM_WAITS_H
#define SIM_WAITS_H

#include "daemon/core/base/event.h"
#include "tests/sim/world/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct world;

struct wait {
	struct wait *next;
	struct conn *conn; /* that it came from */
	uint64_t serial;   /* of its last request */
	unsigned name;
	char owner[8];
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: not a semaphore */
	int64_t permits; /* of these */
	int64_t lease_ms;
	int64_t max_hold_ms;
	int64_t claim_ms;
	char id[24];      /* ASYNC; "": the connection waits */
	int64_t until_ms; /* the host's clock; INT64_MAX: no limit */
	int64_t since_us;
	int64_t sent_us;    /* when its client sent its last request */
	bool validity;      /* it asked how long its hold is good */
	int64_t free_us;    /* since when the name was neither held nor wanted; 0: it was */
	uint64_t touched;   /* fault_free.h: requests for the name up to then */
	bool alone;         /* the name was neither held nor requested at its daemon when it came */
	uint64_t here;      /* fault_free.h: requests for the name at its daemon up to then */
	uint64_t began;     /* rounds that its daemon had begun by then */
	int64_t tries;      /* RETRIES plus the first round; 0: no limit */
	bool asking;        /* a round was under way when it came */
	bool had;           /* its daemon has had a hold of the name since */
	bool once;          /* WAIT 0, or no more requests will come */
	bool loose;         /* it may have lost its place */
	bool stray;         /* its connection is lost */
	session_id session; /* the session that may resume it */
	int64_t kept_ms;    /* until when its place is kept, the host's clock */
	struct wait *was;   /* the stray that it resumed, as it was; NULL: none */
};

/* A daemon accepts a LOCK: it waits, or resumes a stray. */
void waits_begin(struct world *world, struct conn *conn);
/* The unanswered wait with this id; NULL: none. */
struct wait *waits_find(struct world *world, const struct conn *conn, const char *id);
/* The wait of the connection's request that is being answered. */
struct wait *waits_find_asked(struct world *world, const struct conn *conn);
/* The wait of its session with the id of its CANCEL, over any connection. */
struct wait *waits_find_async(struct world *world, const struct conn *conn);
/* The oldest stray of this session and tag. */
struct wait *waits_find_stray(
	struct world *world, const struct host *host, session_id session, unsigned name, struct slice owner);
/* The next stray after that. */
struct wait *waits_next_stray(const struct wait *of, struct slice owner);
/* Whether this LOCK resumes a stray. */
bool waits_repeats(struct world *world, const struct conn *conn);
/* Whether it also certainly still has the stray's place. */
bool waits_has_place(struct world *world, const struct conn *conn);
void waits_end(struct world *world, struct wait *wait);
/* This LOCK is answered from its session's hold, or refused, before it has the stray's place. If it resumed a
 * stray, the stray remains as it was, and may lose its place. */
void waits_answered(struct world *world, struct wait *wait);

/* The granted wait is the oldest at this daemon for this name. */
void waits_check_order(struct world *world, const struct wait *granted);

void waits_finish(struct world *world, const struct conn *conn);
/* The connection is gone. Its waits end, or become strays until then. */
void waits_close(struct world *world, const struct conn *conn);
/* Its daemon is gone. */
void waits_forget(struct world *world, const struct conn *conn);
/* The session is cut off again: the current grace applies to existing strays if it ends earlier.
 */
void waits_cut(struct world *world, const struct host *host, session_id session, int64_t kept_ms);
void waits_stray(struct world *world, const struct conn *conn, session_id session, int64_t kept_ms);
/* A master told this daemon that the name has another kind or another LIMIT. */
void waits_refuse(struct world *world, const struct host *host, unsigned name);
/* The session has got the name, and does not wait for it a second time. */
void waits_had(
	struct world *world, const struct host *host, session_id session, unsigned name, const char *owner);
/* The session has ended. */
void waits_drop(struct world *world, const struct host *host, session_id session);

/* After each step of a daemon. */
void waits_step(struct world *world, const struct host *host, int64_t now_ms);

/* While there are no faults: no LOCK waits for longer than most_us since since_us. */
void waits_check_progress(struct world *world, int64_t since_us, int64_t most_us);
/* Whether a LOCK from before that time still waits, and whether any LOCK waits for this name. */
bool waits_since(const struct world *world, int64_t before_us);
bool waits_for(const struct world *world, unsigned name);
/* Likewise, whose daemon lives, over a connection that nobody closes. */
bool waits_alive(const struct world *world, unsigned name);

void waits_free(struct world *world);

#endif
