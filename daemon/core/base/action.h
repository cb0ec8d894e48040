/*
 * action: what the core wants done. The driver carries out actions in order after core_step() has returned.
 *
 * Pointers and slices in an action stay valid until the next core_step(), even if the object they belong to
 * has ended meanwhile.
 */
#ifndef CORE_ACTION_H
#define CORE_ACTION_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/peer.h"
#include "proto/reply.h"

#include <stddef.h>

enum action_type {
	ACTION_REPLY,  /* conn, reply: the one answer to its oldest unanswered core command */
	ACTION_PUSH,   /* conn, push: out of band, RESP3 connections only */
	ACTION_CLOSE,  /* conn: flush and close it; EVENT_CLOSE follows as usual */
	ACTION_KEEP,   /* conn: what core_view_keep() says of it has changed */
	ACTION_CALL,   /* call: one vote follows */
	ACTION_LISTEN, /* listen: tell the end of a foreign client's lock of a name by EVENT_WAKE, or stop
			  doing so */
	ACTION_MASTER, /* move: a slot has another address from now on. The calls under way there are answered
			  UNKNOWN first, and its links go down; then it is connected to */
	ACTION_WATCH,  /* process: send EVENT_EXIT when it ends, or EVENT_UNSEEN */
	ACTION_WHOSE,  /* whose: send EVENT_ELSEWHERE if another daemon holds the name for the id */
	ACTION_NOTE    /* note: for the log, the EVENTS stream and the counters */
};

/* What is pushed: `grant id token`, with VALIDITY `grant id token ms`; `failed id code text`; `lost name
 * owner token reason`. */
enum push_type { PUSH_GRANT, PUSH_FAILED, PUSH_LOST };

struct push {
	enum push_type type;
	enum code code; /* FAILED; CODE_COUNT: not granted within WAIT, `failed id null` */
	int64_t token;  /* GRANT, LOST */
	int64_t ms;     /* GRANT: how long the hold is surely valid; < 0: it was not asked for */
	struct slice id;
	struct slice name;
	struct slice owner;
	char text[REPLY_TEXT_MAX]; /* LOST: reason; FAILED: the error's text; else empty */
};

/* What happened. */
enum note_type {
#define NOTE(id, name, level, ms, help) NOTE_##id,
#include "daemon/core/base/note.def"
	NOTE_COUNT
};

struct note {
	enum note_type type;
	session_id session;      /* 0: none */
	const struct peer *peer; /* of the session; NULL: unknown */
	struct slice name;       /* n == 0: none */
	struct slice owner;      /* tag of a hold or wait; n == 0: none */
	struct slice why;        /* WHY of a hold; n == 0: none */
	int64_t token;           /* 0: none */
	int64_t ms;              /* a duration, which NOTES names; -1: none */
	enum kind kind;          /* GRANTED, RELEASED, LOST, WITHHELD, LONG_HOLD: of the hold */
	int64_t span_ms;         /* GRANTED: how long it was waited for; RELEASED, LOST, WITHHELD: how long
				  * it was held, once for each hold; -1: none */
	int64_t late_ms;         /* LOST: how long ago the hold ended; > 0 if the daemon stood still past the
				  * deadline that was announced to the holder */
	const char *text;        /* NULL: none */
	int master;              /* -1: none */
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
		struct {
			struct slice name;
			bool on;
		} listen;
		struct move move;
		struct process process;
		struct whose whose;
		struct note note;
	} u;
};

/*
 * A growing list; the driver empties it when its actions are carried out, and uses it again.
 *
 * A step that ends thousands of holds has a note for each, and a list of them all would be megabytes of new
 * memory. So the driver may take notes while the step goes on: whenever the list is full, tell() gets its
 * notes, in order, and the other actions stay. It must not call the core. Notes so may come before other
 * actions that were emitted earlier; they come never before a change of the core that they tell of.
 */
struct actions {
	struct action *list;
	size_t n;
	size_t room;
	void (*tell)(void *arg, const struct note *note); /* NULL: notes stay, too */
	void *arg;
};

void actions_init(struct actions *a);
/* Empties the list. The memory of a very long one is freed. */
void actions_empty(struct actions *a);
void actions_done(struct actions *a);

#endif
