/*
 * clients: CLIENT INFO and CLIENT LIST, a line for each connection; and which client sends most. See
 * clients.h.
 */
#include "daemon/admin/clients.h"

#include "daemon/base/clock.h"
#include "daemon/core/view.h"
#include "daemon/net/access.h"
#include "daemon/net/connections.h"
#include "daemon/request/context.h"
#include "proto/escape.h"
#include "proto/reply.h"

/* Connections that one CLIENT LIST goes through: about half of these are written in half a millisecond. */
#define CLIENTS_MOST 1000

struct client_lines {
	const struct context *context;
	int64_t now_ms;
	struct buffer text;
	size_t count;
	size_t bytes; /* limit of the bytes in text */
	struct viewer viewer;
	size_t hidden; /* of others, whom the viewer does not see */
};

static void
lines_begin(struct client_lines *lines, const struct context *context)
{
	size_t bytes = connections_limits(context->connections)->output_bytes / 2;
	*lines = (struct client_lines){.context = context, .now_ms = clock_ms(), .bytes = bytes};
	buffer_init(&lines->text, bytes * 2);
}

static void
lines_send(struct client_lines *lines, struct connection *c)
{
	reply_write_bulk(
		connection_out(c), (struct slice){buffer_bytes(&lines->text), buffer_length(&lines->text)});
	connection_written(c);
	buffer_done(&lines->text);
}

static void
client_line(struct client_lines *lines, struct connection *c)
{
	const struct identity *who = connection_identity(c);
	struct fields line;
	char text[1024];
	char verb[COMMAND_NAME_MAX] = "";
	if (who->last != VERB_COUNT) {
		command_name(who->last, verb);
	}
	fields_init(&line, text, sizeof text - 1);
	fields_int(&line, "id", (int64_t)who->id);
	fields_text(&line, "addr", slice_of(who->peer.address));
	fields_text(&line, "name", slice_of(who->label ? who->label : ""));
	fields_int(&line, "age", (lines->now_ms - who->since_ms) / 1000);
	fields_int(&line, "idle", (lines->now_ms - who->last_ms) / 1000);
	fields_text(&line, "user", slice_of(who->user ? who->user->name : "default"));
	fields_int(&line, "resp", who->protocol);
	fields_text(&line, "lib-name", slice_of(who->lib_name ? who->lib_name : ""));
	fields_text(&line, "lib-ver", slice_of(who->lib_ver ? who->lib_ver : ""));
	fields_text(&line, "cmd", slice_of(verb));
	fields_int(&line, "session", (int64_t)core_session_of(lines->context->core, who->id));
	fields_int(&line, "pid", who->peer.pid);
	fields_int(&line, "uid", who->peer.uid);
	fields_int(&line, "requests", (int64_t)who->requests);
	fields_int(&line, "omem", (int64_t)connection_unread_bytes(c));
	text[line.n] = '\n';
	buffer_put(&lines->text, text, line.n + 1);
}

static bool
lines_add(void *arg, struct connection *c)
{
	struct client_lines *lines = arg;
	if (!viewer_sees_user(&lines->viewer, connection_identity(c)->peer.user)) {
		lines->hidden++;
		return true;
	}
	client_line(lines, c);
	lines->count++;
	return lines->count < CLIENTS_MOST && buffer_length(&lines->text) < lines->bytes &&
	       !lines->text.failed;
}

void
clients_info(struct context *context, struct connection *c, const struct command *command)
{
	struct client_lines lines;
	(void)command;
	lines_begin(&lines, context);
	client_line(&lines, c);
	lines_send(&lines, c);
}

void
clients_list(struct context *context, struct connection *c, const struct command *command)
{
	struct client_lines lines;
	struct fields line;
	char text[64];
	(void)command;
	lines_begin(&lines, context);
	lines.viewer = connection_viewer(c);
	connections_each(context->connections, lines_add, &lines);
	size_t all = connections_count(context->connections) - lines.hidden;
	if (lines.count < all) {
		fields_init(&line, text, sizeof text - 1);
		fields_int(&line, "more", (int64_t)(all - lines.count));
		text[line.n] = '\n';
		buffer_put(&lines.text, text, line.n + 1);
	}
	lines_send(&lines, c);
}

struct busiest_scan {
	int64_t now_ns;
	conn_id id; /* 0: none yet */
	struct usage_sum most;
};

static bool
busiest_compare(void *arg, struct connection *c)
{
	struct busiest_scan *scan = arg;
	struct identity *who = connection_identity(c);
	struct usage_sum rates = {0};
	usage_add_rates(&who->usage, scan->now_ns, &rates);
	if (rates.requests > scan->most.requests) {
		scan->id = who->id;
		scan->most = rates;
	}
	return true;
}

void
clients_busiest(const struct context *context, struct busiest *out)
{
	struct busiest_scan scan = {.now_ns = clock_ns()};
	connections_each(context->connections, busiest_compare, &scan);
	*out = (struct busiest){
		.session = scan.id != 0 ? (int64_t)core_session_of(context->core, scan.id) : 0,
		.requests_s = scan.most.requests,
		.busy_us_s = scan.most.busy_ns / 1000,
	};
}
