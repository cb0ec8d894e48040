/*
 * core_inner: the core from within: what it remembers, in one picture, and what all of its files may use.
 *
 *     conn ──▶ session ──▶ grant ──▶ lease ◀──▶ resource      (the hold, its lease, and the name)
 *                    └───▶ waiter ◀──────────────┘      release: a lease given up, until the master confirms
 *
 * A conn is a connection, and its session is the client that it speaks for. A resource is a name that a
 * session here holds or waits for, or of which this daemon has a lease. There may be millions that are only
 * held, so what these need is kept small. A latch is here while a request asks about it (latch_request), and
 * for some time afterwards. An object that ends goes to the freelist and is not freed at once: actions may
 * point into it until the next step. The header of each topic declares its data and its functions; here is
 * the core's own struct.
 */
#ifndef CORE_CORE_INNER_H
#define CORE_CORE_INNER_H

#include "daemon/core/action.h"
#include "daemon/core/alloc.h"
#include "daemon/core/binding.h"
#include "daemon/core/core.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/detached.h"
#include "daemon/core/event.h"
#include "daemon/core/latch.h"
#include "daemon/core/map.h"
#include "daemon/core/master.h"
#include "daemon/core/masterset.h"
#include "daemon/core/mlock.h"
#include "daemon/core/resource.h"
#include "daemon/core/scheduler.h"
#include "daemon/core/semaphore.h"
#include "daemon/core/session.h"
#include "daemon/core/starts.h"
#include "daemon/core/timers.h"
#include "daemon/core/user.h"
#include "daemon/core/view.h"

#include <assert.h>
#include <bsd/sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much falls to one millisecond, so that no client waits for too much at once. What is counted is work,
 * as that for a call about a short name (resource_work()). */
struct ration {
	int64_t ms;
	size_t count;
};

/* So much more in this millisecond, which is no earlier than the last one; returns how much came before it.
 */
static inline size_t
ration_take(struct ration *r, int64_t ms, size_t work)
{
	size_t before;

	assert(ms >= r->ms && work > 0);
	if (r->ms != ms)
		*r = (struct ration){ms, 0};
	before = r->count;
	r->count += work;
	return before;
}

/* The first millisecond from ms on, no earlier than the last one, that has less than most (> 0); it has so
 * much more then. */
static inline int64_t
ration_turn(struct ration *r, int64_t ms, size_t most, size_t work)
{
	if (ms < r->ms)
		ms = r->ms;
	if (r->ms == ms && r->count >= most)
		ms++;
	(void)ration_take(r, ms, work);
	assert(r->count < most + work);
	return ms;
}

/* Whether the daemon is stopping. */
enum drain {
	DRAIN_NONE,
	DRAIN_WAITS, /* no new locks; holders finish */
	DRAIN_ENDS   /* holders have been told, and the daemon waits for no client */
};

struct core {
	struct core_settings settings;
	uint64_t secret[2]; /* of the tables whose keys clients choose (map.h) */
	struct reserve reserve;
	struct timers timers;
	struct rules rules;
	struct master masters[CORE_SLOTS_MAX]; /* the members, then the newcomers of a change (masterset.h) */
	struct parted parted[PARTED_MAX];      /* servers that slots have been; each once, the latest first */
	struct masterset masterset;
	bool reseat;    /* the masters have changed: leases have to follow before anything else (quorum.h) */
	unsigned seats; /* seats that each lease has by now */
	/* One master has become three: before this time no newcomer can have been admitted by any daemon. */
	int64_t newcomers_until_ms;
	int64_t alone_ms;  /* until then recovered leases are valid that a single master gave; 0: there are
			      none */
	int64_t highest;   /* highest token seen anywhere */
	int64_t past;      /* highest token seen before a master's memory last changed */
	int64_t due_ms;    /* when the next step was due, as the last one left it */
	int64_t awake_ms;  /* when it went on after a standstill; 0: there was none */
	bool retry;        /* wake-ups may have been missed: the schedule tries everything again */
	bool resumes;      /* loaded from a state, and no step has come since (state.h) */
	uint16_t rerouted; /* resumes: a bit for each slot that is not what the configuration names there */
	struct map conns;  /* by their numbers */
	struct session *sessions;
	struct session *bound; /* those bound to a process, by process */
	struct map ids;        /* the detached ones, by user and id */
	struct detached_list detached;
	struct user *users;
	int64_t heartbeats; /* sessions with a heartbeat */
	struct names names; /* the resources */
	struct permit_lease *permit_leases;
	struct release *releases;
	struct latch *latches;
	struct latch_quota *latch_quotas;
	uint64_t latch_quotas_memory;   /* the memory of the master in which they are */
	struct latch_request *requests; /* those with a call under way, by attempt */
	struct latch_list idle;         /* latches without a request, oldest first */
	size_t idle_count;
	struct dirty dirty;
	struct queue_list queues; /* of all names with waiters */
	struct queue nobody;      /* of all other names: empty */
	bool catches;             /* held names are being looked at, because a master's state changed */
	scan_cursor catching;     /* how far that scan is */
	struct timer rescan_timer;
	struct ending_list ending; /* sessions that give up what they hold, in turn */
	struct timer ending_timer;
	struct mlock_list mlocks; /* the dirty ones */
	struct freelist_row freelist[FREELIST_ROWS];
	uint64_t freelist_used;          /* a bit for each row with dead items */
	struct actions *actions;         /* of the running step */
	struct buffer *ledger;           /* its entries go here; NULL: none is kept (ledger.h) */
	struct now now;                  /* of the running step */
	uint64_t random;                 /* jitter of the running step */
	unsigned drew;                   /* random numbers that the step has drawn */
	uint64_t attempts;               /* the last attempt number used */
	uint64_t tickets;                /* the last ticket given to a waiter */
	session_id session_ids;          /* the last session id used */
	uint64_t searches;               /* the last search for deadlocks */
	struct deferred_checks deferred; /* the searches put off */
	struct core_counts counts;
	size_t acquires;           /* leases being acquired */
	size_t calls;              /* without a vote yet */
	int64_t unread_until_ms;   /* until then no client is read; 0: all are (core_unread()) */
	struct ration retained;    /* unused leases, by when they will be given back: the latest */
	struct ration put_off;     /* likewise, of names that are not expected to be wanted again */
	struct ration ended_holds; /* of sessions that end */
	struct ration let_go;      /* unused leases that are given back */
	struct ration renewals;    /* that begin, or would have */
	struct ration turns;       /* renewals that were put off, by when they will begin: the latest */
	int64_t guarded_ms;        /* the longest lease that guards wait for (master.h) */
	struct binding binding;    /* what settings before these have bound */
	/* Clients that are gone may rely until then on withheld holds whose leases are lost. It is not saved:
	 * a daemon that hands over does not end. */
	int64_t lost_until_ms;
	/* When they began: the holds of sessions, the waiters, and the MLOCKs that wait, each as a whole. */
	struct starts hold_starts, wait_starts, mlock_starts;
	enum drain drain;
	bool left;  /* the daemon ends, and greets its masters no more */
	bool ended; /* a copy of this process runs; see core_ended() */
};

/* A request came on this connection, or the answer was given that kept further ones from coming: see
 * session.h. */
static inline void
conn_heard(const struct core *core, struct conn *conn)
{
	assert(conn->session != NULL);
	conn->session->heard_ms = core->now.ms;
}

/* check.c: what cannot be in this core, which was loaded, as of this time: a condition that does not hold.
 * NULL: nothing. Looks at all of it, but for what its loader has counted for users. */
const char *core_wrong(const struct core *core, int64_t now_ms);

/*
 * emit.c: appends actions to the running step, one function for each kind, so that the rest of the core shows
 * what it decides and not how that is written down.
 */

void emit_reply(struct core *core, conn_id conn, const struct reply *reply);
void emit_int(struct core *core, conn_id conn, int64_t n);
void emit_validity(struct core *core, conn_id conn, int64_t token, int64_t ms);
void emit_null(struct core *core, conn_id conn);
void emit_ok(struct core *core, conn_id conn);
/* The refusal of a daemon that is about to end. */
/* In front of what such a request has to name. */
#define EMIT_VAGUE    "with AS id a request may come late, so it has to say which hold is meant: "
#define EMIT_DRAINING "the daemon is shutting down: connect again in a moment"
void emit_error(struct core *core, conn_id conn, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 4, 5)));

void emit_push(struct core *core, conn_id conn, const struct push *push);
void emit_close(struct core *core, conn_id conn);
void emit_keep(struct core *core, conn_id conn);
void emit_call(struct core *core, const struct call *call);
void emit_listen(struct core *core, struct slice name, bool on);
void emit_move(struct core *core, const struct master *m);
void emit_watch(struct core *core, const struct process *process);
void emit_whose(struct core *core, const struct whose *whose);

/* The text escaped, and cut if it is longer than the room, which is more than 3 bytes. Returns out. */
const char *emit_text(char *out, size_t room, struct slice text);

/* "session 7 (deploy)", the latter with the session's client name cut to a few characters. Returns out. */
#define EMIT_LABEL_MAX 17 /* bytes of that name, NUL included */
#define EMIT_WHO_MAX   (EMIT_LABEL_MAX + 32)
const char *emit_who(char out[EMIT_WHO_MAX], const struct session *s);

/* A copy of the text, for a note; it lasts until the next step. NULL: out of memory. */
const char *emit_words(struct core *core, const char *text);

/* NULL-safe: r and s may be absent. ms -1 and token 0 are left out. */
void emit_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	int64_t token, int64_t ms, const char *text);

/* The same, for a hold or a wait that has an owner tag. */
void emit_tag_note(struct core *core, enum note_type type, const struct resource *r, const struct session *s,
	struct slice owner, int64_t token, int64_t ms, const char *text);

/* About a hold, with its kind, its WHY and how long it has been held. Returns the note, until the next one.
 */
struct note *emit_hold_note(
	struct core *core, enum note_type type, const struct grant *g, int64_t ms, const char *text);

/* About a latch. */
void emit_latch_note(struct core *core, enum note_type type, const struct latch *l, session_id session,
	int64_t ms, const char *text);

/* About a master. */
void emit_master_note(struct core *core, enum note_type type, const struct master *m, int64_t token,
	int64_t ms, const char *text);

/* The same for events that come many times in a row. It is noted again only after a pause of NOTE_PAUSE_MS,
 * or, if it is news, NOTE_NEWS_MS after it was noted last. */
#define NOTE_PAUSE_MS 10000
#define NOTE_NEWS_MS  1000
void emit_master_stretch(struct core *core, enum note_type type, const struct master *m,
	struct stretch *stretch, bool news, int64_t ms, const char *text);

/* The next of this step's pseudo-random numbers, and one in [low, high]. */
uint64_t core_random(struct core *core);
int64_t core_jitter(struct core *core, int64_t low, int64_t high);

/* An attempt number greater than all before it, partly random: a copy of this process draws others. */
uint64_t core_attempt(struct core *core);

/*
 * verbs.c: what each request of a client does. Each request gets exactly one answer, now or when its wait
 * ends.
 */

void verb_run(struct core *core, struct conn *conn, const struct command *command);
/* EVENT_BREAK. */
void break_event(struct core *core, const struct command *command);

/*
 * A drain: the daemon stops (PROTOCOL.md 6.9). core.c calls it.
 *
 *     DRAIN_NONE ──▶ DRAIN_WAITS ──▶ DRAIN_ENDS
 *
 * It accepts nothing new and waits for the holders; then it tells the remaining holders, and ends its
 * registration at its masters.
 */

/* EVENT_DRAIN. The connection with this number gets the answer when the wait is over; 0: no answer. Without
 * waits, it is over now. */
void drain_event(struct core *core, conn_id id, bool waits);

/* A step has been scheduled. Goes on to the end if holders are no longer waited for. True: it did, and there
 * is more to schedule. */
bool drain_goes_on(struct core *core) __attribute__((warn_unused_result));

/* When no client relies on a lease of this daemon any more, tells its masters, once: daemons with other
 * limits or another format need not wait for the end of its registration. */
void drain_leave(struct core *core);

#endif
