/*
 * conn: a client's connection to a daemon, both ends of it: requests one way, replies and pushes the other,
 * each in order. Like the real one it gives the core the next request only when the last is answered.
 */
#ifndef SIM_CONN_H
#define SIM_CONN_H

#include "daemon/core/action.h"
#include "proto/command.h"
#include "tests/sim/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define CONN_REQUESTS_MAX 4

struct client;
struct host;
struct world;

struct request {
	enum verb verb;
	unsigned name;
	unsigned names[PLAN_NAMES_MAX]; /* MLOCK, MUNLOCK */
	unsigned count;                 /* of them */
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: it is none */
	int64_t permits; /* of these */
	char owner[8];
	char id[24];
	int64_t wait_ms;
	int64_t tries; /* RETRIES and the first; 0: they are not counted */
	int64_t lease_ms;
	int64_t max_hold_ms;
	int64_t extend_ms;
	int64_t token;
	int64_t steps;
	bool validity;
	enum onloss onloss;
	char secret[64];
	uint64_t tag;    /* SESSION JOIN, RESUME: of the session whose secret it is */
	int64_t pid;     /* SESSION BIND */
	int64_t ms;      /* SESSION GRACE, SESSION HEARTBEAT */
	int64_t sent_us; /* true time */
	uint64_t serial; /* in the order in which the daemon took them */
};

struct conn {
	LIST_ENTRY(conn) in_world; /* conns.h */
	LIST_ENTRY(conn) in_tag;
	LIST_ENTRY(conn) in_place; /* open, or closed */
	struct world *world;
	conn_id id;
	struct host *host;
	uint64_t host_life;
	struct client *client;
	uint64_t client_life;
	uint64_t tag; /* of its session: those who speak for the same one have the same */
	int64_t pid;  /* its session is bound to; 0: none */
	bool bound;   /* and its daemon knows */
	bool unbound; /* and has unbound it again: the session missed its heartbeat */
	bool local;   /* Unix socket: its end is clean */
	bool open;    /* the core knows it */
	bool closing; /* the core is told of its end in this very step; until then it spoke for */
	session_id session;
	session_id asked_as; /* running: whose it was when its request came */
	char secret[64];     /* of its session, as it was told; "": it was not */
	bool ending;         /* the core wants it closed */
	bool left;           /* the client's end is closed */
	bool graced;         /* its session outlives it */
	bool ousted;         /* another one speaks for its session */
	bool over; /* and so is its session, properly: nobody relies on what it may still be given */
	int64_t to_host_us;
	int64_t to_client_us;
	struct request queue[CONN_REQUESTS_MAX];
	unsigned n;
	bool busy;
	bool running; /* the core is told of the request in this very step */
	bool queued;  /* and it is to be answered by a push */
	struct request current;
};

struct conn *conn_open(struct client *client, struct host *host, bool local);
void conn_send(struct conn *conn, const struct request *request);
/* The client closes its end; quit: says so before. */
void conn_leave(struct conn *conn, bool quit);
/* Nothing gets through any more, and its daemon learns of it later (TCP). */
void conn_vanish(struct conn *conn);
/* No more requests will come, but the answer is waited for. */
void conn_finish(struct conn *conn);
/* The process that sessions are bound to ends. */
void conn_exit(struct conn *conn);
/* The session that it speaks for; 0: none. */
session_id conn_session(const struct conn *conn);

/* The host's side. */
void conn_reply(struct host *host, conn_id id, const struct reply *reply);
void conn_push(struct host *host, conn_id id, const struct push *push);
void conn_close_by_host(struct host *host, conn_id id);
void conn_host_gone(struct host *host);

#endif
