/* dispatch: see dispatch.h. command.def marks the verbs of the core. */
#include "daemon/request/dispatch.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/net/connections.h"
#include "daemon/request/audit.h"
#include "daemon/request/handshake.h"
#include "daemon/request/permit.h"

#include <assert.h>

/* Whether the verb is a subcommand that changes the set of masters. */
static bool
changes_masters(enum verb verb)
{
	return verb == VERB_MASTERS_REPLACE || verb == VERB_MASTERS_ADD || verb == VERB_MASTERS_ABORT;
}

static bool
dispatch_sees_fleet(const struct connection *c)
{
	const struct viewer viewer = connection_viewer(c);
	return viewer_sees_fleet(&viewer);
}

/* Whether the command may be carried out. If not, the refusal was sent. */
static bool
dispatch_allows(struct connection *c, const struct command *command, unsigned flags)
{
	const struct identity *who = connection_identity(c);
	if (!permit_request(c, command, flags)) {
		return false;
	}
	bool lists = command->fleet && (command->verb == VERB_LOCKS || command->verb == VERB_SESSIONS ||
					       command->verb == VERB_TOP || command->verb == VERB_HOUR);
	/* Other daemons do not know what the client may see: they tell everything. */
	if (lists && !dispatch_sees_fleet(c)) {
		connection_error(c, CODE_NOPERM,
			"this takes an administrator: root or the owner of the Unix socket, or a user "
			"with see in its may: and without names:");
		return false;
	}
	if (command_needs_push(command) && who->protocol < 3) {
		connection_error(c, CODE_ERR, "this is answered by a push: send HELLO 3 first");
		return false;
	}
	/* In RESP2 an answer could not be distinguished from an event. */
	if (who->streams && who->protocol < 3 && !(flags & COMMAND_OPEN) && command->verb != VERB_PING) {
		connection_error(c, CODE_ERR,
			"this connection is a stream of events: only PING, RESET and QUIT, or send "
			"HELLO 3 first");
		return false;
	}
	return true;
}

/* The holds that end in this command are noted with the client that breaks them. */
static void
dispatch_break(struct context *context, struct connection *c, const struct command *command)
{
	char who[AUDIT_WHO_MAX + 1];
	audit_who(context, connection_identity(c), who, sizeof who);
	context->answers->breaks(context, who);
	context->hooks->command(context->arg, c, command);
	context->answers->breaks(context, NULL);
}

/* The driver notes the time of the request, since it reads the clock anyway. */
static void
dispatch_core(struct context *context, struct connection *c, struct command *command)
{
	connection_wait(c);
	if (command->verb == VERB_SESSION_BIND) {
		context->hooks->bind(context->arg, c, command);
		return;
	}
	if (changes_masters(command->verb)) {
		context->hooks->masters(context->arg, c, command);
		return;
	}
	if (command->verb == VERB_BREAK && command->fleet && !context->answers->holds(context, command)) {
		context->answers->fleet(context, c, command);
		return;
	}
	if (command->as.n > 0 && context->answers->asks_owners(context, c, command)) {
		connection_identity(c)->last_ms = clock_ms();
		context->hooks->alive(context->arg, c);
		return;
	}
	/* A half-closed client wants an answer without a wait (PROTOCOL.md 1). */
	command->last = connection_is_finished(c);
	if (command->last) {
		command->wait_ms = 0;
	}
	if (command->verb == VERB_BREAK) {
		dispatch_break(context, c, command);
	} else {
		context->hooks->command(context->arg, c, command);
	}
}

static context_verb *
handler_of(const struct context *context, const struct command *command)
{
	if (command->fleet) {
		return context->answers->fleet;
	}
	context_verb *handler = handshake_verbs[command->verb];
	if (!handler) {
		handler = context->answers->verbs[command->verb];
	}
	return handler;
}

/* Answers the verbs that are not for the core. */
static void
dispatch_here(struct context *context, struct connection *c, const struct command *command, unsigned flags)
{
	context->hooks->alive(context->arg, c);
	if (flags & COMMAND_CLOSE) {
		connection_cut(c, END_ABANDONED, "speaks HTTP");
	} else if (dispatch_allows(c, command, flags)) {
		context_verb *handler = handler_of(context, command);
		assert(handler);
		handler(context, c, command);
	}
}

void
dispatch_request(struct context *context, struct connection *c, const struct request *request)
{
	struct identity *who = connection_identity(c);
	struct command command;
	struct reply error;
	context->stats->commands_processed++;
	who->requests++;
	who->usage.all.requests++;
	int bad = command_parse(request, &command, &error);
	unsigned flags = bad ? 0 : command_info(command.verb)->flags;
	bool core = (flags & COMMAND_CORE) && command.verb != VERB_SESSION_BIND;
	if (!core || who->unauthenticated) {
		who->last_ms = clock_ms();
	}
	if (!(flags & COMMAND_OPEN) && who->unauthenticated) {
		connection_error(c, CODE_NOAUTH, "log in first: AUTH user password");
		return;
	}
	if (bad) {
		context->hooks->alive(context->arg, c);
		connection_reply(c, &error);
		return;
	}
	who->last = command.verb;
	who->answered = CODE_COUNT;
	context->calls[command.verb]++;
	if (!(flags & COMMAND_CORE)) {
		dispatch_here(context, c, &command, flags);
	} else if (dispatch_allows(c, &command, flags)) {
		dispatch_core(context, c, &command);
	} else {
		who->last_ms = clock_ms();
		context->hooks->alive(context->arg, c);
	}
	if (audit_wants(&command)) {
		audit_request(context, c, &command);
	}
}
