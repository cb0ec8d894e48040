/*
 * peer: the client at the other end of a connection, and how a connection ends.
 *
 * Apart from event.h, so that adapters which embed libevent's own `struct event` can use these types.
 */
#ifndef CORE_PEER_H
#define CORE_PEER_H

#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct record;

/* A connection, numbered by the adapter; never 0, never used twice. */
typedef uint64_t conn_id;
typedef uint64_t session_id;

#define PEER_ADDRESS_MAX 64
#define PEER_NAME_MAX    32

/* The client at the other end, as far as the kernel tells. */
struct peer {
	int64_t pid;                    /* 0: unknown */
	int64_t uid;                    /* -1: unknown */
	char address[PEER_ADDRESS_MAX]; /* "10.0.0.7:4711", or "unix" */
	char name[PEER_NAME_MAX];       /* CLIENT SETNAME, truncated; "": none */
	bool admin;                     /* may BREAK */
	uint64_t user;                  /* the same for all connections of one user; 0: of no known user */
};

/* Its fields in a saved state, in both directions; see proto/record.h. */
void peer_fields(struct record *r, struct peer *peer);

/* The process that a session is bound to. A pid names it in one PID namespace only; and the start time is
 * there so that a recycled pid is another process. */
struct process {
	int64_t pid;
	uint64_t started; /* ticks after boot */
	uint64_t space;   /* the PID namespace; 0: unknown */
};

/* What the process after a crash has to know of a connection whose client need not notice the crash, for
 * EVENT_RETURN. ACTION_KEEP tells when it has changed. */
struct keep_view {
	session_id session; /* for which it speaks; durable */
	bool pushed;        /* it gets the pushes of ONLOSS PUSH */
	bool anchor;        /* SESSION ANCHOR */
};

/* A name that waits here for a session of an id (PROTOCOL.md 5.11). The id may hold it at another daemon. */
struct whose {
	uint64_t user; /* as in struct peer */
	struct slice name;
	struct slice as;
};

enum end {
	END_CLEAN,    /* QUIT, RESET, exit of the bound process: holds end */
	END_GONE,     /* a local peer closed its end, or a peer whose listener lets that suffice: holds end,
			 unless the session has a grace and may come back */
	END_ABANDONED /* any other end: the client may still be working, so its holds are withheld */
};

#endif
