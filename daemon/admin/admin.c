/*
 * admin: see admin.h. Every use is logged, with the client.
 */
#include "daemon/admin/admin.h"

#include "daemon/base/clock.h"
#include "daemon/base/log.h"
#include "daemon/core/view.h"
#include "daemon/net/access.h"
#include "proto/composer.h"

#include <inttypes.h>
#include <stdio.h>

/* The fields of a log line that name the client. */
#define ADMIN_WHO(who)                                                                                       \
	log_number("by", (int64_t)(who)->id), log_text("address", (who)->peer.address),                      \
		log_number("uid", (who)->peer.uid), log_number("pid", (who)->peer.pid),                      \
		(who)->user ? log_text("user", (who)->user->name) : log_text(NULL, NULL)

static void
admin_log(struct context *context, struct connection *c, const char *event, int64_t target)
{
	const struct identity *who = connection_identity(c);
	LOG_EVENT(context->log, LOG_WARNING_LEVEL, event, ADMIN_WHO(who),
		target ? log_number("client", target) : log_text(NULL, NULL));
}

void
admin_client_kill(struct context *context, struct connection *c, const struct command *command)
{
	struct connection *target = connections_find(context->connections, (conn_id)command->count);
	if (!target) {
		connection_error(c, CODE_ERR, "there is no client %lld: CLIENT LIST shows them",
			(long long)command->count);
		return;
	}
	admin_log(context, c, "client.killed", command->count);
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
	const struct identity *who = connection_identity(c);
	bool waits = command->wait_ms != COMMAND_WAIT_RULE;
	LOG_EVENT(context->log, LOG_WARNING_LEVEL, "daemon.drain", log_number("by", (int64_t)who->id),
		log_text("address", who->peer.address), log_number("uid", who->peer.uid),
		log_number("pid", who->peer.pid),
		waits ? log_number("wait_ms", command->wait_ms) : log_text(NULL, NULL));
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
	admin_log(context, c, "daemon.reload", 0);
	if (context->hooks->reload(context->arg, text, sizeof text) == 0) {
		reply_write_text(connection_out(c), text);
		connection_written(c);
		return;
	}
	connection_error(c, CODE_ERR, "%s", text);
}

bool
admin_changes_masters(enum verb verb)
{
	return verb == VERB_MASTERS_REPLACE || verb == VERB_MASTERS_ADD || verb == VERB_MASTERS_ABORT;
}

void
admin_log_change(struct context *context, struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	const struct slice *argv = command->argv;
	LOG_EVENT(context->log, LOG_WARNING_LEVEL, "masters.asked", ADMIN_WHO(who),
		log_text("what", command_info(command->verb)->sub.p),
		command->argc > 0 ? log_bytes("first", argv[0].p, argv[0].n) : log_text(NULL, NULL),
		command->argc > 1 ? log_bytes("second", argv[1].p, argv[1].n) : log_text(NULL, NULL));
}

void
admin_log_break(struct context *context, struct connection *c, const struct command *command)
{
	const struct identity *who = connection_identity(c);
	LOG_EVENT(context->log, LOG_WARNING_LEVEL, "lock.break", ADMIN_WHO(who),
		log_bytes("name", command->name.p, command->name.n), log_number("token", command->token));
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
	reply_write_pair_text(out, "state", master->down ? "silent" : master->word);
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
