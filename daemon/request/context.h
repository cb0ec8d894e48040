/*
 * context: what a request needs on its way through the daemon, from the connection to who answers it.
 *
 *     connection ──request──▶ dispatch ──command──▶ permit ──▶ handshake
 *                                                         ├──▶ context.answers ──▶ reports, administration
 *                                                         └──▶ hooks.command ──▶ core
 *
 * The driver sets it up and calls dispatch_request(). Handlers work with it and keep no state of their own.
 */
#ifndef REQUEST_CONTEXT_H
#define REQUEST_CONTEXT_H

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
struct hour;
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
	const char *only_address; /* the only master of the latest configuration, as the set names it; "":
				   several */
	const char *only_way;
	const char *namespace;
	const char *ledger;      /* its file; "": none is written */
	const char *host;        /* without spaces and control characters */
	const char *about;       /* what this daemon tells its masters of itself (main_about.c) */
	struct tls_dates *dates; /* of the certificates of the configuration; NULL: unknown */
	struct secrets *secrets; /* that others may read; NULL: unknown */
	int64_t started_ms;      /* CLOCK_BOOTTIME */
	int64_t margin_ms;
	size_t clients_max;
	int64_t locks_per_user;
	int64_t grants_per_session;
	size_t descriptors; /* that the limits may need */
};

#define CONTEXT_TEXT_MAX 512

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
	void (*alive)(void *arg, struct connection *connection);
	/* identity.peer has changed. */
	void (*peer)(void *arg, struct connection *connection);
	/* The connection has left RESP3 (no_push) or entered it. */
	void (*no_push)(void *arg, struct connection *connection, bool no_push);
	/* RESET: the session ends, and a new one begins; a stream of events ends. */
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

struct context;

/* A handler: answers one command. */
typedef void context_verb(
	struct context *context, struct connection *connection, const struct command *command);

/* What the room above answers: reports, and what administrators do (admin/admin.h). */
struct context_answers {
	context_verb *verbs[VERB_COUNT]; /* NULL: the verb is for the core, or the handshake answers it */
	context_verb *fleet;             /* requests with the option FLEET, and FLEET itself */
	/* Whether this daemon has the hold of this BREAK, with that token; else the others are asked. */
	bool (*holds)(const struct context *context, const struct command *command);
	/* A request for the session of an id (PROTOCOL.md 5.11) that this daemon does not know: whether the
	 * daemons that have the name are asked first. Then it is answered, or passed on to the core later. */
	bool (*asks_owners)(
		struct context *context, struct connection *connection, const struct command *command);
	/* Names, for people, who breaks the holds that end from now on; NULL: holds end by themselves again.
	 */
	void (*breaks)(struct context *context, const char *who);
};

struct context {
	struct connections *connections;
	const struct core *core;           /* for its views */
	struct masters *masters;           /* for their addresses, and what the fleet asks for */
	const struct processes *processes; /* for the labels of bound sessions */
	struct access *access;
	struct events *events;
	struct history *history;
	struct hour *hour;
	struct fleet *fleet;
	bool fleet_works; /* it wants its turns; fleet_turn() says when it does no more */
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
	void *arg; /* of the hooks */
	const struct context_answers *answers;
};

#endif
