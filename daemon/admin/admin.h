/*
 * admin: answers the requests of clients that are not for the core, and passes on those that are.
 *
 *     connection ──request──▶ dispatch ──command──▶ handshake, report, clients, info, events, admin
 *                                      └──command──▶ hooks.command ──▶ core
 *
 * The driver sets up a context and calls dispatch_request(). Handlers work with the context and keep no state
 * of their own. There is a file for each group of them; admin.c has the dispatch and what administrators do.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "daemon/base/log.h"
#include "daemon/net/access.h"
#include "daemon/net/connection.h"
#include "daemon/net/guesses.h"
#include "proto/command.h"
#include "proto/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct access;
struct admission;
struct core;
struct events;
struct fleet;
struct glob;
struct health;
struct history;
struct masters;
struct passwords;
struct memory;
struct open_files;
struct processes;
struct ranked;
struct secrets;
struct stats;
struct tls_dates;

/* The latest attempts to read the configuration: at the start, and at each reload. */
struct config_facts {
	int64_t good_s; /* since 1970: it was taken up; the daemon goes on with that one */
	bool failed;    /* the latest attempt was refused */
};

/* What INFO tells of the daemon itself. Texts live as long as the context. */
struct context_facts {
	const char *version;
	const char *daemon_id;
	const char *secret;  /* of this daemon's messages: fleet_sign.c */
	const char *config;  /* the configuration files at the start; "": none */
	const char *pending; /* keys that the latest reload found changed and that need a restart; "": none */
	const struct config_facts *loaded; /* NULL: unknown */
	const char *only_place; /* the only master of the latest configuration, as the set names it; "":
				   several */
	const char *only_way;
	const char *namespace;
	const char *ledger;      /* its file; "": none is kept */
	const char *host;        /* without spaces and control characters */
	const char *about;       /* what this daemon tells its masters of itself (main_about.c) */
	struct tls_dates *dates; /* of the certificates of the configuration; NULL: unknown */
	struct secrets *secrets; /* that others may read; NULL: unknown */
	int64_t started_ms;      /* CLOCK_BOOTTIME */
	int64_t margin_ms;
	size_t clients_max;
	int64_t locks_per_user;
	size_t descriptors; /* that the limits may need */
};

#define CONTEXT_TEXT_MAX 512

/* The only master that is used if it is not this one of the configuration, which is not in effect then; else
 * NULL. */
const char *master_aside(const struct core *core, const char *only_place, const char *only_way);

/* What only the driver can do. No hook ends a connection before it returns. */
struct context_hooks {
	/* A verb of the core: the answer comes by connection_reply(), now or later. */
	void (*command)(void *arg, struct connection *connection, const struct command *command);
	/* SESSION BIND; answered likewise. */
	void (*bind)(void *arg, struct connection *connection, const struct command *command);
	/* MASTERS REPLACE, ADD or ABORT; answered likewise. */
	void (*masters)(void *arg, struct connection *connection, const struct command *command);
	/* A BREAK that another daemon asks for: it is carried out before this returns. */
	void (*broken)(void *arg, const struct command *command);
	/* Another daemon holds the name for the id; see EVENT_ELSEWHERE. */
	void (*elsewhere)(void *arg, const struct whose *whose, struct slice text);
	/* Any other request, also one that was refused: it shows that the client lives. */
	void (*heard)(void *arg, struct connection *connection);
	/* identity.peer has changed. */
	void (*peer)(void *arg, struct connection *connection);
	/* The connection has left RESP3 (no_push) or entered it. */
	void (*no_push)(void *arg, struct connection *connection, bool no_push);
	/* RESET: the session ends, and a new one begins. */
	void (*reset)(void *arg, struct connection *connection);
	/* Begins a drain, or shortens one. c is answered when the wait is over; NULL: no client is answered.
	 * wait_ms: how long to wait for holders; 0 or less: not at all. */
	void (*drain)(void *arg, struct connection *c, int64_t wait_ms);
	/* Reads the configuration again. 0, or -1; text says what was done, or why not. */
	int (*reload)(void *arg, char *text, size_t room);
	/* RESTART: begins a hand-over. c waits; it is answered by admin_restarted() in the new process, or by
	 * admin_not_restarted() in this one. */
	void (*restart)(void *arg, struct connection *c);
};

struct context {
	struct connections *connections;
	const struct core *core;           /* for its views */
	struct masters *masters;           /* for their addresses, and what the fleet asks for */
	const struct processes *processes; /* for the labels of bound sessions */
	struct access *access;
	struct events *events;
	struct history *history;
	struct fleet *fleet;
	struct health *health;
	struct stats *stats;
	struct log *log;
	struct log *audit;         /* for logins, and for what administrators do */
	struct log_gate wrongpass; /* of lines that come in any number */
	struct log_gate logins;
	struct log_gate refusals;
	struct log_gate tls_failed;
	struct guesses guesses;
	struct passwords *passwords; /* compares them with hashes */
	struct catalog catalog;
	struct admission *admission;
	const struct memory *memory;
	struct open_files *open_files;
	struct context_facts facts;
	uint64_t calls[VERB_COUNT]; /* how often each verb was requested */
	const struct context_hooks *hooks;
	void *arg;
};

/* A handler: answers one command. */
typedef void context_verb(
	struct context *context, struct connection *connection, const struct command *command);

/* For each request of a client. Checks whether the client may send it, and answers nothing but refusals. */
void dispatch_request(struct context *context, struct connection *connection, const struct request *request);

/* Whether the user of the connection may send this request. If not, the refusal was sent. */
bool permit_request(struct connection *connection, const struct command *command)
	__attribute__((warn_unused_result));

/* audit.c: whether this request is logged with its client and its result; and logs it, once it is answered or
 * waits (identity.answered). */
bool audit_wants(const struct command *command);
void audit_request(struct context *context, struct connection *connection, const struct command *command);
/* Who a client is, for people on other hosts, too: "ops from 10.0.0.7:4711", "uid 1000 on app-1". */
void audit_who(const struct context *context, const struct identity *who, char *out, size_t room);
/* Names the client that breaks the holds which the history notes from now on; NULL: none does. */
void audit_breaks(struct context *context, const struct identity *who);
/* A certificate has logged a client in as this user, or was refused (identity.answered). */
void audit_certificate(struct context *context, struct connection *connection, struct slice user);

/* A certificate has logged a client of HTTP in as this user. */
void audit_page(struct context *context, const struct peer *peer, const char *user);

/* What administrators do. */
context_verb admin_client_kill;
context_verb admin_drain;
context_verb admin_reload;
context_verb admin_log_level;
context_verb admin_restart;
/* The answer to RESTART, for the driver of the process that serves afterwards: what was taken over, and for
 * how long no client was served. */
void admin_restarted(struct context *context, struct connection *c, int64_t silent_ms);
/* The answer if the hand-over has failed, or cannot begin. why: one clause, for people. */
void admin_not_restarted(struct connection *c, enum code code, const char *why);
/* MASTERS without a subcommand: shows the set of masters, and how far a change of it has come. */
context_verb admin_masters;

/* handshake.c: what client libraries send on their own when they connect: HELLO, AUTH, names, PING and the
 * like. Each is answered as Redis answers it; none touches a lock. */
/* The TLS handshake of the connection is complete: its certificate may log it in. */
void handshake_secured(struct context *context, struct connection *connection);
/* The connection has ended: logs why, if its TLS handshake was not complete. */
void handshake_ended(struct context *context, struct connection *connection, const char *why);
context_verb handshake_ping;
context_verb handshake_echo;
context_verb handshake_hello;
context_verb handshake_auth;
context_verb handshake_select;
context_verb handshake_reset;
context_verb handshake_quit;
context_verb handshake_config_get;
context_verb handshake_catalog; /* COMMAND, and the HELP of CLIENT, SESSION, COMMAND and CONFIG */
context_verb handshake_client_id;
context_verb handshake_client_getname;
context_verb handshake_client_setname;
context_verb handshake_client_setinfo;
context_verb handshake_client_tracking;

/* report.c: what operators look at (PROTOCOL.md 6). They show the views of the core and change nothing. */
context_verb report_verb; /* INSPECT, LOCKS, SESSIONS */

/* A page of LOCKS or SESSIONS for another form than an answer. */
struct report_request {
	bool sessions;      /* else LOCKS */
	struct glob *match; /* of LOCKS; NULL: every name */
	bool waited;        /* of LOCKS: only names with waiters */
	bool few; /* of LOCKS: only names that have been waited for, or as long and held, for longer than
		     this: */
	int64_t longest_ms;
	int64_t held_ms;
	size_t most;                 /* elements, >= 1 */
	size_t looks;                /* elements that are looked at, about */
	const struct viewer *viewer; /* who sees only what its rights are for */
};

/* Appends the elements, as RESP3 has them, to out, and sets how many; at most half of what out may have.
 * Returns the cursor of the next page; 0: this was the last one. */
uint64_t report_page(const struct context *context, const struct report_request *request, uint64_t cursor,
	struct buffer *out, size_t *count);

/* Writes the first page of INSPECT, as RESP3 has it and with the users of holders and waiters, to out, which
 * is empty. False: no memory. */
bool report_name(const struct context *context, struct slice name, struct buffer *out)
	__attribute__((warn_unused_result));

/* Names as LOCKS shows them, those first that have been waited for longest, then those that are held longest.
 */
struct report_ranked {
	const struct ranked *names;  /* of longest.h; what has ended since is left out */
	const struct viewer *viewer; /* who sees only what its rights are for */
	size_t most;                 /* elements; 0: as many as a page has */
	int protocol;
	size_t bytes; /* of the elements, about */
};
/* Writes an array of their keys, `host` and `daemon` first, and of their values, as with ROWS. whole: all of
 * them had room. False: no memory, and nothing was written. */
bool report_ranked(const struct context *context, const struct report_ranked *request, struct buffer *out,
	bool *whole) __attribute__((warn_unused_result));

/* Answers INSPECT, LOCKS or SESSIONS as another daemon asks for it (fleet.h): each map has `host` and
 * `daemon`, too. bytes: of the answer, about. */
void report_asked(const struct context *context, const struct command *command, int protocol, size_t bytes,
	struct buffer *out);

/* fleet.c: FLEET, and the verbs with the option FLEET (PROTOCOL.md 6.23). The connection waits for other
 * daemons. */
context_verb fleet_request;
/* A request for the session of an id (PROTOCOL.md 5.11) that this daemon does not know: whether the daemons
 * that have the name are asked first. Then the request is answered or passed on to the core later. */
bool fleet_asks_owners(struct context *context, struct connection *connection, const struct command *command);
/* fleet_top.c: TOP (PROTOCOL.md 6.27). */
context_verb top_verb;
/* The same for a page: of this daemon, in RESP3. False: no memory, or too many searches. */
bool top_page(const struct context *context, const struct viewer *viewer, struct slice match, size_t count,
	struct buffer *out) __attribute__((warn_unused_result));
/* Whether this daemon has the hold of this BREAK, with that token; else the others are asked. */
bool fleet_holds(const struct context *context, const struct command *command);

/* health.c: since when each master is as it is; for free(). NULL: out of memory. */
struct health *health_new(void) __attribute__((warn_unused_result));
/* Notes in which state each master is; to be called in each turn. */
void health_look(struct context *context, int64_t now_ms);
#define HEALTH_TEXT_MAX 1000
/* Which masters cannot be used, since when and why, or why else no lock can be had; "": all is well. */
void health_text(const struct context *context, int64_t now_ms, char out[HEALTH_TEXT_MAX]);

/* clients.c: a line for each connection (PROTOCOL.md 8). */
context_verb clients_info;
context_verb clients_list;

/* info.c: in the format of Redis (PROTOCOL.md 6.6). */
context_verb info_verb;

/* history.c: HISTORY name. */
context_verb history_verb;

/* events.c: EVENTS [MATCH glob]; a second one changes the glob. */
context_verb events_verb;

#endif
