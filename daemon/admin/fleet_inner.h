/*
 * fleet_inner: what the files of the fleet share.
 *
 *     fleet.c ──▶ fleet_peers.c, fleet_write.c ──▶ fleet_merge.c, fleet_top.c, fleet_hour.c, fleet_refused.c
 *       ▲ └─────▶ fleet_serve.c, fleet_sign.c, fleet_share.c, fleet_page.c
 *       ▼
 *     fleet_lookup.c
 *
 * fleet.c: requests of clients; fleet_lookup.c: what masters are asked for them; fleet_peers.c: the daemons
 * that are known, and what masters say of a name; fleet_write.c: answers to clients, fleet_merge.c those to
 * HISTORY, and fleet_top.c those to TOP; fleet_refused.c: the daemons that the masters refused;
 * fleet_serve.c: requests of other daemons; fleet_sign.c: which messages are of a daemon, and new;
 * fleet_share.c: how much a user may ask for;
 * fleet_page.c: what pages of HTTP show.
 */
#ifndef ADMIN_FLEET_INNER_H
#define ADMIN_FLEET_INNER_H

#include "daemon/admin/fleet.h"
#include "daemon/admin/history.h"
#include "daemon/admin/longest.h"
#include "daemon/base/mac.h"
#include "daemon/base/random.h"
#include "daemon/core/view.h"
#include "daemon/request/context.h"
#include "proto/answer.h"

#include <bsd/sys/queue.h>

#define DAEMON_ID_MAX 33

/* A daemon that is registered at a master. */
struct fleet_peer {
	char id[DAEMON_ID_MAX];
	char host[65];
	char version[17];
	char settings[257];
	char address[257];
	char secret[MAC_SECRET_SIZE]; /* of its messages; "": unknown, so it cannot be asked */
	int64_t pid;
	int64_t begun_s;    /* since 1970; 0: unknown */
	int64_t seen_ms;    /* CLOCK_BOOTTIME: its last HELLO */
	unsigned listed;    /* the masters that had it the last time, as bits */
	int64_t expires_ms; /* CLOCK_BOOTTIME: the end of its registration */
	int64_t asked_ms;   /* the first ask since its last answer; 0: it has answered all */
	int64_t sent_ms;    /* the last ask */
	bool silent;        /* it has not answered in time */
	int64_t took_ms;    /* its answers take, smoothed */
};

struct fleet_peers {
	struct fleet_peer *list; /* by id */
	size_t n;
	size_t room;
	int64_t refreshed_ms; /* CLOCK_BOOTTIME: the last answer of any master; INT64_MIN / 2: none */
	int64_t asked_ms;     /* when a master was last asked which daemons there are */
};

/* A daemon that masters refused lately; only what FLEET shows of `who` is known. */
struct fleet_refusal {
	struct fleet_peer who;
	char why[256]; /* in what it differs */
};

struct fleet_refusals {
	struct fleet_refusal list[FLEET_REFUSED_MAX];
	size_t n;
};

/* Its leading digits, as many as a cursor has room for. */
#define PEER_DIGITS 7

/* What a daemon was asked for, and has said. */
struct fleet_part {
	char id[DAEMON_ID_MAX];
	char host[65];
	int64_t seen_ms;  /* when it last sent a master HELLO, CLOCK_BOOTTIME */
	int64_t until_ms; /* it is waited for until then */
	int64_t asked_ms;
	int64_t answered_ms;  /* 0: it has not */
	int64_t clock_ms;     /* how far its wall clock is ahead of ours; 0 also if it has not said so */
	bool asked;           /* a master that is in use took the question */
	bool valid;           /* it has answered as the request asks for */
	bool late;            /* until_ms was extended once */
	char why[96];         /* the error that it has answered; "": none */
	struct buffer answer; /* RESP */
	struct answer_parser parser; /* of answer; its tree lives as long */
	const struct answer *tree;   /* NULL: there is none */
};

/* What one master says of the name. */
struct fleet_sight {
	bool asked;
	bool answered;
	bool sure;  /* the master is in use and has no guard: it remembers all leases */
	char *text; /* the texts of the answer, which point into it; NULL: none */
	struct slice kind, holders, queue;
};

enum fleet_stage {
	FLEET_LOOKUP, /* waits for the masters */
	FLEET_ASKS    /* waits for other daemons */
};

struct fleet_open {
	TAILQ_ENTRY(fleet_open) next;
	uint64_t id;   /* fleet_number() */
	conn_id conn;  /* that is answered; 0: the core asks, for what waits there (fleet_ask_whose()) */
	uint64_t user; /* as in struct peer */
	enum fleet_stage stage;
	int64_t until_ms;       /* LOOKUP: until then */
	struct command command; /* its texts are in text */
	char *text;
	bool answered;             /* a master has answered */
	bool again;                /* the masters are asked a second time: an owner was not known */
	bool asking;               /* ASKS: not all daemons have been asked */
	char asked[DAEMON_ID_MAX]; /* the last of them that was; "": none */
	int64_t wake_ms;           /* ASKS: the end of the time of all that were asked */
	size_t bytes;              /* that each daemon may answer, about */
	uint64_t cursor;           /* lists: of the daemon that is asked */
	struct fleet_sight sights[CORE_SLOTS_MAX];
	struct fleet_part *parts;
	size_t part_count;
	size_t part_room;
};

TAILQ_HEAD(fleet_opens, fleet_open);

/* Answers of other daemons that are stored, of all requests together. */
#define FLEET_STORED_BYTES (32 << 20)

/* A request of another daemon that waits to be served. */
struct fleet_ask {
	unsigned master; /* by which it came */
	char from[DAEMON_ID_MAX];
	uint64_t number;
	int protocol;
	size_t bytes;
	size_t n; /* of the request, and of what follows it */
	char request[FLEET_ASK_MAX];
};

/* What a user that is no administrator may ask for. */
struct fleet_share {
	uint64_t user;    /* as in struct peer */
	double left;      /* requests, at asked_ms */
	int64_t asked_ms; /* its latest request, CLOCK_BOOTTIME; 0: this share is of no user yet */
};

/* Of a daemon that has asked: which numbers come from it for the first time. */
#define FLEET_NUMBERS_MAX 16
struct fleet_sender {
	char id[DAEMON_ID_MAX];
	uint64_t used;  /* larger: later */
	uint64_t floor; /* all numbers up to this one are old */
	size_t n;
	uint64_t numbers[FLEET_NUMBERS_MAX]; /* above the floor, the largest that came */
};

/* At most FLEET_PEERS_MAX. */
struct fleet_senders {
	struct fleet_sender *list;
	size_t n;
	uint64_t turn;
};

/* Locks in an answer to TOP, without COUNT. */
#define TOP_COUNT 100

/* What the pages of HTTP show of all daemons. */
#define SEEN_MAX    8
#define SEEN_BYTES  ((size_t)512 << 10) /* of each, about */
#define SEEN_OLD_MS 10000               /* it is not shown any more */
struct fleet_seen {
	int64_t used_ms; /* a page was asked for; 0: there is none here */
	enum verb verb;  /* TOP, INSPECT or HISTORY */
	char about[NAME_BYTES_MAX + 1];
	size_t about_n;
	uint64_t open;        /* the request that was sent last */
	int64_t at_ms;        /* of the answer; 0: none yet */
	struct buffer answer; /* in RESP3 */
};

struct fleet {
	struct context *context;
	struct random random;
	struct fleet_peers peers;
	struct fleet_refusals refusals;
	struct fleet_senders senders;
	uint64_t number_turn; /* of the last fleet_number() */
	struct fleet_opens opens;
	size_t open_count;
	size_t stored_bytes;    /* of answers, in all parts */
	struct fleet_ask *asks; /* a ring of FLEET_QUEUE_MAX; NULL: none came yet */
	size_t ask_first, ask_count;
	size_t spare;      /* daemons that may be asked in this ms, beside those at once */
	int64_t spared_ms; /* CLOCK_BOOTTIME */
	struct fleet_share shares[FLEET_USERS_MAX];
	struct longest *longest;
	struct fleet_seen seen[SEEN_MAX];
};

/* The daemon that asks, and its client. */
struct asker {
	const char *daemon; /* its id */
	struct slice who;   /* the client that asked it for a BREAK; n == 0: unknown, or another verb */
};

/* The answer to PING: this, and the wall clock in ms since 1970. A neighbouring version answers the word
 * alone. */
#define FLEET_PONG "PONG "

/* Cursors of lists: the leading digits of a daemon, and the cursor there. */
#define FLEET_CURSOR_BITS 34

/* A request for the session of an id. Its command has all that the core needs for it. */
static inline bool
is_of_id(const struct command *command)
{
	return command->as.n > 0;
}

static inline bool
is_list(const struct command *command)
{
	return command->verb == VERB_LOCKS || command->verb == VERB_SESSIONS;
}

/* The answers of all daemons become one list. */
static inline bool
is_merged(const struct command *command)
{
	return command->verb == VERB_HISTORY || command->verb == VERB_TOP || command->verb == VERB_HOUR;
}

#endif
