/*
 * context: what the handler of a verb has at hand.
 *
 *     connection ──request──▶ dispatch ──command──▶ handshake, report, events     answered here
 *                                      └─────────▶ hooks.command ──▶ core         answered by the core
 *
 * The driver sets it up. Handlers work with it and keep no state of their own.
 */
#ifndef ADMIN_CONTEXT_H
#define ADMIN_CONTEXT_H

#include "daemon/base/log.h"
#include "daemon/net/connections.h"
#include "daemon/net/guesses.h"
#include "proto/catalog.h"
#include "proto/command.h"

#include <stddef.h>
#include <stdint.h>

struct access;
struct core;
struct admission;
struct events;
struct masters;
struct memory;
struct processes;
struct stats;

/* What INFO tells of the daemon itself. Texts live as long as the context. */
struct context_facts {
	const char *version;
	const char *daemon_id;
	const char *config; /* the configuration files at the start; "": none */
	const char *namespace;
	int64_t started_ms; /* CLOCK_BOOTTIME */
	int64_t margin_ms;
	size_t clients_max;
};

#define CONTEXT_TEXT_MAX 512

/* What only the driver can do. No hook ends a connection before it returns. */
struct context_hooks {
	/* A verb of the core: the answer comes by connection_reply(), now or later. */
	void (*command)(void *arg, struct connection *connection, const struct command *command);
	/* SESSION BIND; answered likewise. */
	void (*bind)(void *arg, struct connection *connection);
	/* MASTERS REPLACE, ADD or ABORT; answered likewise. */
	void (*masters)(void *arg, struct connection *connection, const struct command *command);
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
};

struct context {
	struct connections *connections;
	const struct core *core;           /* for its views */
	const struct masters *masters;     /* for their addresses */
	const struct processes *processes; /* for the labels of bound sessions */
	struct access *access;
	struct events *events;
	struct stats *stats;
	struct log *log;
	struct log_gate wrongpass;
	struct guesses guesses;
	struct catalog catalog;
	struct admission *admission;
	const struct memory *memory;
	struct context_facts facts;
	uint64_t calls[VERB_COUNT]; /* how often each verb was requested */
	const struct context_hooks *hooks;
	void *arg;
};

/* A handler: answers one command. */
typedef void context_verb(
	struct context *context, struct connection *connection, const struct command *command);

#endif
