/*
 * view: the core's state for people (INSPECT, LOCKS, SESSIONS, INFO). Read only: it never changes what it
 * shows. Pointers are valid until the next core_step().
 */
#ifndef CORE_VIEW_H
#define CORE_VIEW_H

#include "daemon/core/base/counts.h"
#include "daemon/core/base/map.h"
#include "daemon/core/core.h"
#include "daemon/core/masters/master_state.h"

struct master_view {
	const char *place; /* as the set names it */
	const char *way;
	uint64_t id;      /* its permanent one; 0: not reported yet */
	const char *role; /* "member"; in a change also "leaving", or "joining": not of the set yet */
	enum master_state state;
	const char *word;      /* of the state */
	const char *condition; /* for people: word, or "silent" or "failing" */
	const char *reason;    /* why it is away, refused or failing; "" otherwise */
	int64_t guard_ms;      /* GUARDED, or its clock jumped: time left until new leases */
	uint64_t incarnation;
	unsigned links_up; /* identified and in use */
	bool down;         /* silent, or without a good HELLO, for too long: not waited for */
	bool silent;       /* down, and not because of errors that it answers */
	bool failing;      /* it answers its HELLOs, and with an error: it takes no leases now */
	unsigned step;     /* how far the next set has come there: 0 not, 1 offered, 2 accepted */
	/* Daemons there that have not acknowledged the next set: first digits of their ids. */
	const char *unacknowledged;
	/* Other daemons that it refused lately: how many, and of the first few which and why; 0 and "" if it
	 * is not in use. */
	unsigned refused_count;
	const char *refused;
};

/* The set of masters; see masterset.h. Valid until the next step. */
struct masterset_view {
	const char *word;   /* forming, agreed, or refused: a master belongs to another set */
	const char *set;    /* as the masters store it; "": not known yet */
	const char *places; /* of its members */
	bool agreed;        /* all masters have accepted it at some time */
	int64_t generation; /* of the set; 0: not known yet */
	/* Of its change: "none", "checking" (newcomers are being sent HELLO), "offered", "accepted". */
	const char *change;
	int64_t next_generation; /* offered, accepted: of the next set; else 0 */
	const char *next;        /* offered, accepted: the next set; else "" */
	const char *next_places; /* offered, accepted: places of its members; else "" */
};

/* Whether a lock can be had now. */
struct service_view {
	bool available; /* for any name: a majority can be used on every link, and takes leases, as it
			   answered last */
	bool settled;   /* it is known of each master whether it can be used */
	char text[REPLY_TEXT_MAX]; /* available: the missing masters and why, "": none; else why not */
};

/* How long the oldest of them has lasted, ms; 0: there is none. */
struct longest_view {
	int64_t wait_ms; /* of a LOCK, or of an MLOCK as a whole */
	int64_t hold_ms; /* of a session: a withheld one has ended for its holder */
};

#define VIEW_AS 9 /* 8 hexadecimal digits and a NUL */

struct hold_view {
	enum kind kind;
	int64_t permits;         /* how many; 0: not of a semaphore */
	session_id session;      /* 0: it abandoned the hold */
	char as[VIEW_AS];        /* of the session's id (session_view) */
	const struct peer *peer; /* the client that has it, or had it last; NULL: unknown */
	struct slice owner;
	struct slice why;
	int64_t token;
	int64_t count;    /* times entered */
	int64_t held_ms;  /* since the grant */
	int64_t valid_ms; /* how long it is surely valid */
	bool withheld;
	bool ends; /* its session ends, and it is about to be given up (session.h) */
};

struct waiter_view {
	uint64_t ticket; /* > 0, unique; among the waiters of a lock, later is greater */
	enum kind kind;
	int64_t permits;
	session_id session;
	const struct peer *peer;
	struct slice owner;
	struct slice why;
	int64_t position; /* 1 = next here */
	int64_t age_ms;
	int64_t left_ms; /* of its WAIT; -1: no limit */
};

struct resource_view {
	struct slice name;
	enum kind kind;        /* of the holds; without any, of what is asked for */
	const char *lease;     /* word: "none", "acquiring", "waiting", "held" */
	int64_t lease_ms;      /* validity left of the lease; 0: none */
	bool renewing;         /* the masters are being asked for more of it */
	unsigned votes;        /* masters that confirmed it and have not taken that back */
	unsigned queue_master; /* the master with its queue; meaningless if position is 0 */
	struct slice foreign;  /* owner text of another daemon's lease as last seen; n == 0: none */
	int64_t position;      /* of this daemon in the master's queue; 0: not in it */
	bool wanted;           /* another daemon waits for this lease */
	int64_t limit;         /* PERMITS: how many there are; else 0 */
	int64_t taken;         /* PERMITS: held here; else 0 */
	bool held;             /* hold has a meaning */
	struct hold_view hold; /* the oldest */
	size_t holds;
	size_t waiters;
	int64_t longest_ms;  /* how long the first of them has waited; 0: none waits */
	int64_t tokens_left; /* in the reserved block */
};

struct latch_view {
	struct slice name;
	const char *state; /* "unset": not there, or unknown here; "closed", "open", "lost" */
	int64_t set;       /* closed, open */
	int64_t left;      /* closed: as last seen */
	int64_t live_ms;   /* closed, open: its lifetime if it is not used */
	size_t waiters;    /* waiting; core_each_latch_waiter() may tell of more, just asked */
};

struct session_view {
	session_id id;
	char as[VIEW_AS]; /* a hash of the id of a named session; "": it is none */
	const struct peer *peer;
	size_t connections;
	bool ends; /* it gives up what it holds (session.h) */
	size_t grants;
	size_t waiters;
	int64_t age_ms;
	int64_t bound_pid;      /* 0: ends with its connections */
	uint64_t bound_started; /* of that process, as in struct process */
	uint64_t bound_space;
	int64_t grace_ms;     /* how long it survives them; 0: it does not */
	int64_t left_ms;      /* of the grace, without a connection; -1: it has one, or needs none */
	int64_t heartbeat_ms; /* 0: none */
};

/* How long leases may be: see master.h. */
struct terms_view {
	int64_t wanted_lease_ms;  /* by the rules of this daemon */
	int64_t longest_ms;       /* that its masters take now */
	int64_t guarded_lease_ms; /* that its guards wait for */
};

void core_view_terms(const struct core *core, struct terms_view *out);
void core_view_service(const struct core *core, struct service_view *out);
void core_view_masterset(const struct core *core, struct masterset_view *out);
/* The members of the set. */
unsigned core_members(const struct core *core);
/* The masters that are shown: the members, and behind them newcomers that are being checked. */
unsigned core_masters(const struct core *core);
/* master: below core_masters() */
void core_view_master(const struct core *core, int64_t now_ms, unsigned master, struct master_view *out);
void core_view_counts(const struct core *core, struct core_counts *out);
/* Costs the same however many there are. */
void core_view_longest(const struct core *core, int64_t now_ms, struct longest_view *out);
/* The daemon is stopping and takes no new locks. */
bool core_draining(const struct core *core);
/* Until when a client may rely on a hold, by the announced deadlines: CLOCK_BOOTTIME in ms, 0: none does.
 * Goes through all holds. */
int64_t core_relied_until(const struct core *core);

/* Where masters keep the lease of a name, as calls say it (call.h): key, by the rule, and interop. */
void core_view_key(const struct core *core, struct slice name, const char **key, enum interop *interop);

/* False: the core does not know this name. */
bool core_view_resource(
	const struct core *core, int64_t now_ms, struct slice name, struct resource_view *out);

/* The functions below call each() for each element, in no promised order, until it returns false. It must not
 * call core_step(). */

/* Scans of a part, see map.h: each call ends when the budget is spent, or with the chain of the element for
 * which each() returned false. The result is the cursor of the next part; 0: there is none. */
scan_cursor core_scan_names(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct resource_view *view), void *arg);
/* Latches with requests here now or before. */
scan_cursor core_scan_latches(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct latch_view *view), void *arg);
scan_cursor core_scan_sessions(const struct core *core, int64_t now_ms, scan_cursor cursor, size_t budget,
	bool (*each)(void *arg, const struct session_view *view), void *arg);

/* Oldest first. */
void core_each_hold(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct hold_view *view), void *arg);
void core_each_waiter(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct waiter_view *view), void *arg);
/* Why the first waiter has not been granted the lock yet (reason.h), REPLY_TEXT_MAX bytes at most. False:
 * none waits. */
bool core_view_reason(const struct core *core, int64_t now_ms, struct slice name, char *out, size_t room);
/* False: there is no latch of this name. Its waiters have no owner and no position. */
bool core_view_latch(const struct core *core, int64_t now_ms, struct slice name, struct latch_view *out);
void core_each_latch_waiter(const struct core *core, int64_t now_ms, struct slice name,
	bool (*each)(void *arg, const struct waiter_view *view), void *arg);

/* Ids of sessions (PROTOCOL.md 5.11); named_session.c has these three. */
/* Whether the user (peer.user) has a session of this id here. */
bool core_knows_id(const struct core *core, uint64_t user, struct slice id);
/* A hash that stands for the id in one question to other daemons. The question has this number, which is
 * random. */
uint64_t core_id_digest(uint64_t number, uint64_t user, struct slice id);
/* Whether a session of an id with this digest holds the name. */
bool core_holds_by_digest(const struct core *core, struct slice name, uint64_t number, uint64_t digest);

/* Whether EVENT_ALIVE is wanted of this connection: its session has a heartbeat. Cheap if no session has
 * one. */
bool core_wants_heartbeat(const struct core *core, conn_id conn);

/* A request of this connection comes after ahead others. Called with 2, then with 1: prefetches its memory,
 * which is in no cache when there are thousands of connections. Changes nothing. */
void core_expect(const struct core *core, conn_id conn, unsigned ahead);

/* The session that this connection speaks for; 0: none. */
session_id core_session_of(const struct core *core, conn_id conn);
/* What the process after a crash has to know of this connection. False: its session is not durable. */
bool core_view_keep(const struct core *core, conn_id conn, struct keep_view *out);
/* Whether a request of this connection waits, or an ASYNC one. */
bool core_conn_waits(const struct core *core, conn_id conn);
/* The connections that speak for a session, the latest first. */
void core_each_conn(
	const struct core *core, session_id session, bool (*each)(void *arg, conn_id conn), void *arg);

#endif
