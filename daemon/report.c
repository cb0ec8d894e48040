/*
 * report: see report.h.
 *
 * How many elements an array has stands in front of them, so they are written aside first. Half of what a
 * client may leave unread is the most one answer holds; a list that would be longer ends there.
 */
#include "daemon/report.h"

#include "daemon/access.h"
#include "daemon/base/clock.h"
#include "daemon/core/view.h"
#include "daemon/labours.h"
#include "daemon/masters.h"
#include "daemon/process.h"
#include "proto/composer.h"
#include "proto/fields.h"
#include "proto/glob.h"

#include <stdlib.h>

/* More holders, and more waiters, than anybody reads. */
#define REPORT_QUEUE_MAX 1000

/* Names, latches or sessions that one turn looks at: with a glob that takes long some are a millisecond. */
#define REPORT_TURN_LOOKS 500

/* A session has one connection as a rule; of many the latest are asked for a name. */
#define REPORT_LABEL_LOOKS 16

struct report {
	struct desk *desk;
	int protocol;
	int64_t now_ms;
	struct buffer text; /* the elements */
	size_t count;
	size_t most;        /* elements */
	size_t bytes;       /* of text */
	struct glob *match; /* NULL: every name */
};

/* What CLIENT SETNAME said, of a session: the core knows sessions, not the names of their connections. */
struct label {
	struct desk *desk;
	const char *text; /* NULL: none */
	int looks;
};

static bool
label_look(void *arg, conn_id conn)
{
	struct label *label = arg;
	struct connection *c = connections_find(label->desk->connections, conn);
	label->text = c ? connection_identity(c)->label : NULL;
	return !label->text && --label->looks > 0;
}

/* Of a session without connections it is what the last one called itself. */
static const char *
report_label(const struct report *report, session_id session, const struct peer *peer)
{
	struct label label = {.desk = report->desk, .looks = REPORT_LABEL_LOOKS};
	core_each_conn(report->desk->core, session, label_look, &label);
	const char *text = label.text ? label.text : processes_label(report->desk->processes, session);
	if (text) {
		return text;
	}
	return peer ? peer->name : "";
}

static void
report_begin(struct report *report, struct desk *desk, struct connection *c)
{
	size_t bytes = connections_limits(desk->connections)->output_bytes / 2;
	*report = (struct report){
		.desk = desk,
		.protocol = connection_identity(c)->protocol,
		.now_ms = clock_ms(),
		.most = SIZE_MAX,
		.bytes = bytes,
	};
	buffer_init(&report->text, bytes * 2);
}

/* Whether there may be another element. */
static bool
report_has_room(const struct report *report)
{
	return report->count < report->most && buffer_length(&report->text) < report->bytes &&
	       !report->text.failed;
}

/* One more is written; whether there may be another. */
static bool
report_more(struct report *report)
{
	report->count++;
	return report_has_room(report);
}

static void
report_end(struct report *report, struct connection *c)
{
	connection_written(c);
	buffer_done(&report->text);
}

static void
report_send_array(struct report *report, struct connection *c)
{
	struct buffer *out = connection_out(c);
	reply_write_array(out, report->count);
	buffer_put(out, buffer_bytes(&report->text), buffer_length(&report->text));
}

/* session, client, pid, uid, address: five pairs */
static void
write_who(struct report *report, struct buffer *b, session_id session, const struct peer *peer)
{
	reply_write_pair_int(b, "session", (int64_t)session);
	reply_write_pair_text(b, "client", report_label(report, session, peer));
	reply_write_pair_int(b, "pid", peer ? peer->pid : 0);
	reply_write_pair_int(b, "uid", peer ? peer->uid : -1);
	reply_write_pair_text(b, "address", peer ? peer->address : "");
}

static const char *
resource_state(const struct resource_view *view)
{
	if (view->held) {
		return view->hold.withheld ? "withheld" : "held";
	}
	if (view->waiters > 0) {
		return "waiting";
	}
	return view->lease_ms > 0 ? "leased" : "free";
}

static void
write_holder(struct report *report, struct buffer *b, const struct hold_view *hold)
{
	reply_write_map(b, report->protocol, 14);
	write_who(report, b, hold->session, hold->peer);
	reply_write_pair_text(b, "kind", kind_word(hold->kind));
	reply_write_pair_int(b, "permits", hold->permits);
	reply_write_pair_bulk(b, "owner", hold->owner);
	reply_write_pair_int(b, "token", hold->token);
	reply_write_pair_int(b, "count", hold->count);
	reply_write_pair_int(b, "held_ms", hold->held_ms);
	reply_write_pair_int(b, "valid_ms", hold->valid_ms);
	reply_write_pair_int(b, "withheld", hold->withheld);
	reply_write_pair_bulk(b, "why", hold->why);
}

static bool
report_hold(void *arg, const struct hold_view *hold)
{
	struct report *report = arg;
	write_holder(report, &report->text, hold);
	return report_more(report);
}

static bool
report_waiter(void *arg, const struct waiter_view *waiter)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	reply_write_map(b, report->protocol, 12);
	reply_write_pair_int(b, "position", waiter->position);
	write_who(report, b, waiter->session, waiter->peer);
	reply_write_pair_text(b, "kind", kind_word(waiter->kind));
	reply_write_pair_int(b, "permits", waiter->permits);
	reply_write_pair_bulk(b, "owner", waiter->owner);
	reply_write_pair_int(b, "age_ms", waiter->age_ms);
	reply_write_pair_int(b, "left_ms", waiter->left_ms);
	reply_write_pair_bulk(b, "why", waiter->why);
	return report_more(report);
}

/* The elements that were written aside become the value of this key; then the next ones may come. */
static void
report_send_pair(struct report *report, struct connection *c, const char *key)
{
	reply_write_text(connection_out(c), key);
	report_send_array(report, c);
	buffer_consume(&report->text, buffer_length(&report->text));
	report->count = 0;
}

static bool
report_latch_waiter(void *arg, const struct waiter_view *waiter)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	reply_write_map(b, report->protocol, 7);
	write_who(report, b, waiter->session, waiter->peer);
	reply_write_pair_int(b, "age_ms", waiter->age_ms);
	reply_write_pair_int(b, "left_ms", waiter->left_ms);
	return report_more(report);
}

/* name, kind, state, set, left, live_ms: six pairs */
static void
write_latch(struct buffer *b, const struct latch_view *view)
{
	reply_write_pair_bulk(b, "name", view->name);
	reply_write_pair_text(b, "kind", "latch");
	reply_write_pair_text(b, "state", view->state);
	reply_write_pair_int(b, "set", view->set);
	reply_write_pair_int(b, "left", view->left);
	reply_write_pair_int(b, "live_ms", view->live_ms);
}

static void
inspect_latch(struct report *report, struct connection *c, const struct latch_view *view)
{
	struct desk *desk = report->desk;
	struct masters_sum masters;
	struct buffer *out = connection_out(c);
	masters_see(desk->core, report->now_ms, &masters);
	core_each_latch_waiter(desk->core, report->now_ms, view->name, report_latch_waiter, report);
	reply_write_map(out, report->protocol, 8);
	write_latch(out, view);
	reply_write_pair_text(out, "master", masters.word);
	reply_write_text(out, "waiters");
	report_send_array(report, c);
	report_end(report, c);
}

void
report_inspect(struct desk *desk, struct connection *c, const struct command *command)
{
	struct report report;
	struct resource_view view;
	struct latch_view latch;
	struct masters_sum masters;
	struct buffer *out = connection_out(c);
	report_begin(&report, desk, c);
	report.most = REPORT_QUEUE_MAX;
	bool known = core_view_resource(desk->core, report.now_ms, command->name, &view);
	if (!known && core_view_latch(desk->core, report.now_ms, command->name, &latch)) {
		inspect_latch(&report, c, &latch);
		return;
	}
	report.bytes /= 2;
	if (!known) {
		view = (struct resource_view){.name = command->name, .lease = "none"};
	}
	masters_see(desk->core, report.now_ms, &masters);
	reply_write_map(out, report.protocol, 17);
	reply_write_pair_bulk(out, "name", view.name);
	reply_write_pair_text(out, "kind", kind_word(view.kind));
	reply_write_pair_int(out, "limit", view.limit);
	reply_write_pair_int(out, "taken", view.taken);
	reply_write_pair_text(out, "state", resource_state(&view));
	reply_write_pair_text(out, "lease", view.lease);
	reply_write_pair_int(out, "lease_ms", view.lease_ms);
	if (view.foreign.n > 0) {
		reply_write_pair_bulk(out, "elsewhere", view.foreign);
	} else {
		reply_write_pair_null(out, report.protocol, "elsewhere");
	}
	reply_write_pair_int(out, "position", view.position);
	reply_write_pair_int(out, "wanted", view.wanted);
	reply_write_pair_int(out, "tokens_left", view.tokens_left);
	reply_write_pair_text(out, "master", masters.word);
	reply_write_pair_int(out, "votes", view.votes);
	if (view.position > 0) {
		reply_write_pair_text(out, "home", masters_where(desk->masters, view.home));
	} else {
		reply_write_pair_null(out, report.protocol, "home");
	}
	if (view.held) {
		reply_write_text(out, "holder");
		write_holder(&report, out, &view.hold);
	} else {
		reply_write_pair_null(out, report.protocol, "holder");
	}
	core_each_hold(desk->core, report.now_ms, command->name, report_hold, &report);
	report_send_pair(&report, c, "holders");
	core_each_waiter(desk->core, report.now_ms, command->name, report_waiter, &report);
	report_send_pair(&report, c, "waiters");
	report_end(&report, c);
}

static bool
report_lock(void *arg, const struct resource_view *view)
{
	static const struct hold_view nobody = {0};
	struct report *report = arg;
	const struct hold_view *hold = view->held ? &view->hold : &nobody;
	struct buffer *b = &report->text;
	/* What is merely kept for who comes next is nobody's. */
	if ((view->holds == 0 && view->waiters == 0) ||
		(report->match && !glob_takes(report->match, view->name))) {
		return true;
	}
	reply_write_map(b, report->protocol, 18);
	reply_write_pair_bulk(b, "name", view->name);
	reply_write_pair_text(b, "kind", kind_word(view->kind));
	reply_write_pair_int(b, "limit", view->limit);
	reply_write_pair_int(b, "taken", view->taken);
	reply_write_pair_text(b, "state", resource_state(view));
	write_who(report, b, hold->session, hold->peer);
	reply_write_pair_bulk(b, "owner", hold->owner);
	reply_write_pair_int(b, "token", hold->token);
	reply_write_pair_int(b, "held_ms", hold->held_ms);
	reply_write_pair_int(b, "valid_ms", hold->valid_ms);
	reply_write_pair_bulk(b, "why", hold->why);
	reply_write_pair_int(b, "votes", view->votes);
	reply_write_pair_int(b, "holders", (int64_t)view->holds);
	reply_write_pair_int(b, "waiters", (int64_t)view->waiters);
	return report_more(report);
}

static bool
report_latch(void *arg, const struct latch_view *view)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	if (report->match && !glob_takes(report->match, view->name)) {
		return true;
	}
	reply_write_map(b, report->protocol, 7);
	write_latch(b, view);
	reply_write_pair_int(b, "waiters", (int64_t)view->waiters);
	return report_more(report);
}

/* A list goes on for as many turns as it takes to look at everything. */
struct listing {
	struct labour labour;
	struct report report;
	/* LOCKS: */
	struct names_walk names;
	bool named; /* all names have been looked at; now the latches */
	/* and of these, or of SESSIONS: */
	struct table_walk walk;
};

static void
listing_free(struct listing *listing)
{
	buffer_done(&listing->report.text);
	glob_free(listing->report.match);
	free(listing);
}

/* NULL: out of memory; c has its answer. */
static struct listing *
listing_new(struct desk *desk, struct connection *c, const struct command *command)
{
	struct listing *listing = calloc(1, sizeof *listing);
	struct glob *match = command->match.n > 0 ? glob_new(command->match) : NULL;
	if (!listing || (command->match.n > 0 && !match)) {
		free(listing);
		glob_free(match);
		connection_error(c, CODE_LIMIT, "out of memory: try again later");
		return NULL;
	}
	report_begin(&listing->report, desk, c);
	listing->report.match = match;
	listing->labour = (struct labour){.goes_on = true};
	return listing;
}

/* Looks at a part. True: there may be more. */
typedef bool list_part(struct listing *listing, const struct core *core);

static void
listing_turn(struct listing *listing, struct desk *desk, struct connection *c, list_part *part)
{
	struct report *report = &listing->report;
	if (!c) {
		listing_free(listing);
		return;
	}
	report->now_ms = clock_ms();
	if (part(listing, desk->core)) {
		labours_go_on(desk->labours, &listing->labour, c);
		return;
	}
	report_send_array(report, c);
	connection_written(c);
	listing_free(listing);
}

static bool
locks_part(struct listing *listing, const struct core *core)
{
	struct report *report = &listing->report;
	if (!listing->named) {
		listing->named = !core_walk_on(
			core, report->now_ms, &listing->names, REPORT_TURN_LOOKS, report_lock, report);
		if (!listing->named || !report_has_room(report)) {
			return !listing->named;
		}
	}
	return core_walk_latches(
		core, report->now_ms, &listing->walk, REPORT_TURN_LOOKS, report_latch, report);
}

static void
locks_turn(struct labour *labour, struct desk *desk, struct connection *c)
{
	listing_turn((struct listing *)labour, desk, c, locks_part);
}

void
report_locks(struct desk *desk, struct connection *c, const struct command *command)
{
	struct listing *listing = listing_new(desk, c, command);
	if (!listing) {
		return;
	}
	listing->report.most = (size_t)command->count;
	listing->labour.turn = locks_turn;
	core_walk_begin(desk->core, &listing->names);
	locks_turn(&listing->labour, desk, c);
}

static bool
report_session(void *arg, const struct session_view *view)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	reply_write_map(b, report->protocol, 13);
	write_who(report, b, view->id, view->peer);
	reply_write_pair_int(b, "connections", (int64_t)view->connections);
	reply_write_pair_int(b, "grants", (int64_t)view->grants);
	reply_write_pair_int(b, "waiters", (int64_t)view->waiters);
	reply_write_pair_int(b, "age_ms", view->age_ms);
	reply_write_pair_int(b, "bound_pid", view->bound_pid);
	reply_write_pair_int(b, "grace_ms", view->grace_ms);
	reply_write_pair_int(b, "left_ms", view->left_ms);
	reply_write_pair_int(b, "heartbeat_ms", view->heartbeat_ms);
	return report_more(report);
}

static bool
sessions_part(struct listing *listing, const struct core *core)
{
	struct report *report = &listing->report;
	return core_walk_sessions(
		core, report->now_ms, &listing->walk, REPORT_TURN_LOOKS, report_session, report);
}

static void
sessions_turn(struct labour *labour, struct desk *desk, struct connection *c)
{
	listing_turn((struct listing *)labour, desk, c, sessions_part);
}

void
report_sessions(struct desk *desk, struct connection *c, const struct command *command)
{
	struct listing *listing = listing_new(desk, c, command);
	if (!listing) {
		return;
	}
	listing->labour.turn = sessions_turn;
	sessions_turn(&listing->labour, desk, c);
}

static void
client_line(struct report *report, struct connection *c)
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
	fields_int(&line, "age", (report->now_ms - who->since_ms) / 1000);
	fields_int(&line, "idle", (report->now_ms - who->last_ms) / 1000);
	fields_text(&line, "user", slice_of(who->user ? who->user->name : "default"));
	fields_int(&line, "resp", who->protocol);
	fields_text(&line, "lib-name", slice_of(who->lib_name ? who->lib_name : ""));
	fields_text(&line, "lib-ver", slice_of(who->lib_ver ? who->lib_ver : ""));
	fields_text(&line, "cmd", slice_of(verb));
	fields_int(&line, "session", (int64_t)core_session_of(report->desk->core, who->id));
	fields_int(&line, "pid", who->peer.pid);
	fields_int(&line, "uid", who->peer.uid);
	fields_int(&line, "requests", (int64_t)who->requests);
	fields_int(&line, "omem", (int64_t)connection_unread_bytes(c));
	text[line.n] = '\n';
	buffer_put(&report->text, text, line.n + 1);
}

static bool
report_client(void *arg, struct connection *c)
{
	client_line(arg, c);
	return report_more(arg);
}

static void
report_send_bulk(struct report *report, struct connection *c)
{
	reply_write_bulk(
		connection_out(c), (struct slice){buffer_bytes(&report->text), buffer_length(&report->text)});
}

void
report_client_info(struct desk *desk, struct connection *c, const struct command *command)
{
	struct report report;
	(void)command;
	report_begin(&report, desk, c);
	client_line(&report, c);
	report_send_bulk(&report, c);
	report_end(&report, c);
}

void
report_client_list(struct desk *desk, struct connection *c, const struct command *command)
{
	struct report report;
	(void)command;
	report_begin(&report, desk, c);
	connections_each(desk->connections, report_client, &report);
	report_send_bulk(&report, c);
	report_end(&report, c);
}
