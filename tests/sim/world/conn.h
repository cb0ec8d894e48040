/*
 * conn: both ends of a client's connection to a daemon: requests in one direction, replies and pushes in the
 * other, each in order. As in the daemon, the core gets the next request only after the last one was
 * answered.
 */
#ifndef SIM_CONN_H
#define SIM_CONN_H

#include "daemon/core/base/action.h"
#include "proto/command.h"
#include "tests/sim/world/id_client.h"
#include "tests/sim/world/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#define CONN_REQUESTS_MAX 4

struct client;
struct host;
struct recorded_session;
struct world;

struct request {
	enum verb verb;
	unsigned name;
	unsigned names[PLAN_NAMES_MAX]; /* MLOCK, MUNLOCK */
	unsigned count;                 /* of them */
	enum kind kind;
	int64_t limit;   /* of the semaphore; 0: not a semaphore */
	int64_t permits; /* of these */
	char owner[8];
	char id[24];
	int64_t wait_ms;
	int64_t tries; /* RETRIES plus the first round; 0: no limit */
	int64_t lease_ms;
	int64_t max_hold_ms;
	int64_t claim_ms;
	int64_t extend_ms;
	int64_t token;
	int64_t steps;
	bool validity;
	bool astray; /* LOCK of an id: its client does not heed the answer */
	enum onloss onloss;
	char secret[64];
	uint64_t tag;    /* SESSION JOIN, RESUME: of the session with that secret */
	int64_t pid;     /* SESSION BIND */
	int64_t ms;      /* SESSION GRACE, SESSION HEARTBEAT */
	int64_t number;  /* SESSION END: of the session */
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
	struct recorded_session *recorded; /* recorder.h */
	uint64_t client_life;
	uint64_t tag; /* of its session: all connections of a session have the same tag */
	int64_t pid;  /* process that its session is bound to; 0: none */
	bool bound;   /* the daemon has bound it */
	bool unbound; /* the daemon has unbound it again, because the session missed its heartbeat */
	bool exited;  /* that process has ended */
	bool missed;  /* likewise, and no daemon was there to see it */
	bool local;   /* Unix socket: its end is clean */
	bool open;    /* the core knows it */
	bool closing; /* the core is told of its end in this step, and session was its session until then */
	session_id session;
	struct id_client id_client; /* id_client.h */
	session_id asked_as;        /* if running: its session when the request came */
	bool asked_late;            /* its daemon had ended its sessions by then */
	char secret[64];            /* of its session, as the client was told; "": never told */
	bool ending;                /* the core wants it closed, or its daemon does */
	bool left;                  /* the client's end is closed */
	bool graced;                /* its session outlives it */
	bool ousted;                /* another connection has resumed its session */
	bool over;                  /* its session has ended properly: no client relies on a later grant */
	int64_t to_host_us;
	int64_t to_client_us;
	struct request queue[CONN_REQUESTS_MAX];
	unsigned n;
	bool busy;
	bool running; /* the core is told of the request in this step */
	bool queued;  /* it will be answered by a push */
	bool deaf;    /* it has gone back to RESP2, and takes no pushes */
	struct request current;
};

struct conn *conn_open(struct client *client, struct host *host, bool local);
void conn_send(struct conn *conn, const struct request *request);
/* The client closes its end; quit: says so before. */
void conn_leave(struct conn *conn, bool quit);
/* The network loses all further bytes, and the daemon learns of that later (TCP). */
void conn_vanish(struct conn *conn);
/* The client sends no more requests, but waits for the answer. */
void conn_finish(struct conn *conn);
/* The process that sessions are bound to ends. */
void conn_exit(struct conn *conn);
/* A daemon that recovered watches this process: it may have ended before. */
void conn_watched(struct host *host, int64_t pid);
/* Its session; 0: none. */
session_id conn_session(const struct conn *conn);

/* Gives its daemon a request over this line (id_client.h). */
void conn_command(struct conn *conn, conn_id line, const struct request *request);

/* The host's side. */
void conn_reply(struct host *host, conn_id id, const struct reply *reply);
/* As a trace has it. */
void conn_reply_text(const struct reply *reply, char *out, size_t size);
void conn_push(struct host *host, conn_id id, const struct push *push);
void conn_close_by_host(struct host *host, conn_id id);
void conn_host_gone(struct host *host);

#endif
