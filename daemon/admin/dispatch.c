/*
 * dispatch: see dispatch.h. One table has the handler of each verb; command.def marks the verbs of the core.
 */
#include "daemon/admin/dispatch.h"

#include "daemon/admin/admin.h"
#include "daemon/admin/events.h"
#include "daemon/admin/handshake.h"
#include "daemon/admin/info.h"
#include "daemon/admin/report.h"
#include "daemon/base/clock.h"
#include "daemon/base/stats.h"

#include <assert.h>

static context_verb *const dispatch_verbs[VERB_COUNT] = {
	[VERB_PING] = handshake_ping,
	[VERB_ECHO] = handshake_echo,
	[VERB_HELLO] = handshake_hello,
	[VERB_AUTH] = handshake_auth,
	[VERB_SELECT] = handshake_select,
	[VERB_RESET] = handshake_reset,
	[VERB_QUIT] = handshake_quit,
	[VERB_CONFIG_GET] = handshake_config_get,
	[VERB_CLIENT_ID] = handshake_client_id,
	[VERB_CLIENT_GETNAME] = handshake_client_getname,
	[VERB_CLIENT_SETNAME] = handshake_client_setname,
	[VERB_CLIENT_SETINFO] = handshake_client_setinfo,
	[VERB_CLIENT_TRACKING] = handshake_client_tracking,
	[VERB_CLIENT_INFO] = report_client_info,
	[VERB_CLIENT_LIST] = report_client_list,
	[VERB_CLIENT_KILL] = admin_client_kill,
	[VERB_COMMAND] = handshake_catalog,
	[VERB_COMMAND_COUNT] = handshake_catalog,
	[VERB_COMMAND_DOCS] = handshake_catalog,
	[VERB_COMMAND_INFO] = handshake_catalog,
	[VERB_COMMAND_LIST] = handshake_catalog,
	[VERB_LATCH_HELP] = handshake_catalog,
	[VERB_SESSION_HELP] = handshake_catalog,
	[VERB_CLIENT_HELP] = handshake_catalog,
	[VERB_COMMAND_HELP] = handshake_catalog,
	[VERB_CONFIG_HELP] = handshake_catalog,
	[VERB_MASTERS_HELP] = handshake_catalog,
	[VERB_INSPECT] = report_inspect,
	[VERB_LOCKS] = report_locks,
	[VERB_SESSIONS] = report_sessions,
	[VERB_INFO] = info_verb,
	[VERB_EVENTS] = events_verb,
	[VERB_DRAIN] = admin_drain,
	[VERB_RELOAD] = admin_reload,
	[VERB_MASTERS] = admin_masters,
};

/* Whether the command may be carried out. If not, the refusal was sent. */
static bool
dispatch_allows(struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	unsigned flags = command_info(command->verb)->flags;
	if ((flags & COMMAND_ADMIN) && !who->peer.admin) {
		connection_error(c, CODE_NOPERM,
			"this takes an administrator: root or the owner of the Unix socket, or a user "
			"with admin: yes");
		return false;
	}
	if (command_needs_push(command) && who->protocol < 3) {
		connection_error(c, CODE_ERR, "this is answered by a push: send HELLO 3 first");
		return false;
	}
	/* In RESP2 an answer could not be told from an event. */
	if (who->streams && who->protocol < 3 && !(flags & COMMAND_OPEN) && command->verb != VERB_PING) {
		connection_error(c, CODE_ERR,
			"this connection is a stream of events: only PING, RESET and QUIT, or send "
			"HELLO 3 first");
		return false;
	}
	return true;
}

/* The driver notes the time of the request, since it reads the clock anyway. */
static void
dispatch_core(struct context *context, struct connection *c, struct command *command)
{
	connection_wait(c);
	if (command->verb == VERB_SESSION_BIND) {
		context->hooks->bind(context->arg, c);
		return;
	}
	if (admin_changes_masters(command->verb)) {
		admin_log_change(context, c, command);
		context->hooks->masters(context->arg, c, command);
		return;
	}
	if (command->verb == VERB_BREAK) {
		admin_log_break(context, c, command);
	}
	/* A half-closed client wants an answer without a wait (PROTOCOL.md 1). */
	if (connection_is_finished(c)) {
		command->wait_ms = 0;
	}
	context->hooks->command(context->arg, c, command);
}

/* Answers the verbs that are not for the core. */
static void
dispatch_here(struct context *context, struct connection *c, const struct command *command)
{
	context->hooks->heard(context->arg, c);
	if (command_info(command->verb)->flags & COMMAND_CLOSE) {
		connection_cut(c, END_ABANDONED, "speaks HTTP");
	} else if (dispatch_allows(c, command)) {
		context_verb *handler = dispatch_verbs[command->verb];
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
	int bad = command_parse(request, &command, &error);
	unsigned flags = bad ? 0 : command_info(command.verb)->flags;
	bool core = (flags & COMMAND_CORE) && command.verb != VERB_SESSION_BIND;
	if (!core || who->stranger) {
		who->last_ms = clock_ms();
	}
	if (!(flags & COMMAND_OPEN) && who->stranger) {
		connection_error(c, CODE_NOAUTH, "log in first: AUTH user password");
		return;
	}
	if (bad) {
		context->hooks->heard(context->arg, c);
		connection_reply(c, &error);
		return;
	}
	who->last = command.verb;
	context->calls[command.verb]++;
	if (flags & COMMAND_CORE) {
		if (dispatch_allows(c, &command)) {
			dispatch_core(context, c, &command);
		} else {
			who->last_ms = clock_ms();
			context->hooks->heard(context->arg, c);
		}
		return;
	}
	dispatch_here(context, c, &command);
}
