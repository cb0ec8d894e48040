/*
 * event: what may happen to the core. The driver makes events, core_step() consumes them.
 *
 * What an event points to has to live only until core_step() returns.
 */
#ifndef CORE_EVENT_H
#define CORE_EVENT_H

#include "daemon/core/base/call.h"
#include "daemon/core/base/peer.h"
#include "proto/command.h"

#include <stdbool.h>
#include <stdint.h>

/* Time, random numbers and memory, read by the driver anew for each event. */
struct now {
	int64_t ms;         /* CLOCK_BOOTTIME */
	int64_t wall_us;    /* CLOCK_REALTIME, read in this ms; only proposes tokens, never times anything */
	uint64_t random[2]; /* unpredictable: for secrets and jitter; see core_drew() */
	bool full;          /* memory is short: no new lock, wait or latch is begun; what exists goes on */
};

/* What an administrator asks of the set of masters (PROTOCOL.md 6.12 to 6.14). */
enum masters_op { MASTERS_REPLACE, MASTERS_ADD, MASTERS_ABORT };

#define MASTERS_NEW_MAX 2

/* Places as a set names them (masterset.h), and the ways to them. */
struct masters_change {
	enum masters_op op;
	struct slice old;                     /* REPLACE: place of a member */
	struct slice places[MASTERS_NEW_MAX]; /* places of the new masters: REPLACE one, ADD two */
	struct slice ways[MASTERS_NEW_MAX];
};

enum event_type {
	EVENT_OPEN,      /* conn, peer: a connection is open, and with it a session */
	EVENT_RETURN,    /* conn, keep, no_push: a connection that has outlived the process before
			    (core_recover()) speaks for its session again */
	EVENT_PEER,      /* conn, peer: it logged in or was named: the peer's data changed */
	EVENT_NO_PUSH,   /* conn, no_push: it left RESP3, and takes no pushes; or came back to it */
	EVENT_FINISH,    /* conn: no more requests will come: its wait becomes WAIT 0 */
	EVENT_CLOSE,     /* conn, end: the connection is gone */
	EVENT_COMMAND,   /* conn, command: one of the verbs that command.def marks for the core */
	EVENT_ALIVE,     /* conn: it sent a request that the core does not answer (core_wants_heartbeat()) */
	EVENT_BREAK,     /* command: a BREAK that another daemon asks for; nothing is answered */
	EVENT_ELSEWHERE, /* whose, text: another daemon holds the name for the id. The text is for
			    its client */
	EVENT_BIND,      /* conn, process: SESSION BIND; answered like a command */
	EVENT_MASTERS,   /* conn, masters: the set of masters is to change; answered like a command */
	EVENT_EXIT,      /* process: it ended, and with it the session bound to it */
	EVENT_UNSEEN,    /* process: its end cannot be seen here; the session goes on without it */
	EVENT_LINK_UP,   /* master, link: connected and logged in; it has to answer HELLO before it is used */
	EVENT_LINK_DOWN, /* master, link, text: why. The votes for its calls come first */
	EVENT_SUBSCRIBED, /* master: its inbox listens (again): wake-ups may have been missed before */
	EVENT_FLUSHED,    /* master: it says that its data was flushed; it has to answer HELLO again */
	EVENT_VOTE,       /* vote */
	EVENT_WAKE,       /* name: we are the head of the queue: acquire now */
	EVENT_WANT,       /* name: another daemon waits for a lease of ours */
	EVENT_LATCH,      /* name: the latch of this name was set, or has opened */
	EVENT_TIMER,      /* core_wake_at() has come */
	EVENT_DRAIN       /* conn, waits: stop, now or when holders have finished; answers conn, unless 0 */
};

struct event {
	enum event_type type;
	conn_id conn;
	enum end end;
	bool no_push;
	bool waits;
	unsigned master;
	unsigned link;
	struct slice name;
	struct slice text;
	struct process process;
	struct keep_view keep;
	const struct peer *peer;
	const struct command *command;
	const struct masters_change *masters;
	const struct vote *vote;
	const struct whose *whose;
};

#endif
