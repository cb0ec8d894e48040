/*
 * waits: the LOCKs that are not answered yet, in the order in which the daemons took them. A part of the
 * checker: each gets one answer, in time, and waiters of one daemon are served in their order.
 *
 * A stray is one whose connection was lost while its session has a grace: its place is kept for whoever comes
 * back, for so long. What a daemon adds to that is a gift: nothing is expected of its place any more.
 */
#ifndef SIM_WAITS_H
#define SIM_WAITS_H

#include "daemon/core/event.h"
#include "tests/sim/conn.h"

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
	int64_t limit;   /* of the semaphore; 0: it is none */
	int64_t permits; /* of these */
	int64_t lease_ms;
	int64_t max_hold_ms;
	char id[24];      /* ASYNC; "": the connection waits */
	int64_t until_ms; /* the host's clock; INT64_MAX: for ever */
	int64_t since_us;
	int64_t free_us;    /* nobody had the name or wanted it, since then; 0: somebody did, */
	uint64_t touched;   /* and how often somebody had come for it by then */
	unsigned keepers;   /* permits: daemons that kept leases of the name for nobody when it came, */
	uint64_t inboxes;   /* and listened over these connections */
	bool alone;         /* nobody had it or asked for it at its daemon when it came, */
	uint64_t here;      /* and how often somebody had come for it there by then */
	uint64_t began;     /* rounds that its daemon had begun by then */
	int64_t tries;      /* RETRIES and the first; 0: they are not counted */
	bool asking;        /* a round was under way when it came */
	bool had;           /* its daemon had a hold of the name since */
	bool once;          /* WAIT 0, or no more requests will come */
	bool loose;         /* it may have lost its place */
	bool stray;         /* its connection is lost; */
	session_id session; /* that may come back for it, */
	int64_t kept_ms;    /* by the host's clock until then */
	struct wait *was;   /* the stray that it came back to, as it was; NULL: none */
};

/* What it waits for at this daemon cannot be had, said the only master to this attempt: all are told so. */
void waits_check_refused(struct host *host, unsigned name, uint64_t attempt);
/* A LOCK is taken: it waits, or goes on with what it waited for. */
void waits_begin(struct world *world, struct conn *conn);
/* Not answered yet; NULL: no such. */
struct wait *waits_find(struct world *world, const struct conn *conn, const char *id);
/* Its request that is being answered. */
struct wait *waits_find_asked(struct world *world, const struct conn *conn);
/* What its session waits for under the id of its CANCEL, over whichever connection. */
struct wait *waits_find_async(struct world *world, const struct conn *conn);
/* The oldest of this session and tag that strays. */
struct wait *waits_find_stray(
	struct world *world, const struct host *host, session_id session, unsigned name, struct slice owner);
/* The next one after that. */
struct wait *waits_next_stray(const struct wait *of, struct slice owner);
/* Whether this LOCK comes back to one that strays. */
bool waits_repeats(struct world *world, const struct conn *conn);
/* And surely still has the place that it comes back to. */
bool waits_has_place(struct world *world, const struct conn *conn);
void waits_end(struct world *world, struct wait *wait);
/* This LOCK is answered, by what its session holds or by a refusal before the place is taken over: if it came
 * back to a stray, that one is left as it was, and may lose its place. */
void waits_answered(struct world *world, struct wait *wait);

/* The one that is granted is the oldest that waits at this daemon for this name. */
void waits_check_order(struct world *world, const struct wait *granted);

void waits_finish(struct world *world, const struct conn *conn);
/* The connection is gone, and its waits, or they stray until then. */
void waits_close(struct world *world, const struct conn *conn);
/* Its daemon is gone. */
void waits_forget(struct world *world, const struct conn *conn);
/* The session is cut off once more: the grace of now counts for what strays already, if it is over earlier.
 */
void waits_cut(struct world *world, const struct host *host, session_id session, int64_t kept_ms);
void waits_stray(struct world *world, const struct conn *conn, session_id session, int64_t kept_ms);
/* A master told this daemon that the name is of another kind, or has another LIMIT. */
void waits_refuse(struct world *world, const struct host *host, unsigned name);
/* The session has got this: it does not wait for it a second time. */
void waits_had(
	struct world *world, const struct host *host, session_id session, unsigned name, const char *owner);
/* The session has ended. */
void waits_drop(struct world *world, const struct host *host, session_id session);

/* After each step of a daemon. */
void waits_step(struct world *world, const struct host *host, int64_t now_ms);

/* While nothing goes wrong: nobody waits for longer than this since then. */
void waits_check_progress(struct world *world, int64_t since_us, int64_t most_us);
/* Whether anybody who asked before then still waits, and whether anybody waits for this name. */
bool waits_since(const struct world *world, int64_t before_us);
bool waits_for(const struct world *world, unsigned name);

void waits_free(struct world *world);

#endif
