/*
 * admin: the dispatch of requests, and what administrators do: CLIENT KILL, DRAIN, RELOAD, LOG LEVEL,
 * RESTART and MASTERS. audit.c logs each of their uses, with the client. One table has the handler of each
 * verb; command.def marks the verbs of the core.
 */
#include "daemon/admin/admin.h"

#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/net/access.h"
#include "daemon/redis/masters.h"
#include "proto/escape.h"
#include "proto/reply.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what administrators do ---- */

void
admin_client_kill(struct context *context, struct connection *c, const struct command *command)
{
	struct connection *target = connections_find(context->connections, (conn_id)command->count);
	if (!target) {
		connection_error(c, CODE_ERR, "there is no client %lld: CLIENT LIST shows them",
			(long long)command->count);
		return;
	}
	reply_write_int(connection_out(c), 1);
	connection_written(c);
	if (target == c) {
		connection_close(target, END_ABANDONED, "killed");
	} else {
		connection_cut(target, END_ABANDONED, "killed");
	}
}

void
admin_drain(struct context *context, struct connection *c, const struct command *command)
{
	bool waits = command->wait_ms != COMMAND_WAIT_RULE;
	if (waits) {
		connection_wait(c);
	} else {
		reply_write_simple(connection_out(c), "OK");
		connection_written(c);
	}
	context->hooks->drain(context->arg, waits ? c : NULL, waits ? command->wait_ms : 0);
}

void
admin_reload(struct context *context, struct connection *c, const struct command *command)
{
	(void)command;
	char text[CONTEXT_TEXT_MAX];
	if (context->hooks->reload(context->arg, text, sizeof text) == 0) {
		reply_write_text(connection_out(c), text);
		connection_written(c);
		return;
	}
	connection_error(c, CODE_ERR, "%s", text);
}

void
admin_log_level(struct context *context, struct connection *c, const struct command *command)
{
	struct log *log = context->log;
	char word[16];
	enum log_level level;
	if (command->argc == 0) {
		reply_write_text(connection_out(c), log_level_name(log->level));
		connection_written(c);
		return;
	}
	slice_text(word, sizeof word, command->argv[0]);
	if (!log_level_parse(word, &level)) {
		connection_error(c, CODE_ERR, "LOG LEVEL: debug, info, warning or error is allowed");
		return;
	}
	log->level = level;
	reply_write_simple(connection_out(c), "OK");
	connection_written(c);
}

void
admin_restart(struct context *context, struct connection *c, const struct command *command)
{
	(void)command;
	connection_wait(c);
	context->hooks->restart(context->arg, c);
}

void
admin_restarted(struct context *context, struct connection *c, int64_t silent_ms)
{
	struct buffer *out = connection_out(c);
	struct core_counts counts;
	core_view_counts(context->core, &counts);
	connection_answered(c);
	reply_write_map(out, connection_identity(c)->protocol, 5);
	reply_write_pair_text(out, "version", context->facts.version);
	reply_write_pair_int(out, "connections", (int64_t)connections_count(context->connections));
	reply_write_pair_int(out, "sessions", (int64_t)counts.sessions);
	reply_write_pair_int(out, "holds", (int64_t)counts.grants);
	reply_write_pair_int(out, "silent_ms", silent_ms);
	connection_written(c);
}

void
admin_not_restarted(struct connection *c, enum code code, const char *why)
{
	static const char goes_on[] = "; this process goes on";
	char text[REPLY_TEXT_MAX - (sizeof goes_on - 1)]; /* why may be what a program has said */
	(void)escape_text(text, sizeof text, slice_of(why), ESCAPE_PLAIN);
	connection_answered(c);
	connection_error(c, code, "%s%s", text, code == CODE_DRAINING ? "" : goes_on);
}

/* Whether the verb is a subcommand that changes the set of masters. */
static bool
admin_changes_masters(enum verb verb)
{
	return verb == VERB_MASTERS_REPLACE || verb == VERB_MASTERS_ADD || verb == VERB_MASTERS_ABORT;
}

static void
write_master(struct buffer *out, int protocol, const struct master_view *master)
{
	char id[17] = "";
	if (master->id != 0) {
		snprintf(id, sizeof id, "%016" PRIx64, master->id);
	}
	reply_write_map(out, protocol, 9);
	reply_write_pair_text(out, "place", master->place);
	reply_write_pair_text(out, "way", master->way);
	reply_write_pair_text(out, "id", id);
	reply_write_pair_text(out, "role", master->role);
	reply_write_pair_text(out, "state", master->condition);
	reply_write_pair_text(out, "reason", master->reason);
	reply_write_pair_int(out, "guard_ms", master->guard_ms);
	reply_write_pair_int(out, "step", master->step);
	reply_write_pair_text(out, "unacknowledged", master->unacknowledged);
}

void
admin_masters(struct context *context, struct connection *c, const struct command *command)
{
	(void)command;
	int protocol = connection_identity(c)->protocol;
	int64_t now_ms = clock_ms();
	struct buffer *out = connection_out(c);
	struct master_view shown[CORE_SLOTS_MAX];
	struct masterset_view set;
	unsigned count = core_masters(context->core);
	for (unsigned i = 0; i < count; i++) {
		core_view_master(context->core, now_ms, i, &shown[i]);
	}
	core_view_masterset(context->core, &set);
	reply_write_map(out, protocol, 6);
	reply_write_pair_int(out, "generation", set.generation);
	reply_write_pair_text(out, "agreement", set.word);
	reply_write_pair_text(out, "change", set.change);
	reply_write_pair_int(out, "next_generation", set.next_generation);
	reply_write_pair_text(out, "next_places", set.next_places);
	reply_write_text(out, "masters");
	reply_write_array(out, count);
	for (unsigned i = 0; i < count; i++) {
		write_master(out, protocol, &shown[i]);
	}
	connection_written(c);
}

/* MASTERS FORGET: of the master whose group has such a member. */
static void
admin_forget(struct context *context, struct connection *c, const struct command *command)
{
	struct slice server = command->argv[0];
	const char *why = "is no member of the group";
	unsigned count = core_masters(context->core);
	for (unsigned i = 0; i < count && why; i++) {
		const char *refused = masters_forget(context->masters, i, server);
		/* One that knows the server says more than one that does not. */
		if (!refused || strncmp(refused, "is no member", 12) != 0) {
			why = refused;
			break;
		}
	}
	if (!why) {
		reply_write_simple(connection_out(c), "OK");
		connection_written(c);
		return;
	}
	char name[REPLY_TEXT_MAX - 200];
	(void)escape_text(name, sizeof name, server, ESCAPE_PLAIN);
	connection_error(c, CODE_ERR, "%s %s", name, why);
}

/* ---- dispatch ---- */

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
	[VERB_CLIENT_INFO] = clients_info,
	[VERB_CLIENT_LIST] = clients_list,
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
	[VERB_LOG_HELP] = handshake_catalog,
	[VERB_INSPECT] = report_verb,
	[VERB_LOCKS] = report_verb,
	[VERB_SESSIONS] = report_verb,
	[VERB_INFO] = info_verb,
	[VERB_HISTORY] = history_verb,
	[VERB_TOP] = top_verb,
	[VERB_EVENTS] = events_verb,
	[VERB_DRAIN] = admin_drain,
	[VERB_RELOAD] = admin_reload,
	[VERB_LOG_LEVEL] = admin_log_level,
	[VERB_RESTART] = admin_restart,
	[VERB_MASTERS] = admin_masters,
	[VERB_MASTERS_FORGET] = admin_forget,
	[VERB_FLEET] = fleet_request,
};

/* Whether the command may be carried out. If not, the refusal was sent. */
static bool
dispatch_allows(struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	unsigned flags = command_info(command->verb)->flags;
	if (!permit_request(c, command)) {
		return false;
	}
	bool lists = command->fleet && (command->verb == VERB_LOCKS || command->verb == VERB_SESSIONS ||
					       command->verb == VERB_TOP);
	if (lists && !who->peer.admin) {
		connection_error(c, CODE_NOPERM,
			"this takes an administrator: root or the owner of the Unix socket, or a user "
			"with admin in its may:");
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
		context->hooks->bind(context->arg, c, command);
		return;
	}
	if (admin_changes_masters(command->verb)) {
		context->hooks->masters(context->arg, c, command);
		return;
	}
	if (command->verb == VERB_BREAK && command->fleet && !fleet_holds(context, command)) {
		fleet_request(context, c, command);
		return;
	}
	if (command->as.n > 0 && fleet_asks_owners(context, c, command)) {
		connection_identity(c)->last_ms = clock_ms();
		context->hooks->heard(context->arg, c);
		return;
	}
	/* A half-closed client wants an answer without a wait (PROTOCOL.md 1). */
	command->last = connection_is_finished(c);
	if (command->last) {
		command->wait_ms = 0;
	}
	audit_breaks(context, command->verb == VERB_BREAK ? connection_identity(c) : NULL);
	context->hooks->command(context->arg, c, command);
	audit_breaks(context, NULL);
}

/* Answers the verbs that are not for the core. */
static void
dispatch_here(struct context *context, struct connection *c, const struct command *command)
{
	context->hooks->heard(context->arg, c);
	if (command_info(command->verb)->flags & COMMAND_CLOSE) {
		connection_cut(c, END_ABANDONED, "speaks HTTP");
	} else if (dispatch_allows(c, command)) {
		context_verb *handler = command->fleet ? fleet_request : dispatch_verbs[command->verb];
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
		context->hooks->heard(context->arg, c);
		connection_reply(c, &error);
		return;
	}
	who->last = command.verb;
	who->answered = CODE_COUNT;
	context->calls[command.verb]++;
	if (!(flags & COMMAND_CORE)) {
		dispatch_here(context, c, &command);
	} else if (dispatch_allows(c, &command)) {
		dispatch_core(context, c, &command);
	} else {
		who->last_ms = clock_ms();
		context->hooks->heard(context->arg, c);
	}
	if (audit_wants(&command)) {
		audit_request(context, c, &command);
	}
}
