/*
 * admin: see admin.h. Every use is logged, with who it was.
 */
#include "daemon/admin.h"

#include "daemon/base/log.h"
#include "proto/composer.h"

static void
admin_log(struct desk *desk, struct connection *c, const char *event, int64_t target)
{
	const struct identity *who = connection_identity(c);
	LOG_EVENT(desk->log, LOG_WARNING_LEVEL, event, log_number("by", (int64_t)who->id),
		log_text("address", who->peer.address), log_number("uid", who->peer.uid),
		log_number("pid", who->peer.pid),
		target ? log_number("client", target) : log_text(NULL, NULL));
}

void
admin_client_kill(struct desk *desk, struct connection *c, const struct command *command)
{
	struct connection *target = connections_find(desk->connections, (conn_id)command->count);
	if (!target) {
		connection_error(c, CODE_ERR, "there is no client %lld: CLIENT LIST shows them",
			(long long)command->count);
		return;
	}
	admin_log(desk, c, "client.killed", command->count);
	reply_write_int(connection_out(c), 1);
	connection_written(c);
	if (target == c) {
		connection_close(target, END_ABANDONED, "killed");
	} else {
		connection_cut(target, END_ABANDONED, "killed");
	}
}

void
admin_drain(struct desk *desk, struct connection *c, const struct command *command)
{
	(void)command;
	admin_log(desk, c, "daemon.drain", 0);
	reply_write_simple(connection_out(c), "OK");
	connection_written(c);
	desk->hooks->drain(desk->arg);
}

void
admin_reload(struct desk *desk, struct connection *c, const struct command *command)
{
	(void)command;
	char text[DESK_TEXT_MAX];
	admin_log(desk, c, "daemon.reload", 0);
	if (desk->hooks->reload(desk->arg, text, sizeof text) == 0) {
		reply_write_text(connection_out(c), text);
		connection_written(c);
		return;
	}
	connection_error(c, CODE_ERR, "%s", text);
}
