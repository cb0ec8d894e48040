/* admin: see admin.h. */
#include "daemon/admin/admin.h"

#include "daemon/admin/clients.h"
#include "daemon/admin/events.h"
#include "daemon/admin/fleet.h"
#include "daemon/admin/fleet_hour.h"
#include "daemon/admin/fleet_serve.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/admin/history.h"
#include "daemon/admin/info.h"
#include "daemon/admin/report.h"
#include "daemon/admin/shown.h"
#include "daemon/base/clock.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/net/connections.h"
#include "daemon/redis/masters.h"
#include "proto/escape.h"
#include "proto/reply.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what administrators do ---- */

static void
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

static void
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

static void
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

static void
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

static void
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

static void
write_master(struct buffer *out, int protocol, const struct master_view *master)
{
	char id[17] = "";
	if (master->id != 0) {
		snprintf(id, sizeof id, "%016" PRIx64, master->id);
	}
	reply_write_map(out, protocol, shown_keys(SHOWN_MASTER));
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

/* MASTERS without a subcommand: shows the set of masters, and how far a change of it has come. */
static void
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
	reply_write_map(out, protocol, shown_keys(SHOWN_SET));
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

/* ---- what this room answers ---- */

static void
admin_breaks(struct context *context, const char *who)
{
	history_breaker(context->history, who);
}

const struct context_answers admin_answers = {
	.verbs =
		{
			[VERB_CLIENT_INFO] = clients_info,
			[VERB_CLIENT_LIST] = clients_list,
			[VERB_CLIENT_KILL] = admin_client_kill,
			[VERB_INSPECT] = report_verb,
			[VERB_LOCKS] = report_verb,
			[VERB_SESSIONS] = report_verb,
			[VERB_INFO] = info_verb,
			[VERB_HISTORY] = history_verb,
			[VERB_TOP] = top_verb,
			[VERB_HOUR] = hour_verb,
			[VERB_EVENTS] = events_verb,
			[VERB_DRAIN] = admin_drain,
			[VERB_RELOAD] = admin_reload,
			[VERB_LOG_LEVEL] = admin_log_level,
			[VERB_RESTART] = admin_restart,
			[VERB_MASTERS] = admin_masters,
			[VERB_MASTERS_FORGET] = admin_forget,
			[VERB_FLEET] = fleet_request,
		},
	.fleet = fleet_request,
	.holds = fleet_holds,
	.asks_owners = fleet_asks_owners,
	.breaks = admin_breaks,
};
