/*
 * action: what the core wants done. The driver carries out actions in order after core_step() has returned.
 *
 * Pointers and slices in an action stay valid until the next core_step(), even if the object they belong to
 * has ended meanwhile.
 */
#ifndef CORE_ACTION_H
#define CORE_ACTION_H

#include "daemon/core/call.h"
#include "daemon/core/event.h"
#include "proto/reply.h"

#include <stddef.h>

enum action_type {
	ACTION_REPLY,  /* conn, reply: the one answer to its oldest unanswered core command */
	ACTION_PUSH,   /* conn, push: out of band, RESP3 connections only */
	ACTION_CLOSE,  /* conn: flush and close it; EVENT_CLOSE follows as usual */
	ACTION_CALL,   /* call: one vote follows */
	ACTION_LISTEN, /* listen: tell the end of a foreign client's lock of a name by EVENT_WAKE, or stop
			  doing so */
	ACTION_MASTER, /* move: a slot has another place from now on. The calls under way there are answered
			  UNKNOWN first, and its links go down; then it is connected to */
	ACTION_WATCH,  /* process: send EVENT_EXIT when it ends */
	ACTION_NOTE    /* note: for the log, the EVENTS stream and the counters */
};

/* What is pushed: `grant id token`, `failed id code text`, `lost name owner token reason`. */
enum push_type { PUSH_GRANT, PUSH_FAILED, PUSH_LOST };

struct push {
	enum push_type type;
	enum code code; /* FAILED; CODE_COUNT: not granted within WAIT, `failed id null` */
	int64_t token;  /* GRANT, LOST */
	struct slice id;
	struct slice name;
	struct slice owner;
	char text[REPLY_TEXT_MAX]; /* LOST: reason; FAILED: the error's text; else empty */
};

/* What happened: NOTE(id, event name in logs and EVENTS, level) */
#define NOTES(NOTE)                                                                                          \
	NOTE(GRANTED, "lock.granted", DEBUG)      /* a session holds the lock */                             \
	NOTE(RELEASED, "lock.released", DEBUG)    /* its holder ended the hold */                            \
	NOTE(LOST, "lock.lost", WARNING)          /* the hold ended otherwise; text: reason */               \
	NOTE(WITHHELD, "lock.withheld", INFO)     /* abandoned: not granted again for ttl_ms */              \
	NOTE(TIMEOUT, "lock.timeout", DEBUG)      /* WAIT ended */                                           \
	NOTE(DEADLOCK, "lock.deadlock", INFO)     /* a wait was refused; text: the cycle */                  \
	NOTE(LEASED, "lease.acquired", DEBUG)     /* the daemon has the lease at the masters */              \
	NOTE(UNLEASED, "lease.released", DEBUG)   /* the daemon released the lease */                        \
	NOTE(RECLAIMED, "lease.reclaimed", INFO)  /* the lease was re-asserted at a restarted master */      \
	NOTE(LATCH_SET, "latch.set", DEBUG)       /* a session made it; it lives for ttl_ms */               \
	NOTE(LATCH_OPENED, "latch.opened", DEBUG) /* this daemon knows that it is open */                    \
	NOTE(LATCH_LOST, "latch.lost", WARNING)   /* the master may have forgotten part of it */             \
	NOTE(RENEW_FAILED, "lease.renew_failed", WARNING) /* text: why; retried while the lease is valid */  \
	NOTE(DETACHED, "session.detached", INFO)          /* lost its last connection; kept for ttl_ms */    \
	NOTE(RESUMED, "session.resumed", INFO)            /* has a connection again; ttl_ms were left */     \
	NOTE(EXPIRED, "session.expired", INFO)            /* its grace ended without a connection */         \
	NOTE(SILENT, "session.silent", WARNING)           /* no request for ttl_ms: closed */                \
	NOTE(MASTER_AWAY, "master.away", WARNING)         /* text: why */                                    \
	NOTE(MASTER_SILENT, "master.silent", WARNING)     /* no answer for ttl_ms; once for a stretch */     \
	NOTE(MASTER_GUARDED, "master.guarded", WARNING)   /* forgot or may have forgotten; for ttl_ms */     \
	NOTE(MASTER_ADMITTED, "master.admitted", INFO)    /* in full use */                                  \
	NOTE(MASTERS_AGREED, "masters.agreed", INFO)      /* text: the set of masters */                     \
	/* Another set is to follow, or is given up; text: the set */                                        \
	NOTE(MASTERS_CHANGE, "masters.change_begun", INFO)                                                   \
	NOTE(MASTERS_DROPPED, "masters.change_dropped", WARNING)                                             \
	NOTE(MASTER_LEAPT, "master.leapt", WARNING)   /* its clock went forward by ttl_ms */                 \
	NOTE(MASTER_FLOOR, "master.floor", WARNING)   /* its tokens go on above a guess; text: why */        \
	NOTE(MASTER_REFUSED, "master.refused", ERROR) /* cannot be used; text: why and what to change */     \
	NOTE(MASTER_ERROR, "master.error", WARNING)   /* text: its words; once for a stretch */              \
	NOTE(CLONED, "daemon.cloned", ERROR)          /* a copy of this process runs: this one ends */       \
	NOTE(STALLED, "daemon.stalled", WARNING)      /* a turn came ttl_ms late; leases were checked first */

enum note_type {
#define NOTE(id, name, level) NOTE_##id,
	NOTES(NOTE)
#undef NOTE
		NOTE_COUNT
};

struct note {
	enum note_type type;
	session_id session;      /* 0: none */
	const struct peer *peer; /* of the session; NULL: unknown */
	struct slice name;       /* n == 0: none */
	struct slice owner;      /* tag of a hold or wait; n == 0: none */
	int64_t token;           /* 0: none */
	int64_t ms;              /* a duration, -1: none */
	const char *text;        /* NULL: none */
	int master;              /* -1: none */
};

struct listen {
	struct slice name;
	bool on;
};

struct move {
	unsigned master;
	struct slice place; /* as a set names it (masterset.h); n == 0: the slot is closed */
	struct slice way;
};

struct action {
	enum action_type type;
	conn_id conn;
	union {
		struct reply reply;
		struct push push;
		struct call call;
		struct listen listen;
		struct move move;
		struct process process;
		struct note note;
	} u;
};

/* A growing list; the driver empties it when its actions are carried out, and uses it again. */
struct actions {
	struct action *list;
	size_t n;
	size_t room;
};

void actions_init(struct actions *a);
/* Empties the list. The memory of a very long one is freed. */
void actions_empty(struct actions *a);
void actions_done(struct actions *a);

#endif
