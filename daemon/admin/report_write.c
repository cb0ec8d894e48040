/*
 * report_write: the elements that INSPECT, LOCKS and SESSIONS have in common; see report_inner.h. Called by
 * report.c.
 */
#include "daemon/admin/report_write.h"

#include "daemon/admin/report_inner.h"
#include "daemon/net/connections.h"
#include "daemon/net/process.h"
#include "proto/reply.h"

/* A session has one connection as a rule. If it has many, at most this many of the latest are searched for a
 * label. */
#define REPORT_LABEL_MOST 16

/* The CLIENT SETNAME of a session: the core knows sessions, but not the names of their connections. */
struct label {
	const struct context *context;
	const char *text; /* NULL: none */
	int left;
};

static bool
label_visit(void *arg, conn_id conn)
{
	struct label *label = arg;
	struct connection *c = connections_find(label->context->connections, conn);
	label->text = c ? connection_identity(c)->label : NULL;
	return !label->text && --label->left > 0;
}

/* For a session without connections, the label of its last one. */
static const char *
report_label(const struct report *report, session_id session, const struct peer *peer)
{
	struct label label = {.context = report->context, .left = REPORT_LABEL_MOST};
	core_each_conn(report->context->core, session, label_visit, &label);
	const char *text = label.text ? label.text : processes_label(report->context->processes, session);
	if (text) {
		return text;
	}
	return peer ? peer->name : "";
}

static bool
user_visit(void *arg, conn_id conn)
{
	struct label *label = arg;
	struct connection *c = connections_find(label->context->connections, conn);
	const struct access_user *user = c ? connection_identity(c)->user : NULL;
	label->text = user ? user->name : NULL;
	return !label->text && --label->left > 0;
}

const char *
report_user(const struct report *report, session_id session)
{
	struct label label = {.context = report->context, .left = REPORT_LABEL_MOST};
	core_each_conn(report->context->core, session, user_visit, &label);
	return label.text ? label.text : "";
}

static void
write_key(const struct report *report, struct buffer *b, const char *key)
{
	if (report->form != FORM_VALUES) {
		reply_write_text(b, key);
	}
}

void
write_int(const struct report *report, struct buffer *b, const char *key, int64_t n)
{
	write_key(report, b, key);
	if (report->form != FORM_KEYS) {
		reply_write_int(b, n);
	}
}

void
write_bulk(const struct report *report, struct buffer *b, const char *key, struct slice bytes)
{
	write_key(report, b, key);
	if (report->form != FORM_KEYS) {
		reply_write_bulk(b, bytes);
	}
}

void
write_text(const struct report *report, struct buffer *b, const char *key, const char *text)
{
	write_bulk(report, b, key, slice_of(text));
}

void
write_map(const struct report *report, struct buffer *b, size_t pairs)
{
	pairs += report->fleet ? 2 : 0;
	if (report->form == FORM_MAP) {
		reply_write_map(b, report->protocol, pairs);
	} else {
		reply_write_array(b, pairs);
	}
	if (report->fleet) {
		write_text(report, b, "host", report->context->facts.host);
		write_text(report, b, "daemon", report->context->facts.daemon_id);
	}
}

void
write_who(const struct report *report, struct buffer *b, session_id session, const struct peer *peer)
{
	write_int(report, b, "session", (int64_t)session);
	write_text(report, b, "client", report_label(report, session, peer));
	write_int(report, b, "pid", peer ? peer->pid : 0);
	write_int(report, b, "uid", peer ? peer->uid : -1);
	write_text(report, b, "address", peer ? peer->address : "");
	if (report->users) {
		write_text(report, b, "user", report_user(report, session));
	}
}

void
write_latch(const struct report *report, struct buffer *b, const struct latch_view *view)
{
	write_bulk(report, b, "name", view->name);
	write_text(report, b, "kind", "latch");
	write_text(report, b, "state", view->state);
	write_int(report, b, "set", view->set);
	write_int(report, b, "left", view->left);
	write_int(report, b, "live_ms", view->live_ms);
}

/* ---- lists ---- */

bool
report_has_room(const struct report *report)
{
	return report->count < report->most && buffer_length(&report->text) < report->bytes &&
	       !report->text.failed;
}

bool
report_add(struct report *report, report_writer *write, const void *view)
{
	if (report->rows && report->count == 0) {
		report->form = FORM_KEYS;
		write(report, &report->text, view);
	}
	report->form = report->rows ? FORM_VALUES : FORM_MAP;
	write(report, &report->text, view);
	report->count++;
	return report_has_room(report);
}

void
report_put_array(const struct report *report, struct buffer *out)
{
	reply_write_array(out, report->count + (report->rows && report->count > 0 ? 1 : 0));
	buffer_put(out, buffer_bytes(&report->text), buffer_length(&report->text));
}
