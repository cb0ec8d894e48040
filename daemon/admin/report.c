/*
 * report: what operators read: INSPECT, LOCKS and SESSIONS.
 *
 * Lists come in pages: a request goes through a part of the list, and its answer says where the next page
 * begins. The cursor is a number; no state is stored between requests. Its upper half says which of two
 * consecutive lists it is in: names and latches, or holders and waiters of a name.
 *
 * An array begins with the number of its elements, so the elements are written aside first. An answer holds
 * at most half of what a client may leave unread; then the page ends.
 */
#include "daemon/admin/report_inner.h"

#include "daemon/admin/longest.h"
#include "daemon/admin/report_write.h"
#include "daemon/admin/shown.h"
#include "daemon/base/clock.h"
#include "daemon/net/connections.h"
#include "daemon/redis/masters.h"
#include "proto/glob.h"
#include "proto/name.h"
#include "proto/reply.h"

#include <stdlib.h>

/* Names, latches or sessions that one request goes through, empty chains included: about half of these are
 * written in half a millisecond. Rows take half the time of maps. With a pattern, see report_match(). */
#define REPORT_BUDGET     500
#define REPORT_ROW_BUDGET 1000
/* Bytes of names that are compared with the pattern for each unit of the budget: longer names take more of
 * it. */
#define REPORT_STEP_BYTES 64

/* Connections of a session whose rates are added up: the latest ones. */
#define REPORT_CONNECTIONS 100

/* For one holder or waiter, with room for some longer ones. */
#define REPORT_HOLDER_BYTES 512

/* Cursors of the second list begin here. */
#define REPORT_SECOND (UINT64_C(1) << 32)

/* Not all elements could be written. */
static const char no_room[] =
	"no memory for this page, or limits.output-bytes is too small for it: ask for fewer with "
	"COUNT";

static void
report_init(struct report *report, const struct context *context, struct viewer viewer, int64_t most,
	int protocol, size_t bytes)
{
	*report = (struct report){
		.context = context,
		.protocol = protocol,
		.now_ms = clock_ms(),
		.most = most > 0 ? (size_t)most : COMMAND_COUNT_MAX,
		.bytes = bytes,
		.viewer = viewer,
	};
	buffer_init(&report->text, bytes * 2);
}

/* Whether the name is in this list: it was asked for, and its reader may see it. */
static bool
report_wants(struct report *report, struct slice name)
{
	if (report->match) {
		report->match_bytes -= name.n < report->match_bytes ? name.n : report->match_bytes;
		if (!glob_takes(report->match, name)) {
			return false;
		}
	}
	return viewer_names(&report->viewer, name);
}

/* Whether this page may compare more names. */
static bool
report_goes_on(const struct report *report)
{
	return !report->match || report->match_bytes > 0;
}

/* Sets among how many elements matching ones are searched for. The longer the pattern and the names, the
 * fewer: so a page takes the same time, whatever they are. */
static void
report_match(struct report *report, struct glob *match, size_t budget)
{
	report->match = match;
	report->scan = match ? budget / glob_cost(match) : budget;
	if (report->scan == 0) {
		report->scan = 1;
	}
	report->match_bytes = report->scan * REPORT_STEP_BYTES;
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
	reply_write_map(b, report->protocol, 14 + report->users);
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

/* The order of permits, and of the waiters for a latch, may change between pages. So the ids are scattered
 * over the numbers below REPORT_SECOND, and a page has those in its share of these numbers. The share is wide
 * enough for about as many as fit into a page. */
static void
report_share(struct report *report, uint64_t cursor, size_t count)
{
	size_t most = report->bytes / REPORT_HOLDER_BYTES;
	most = most < report->most ? most : report->most;
	uint64_t pages = most == 0 ? count : (count + most - 1) / most;
	uint64_t wide = pages < 2 ? REPORT_SECOND : (REPORT_SECOND + pages - 1) / pages;
	report->budget = COMMAND_QUEUE_MAX;
	report->first = cursor;
	report->last = cursor + wide < REPORT_SECOND ? cursor + wide : REPORT_SECOND;
}

static bool
report_shares(const struct report *report, uint64_t id)
{
	uint64_t share = id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	return share >= report->first && share < report->last;
}

static bool
report_hold(void *arg, const struct hold_view *hold)
{
	struct report *report = arg;
	if (report_shares(report, (uint64_t)hold->token)) {
		write_holder(report, &report->text, hold);
		report->count++;
	}
	return !report->text.failed && --report->budget > 0;
}

static bool
report_waiter(void *arg, const struct waiter_view *waiter)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	if (report->budget-- == 0) {
		return false;
	}
	if (waiter->ticket <= report->ticket) {
		return true;
	}
	report->more = !report_has_room(report);
	if (report->more) {
		return false;
	}
	report->ticket = waiter->ticket;
	report->count++;
	reply_write_map(b, report->protocol, 12 + report->users);
	reply_write_pair_int(b, "position", waiter->position);
	write_who(report, b, waiter->session, waiter->peer);
	reply_write_pair_text(b, "kind", kind_word(waiter->kind));
	reply_write_pair_int(b, "permits", waiter->permits);
	reply_write_pair_bulk(b, "owner", waiter->owner);
	reply_write_pair_int(b, "age_ms", waiter->age_ms);
	reply_write_pair_int(b, "left_ms", waiter->left_ms);
	reply_write_pair_bulk(b, "why", waiter->why);
	return true;
}

static bool
report_latch_waiter(void *arg, const struct waiter_view *waiter)
{
	struct report *report = arg;
	struct buffer *b = &report->text;
	if (report_shares(report, waiter->ticket)) {
		reply_write_map(b, report->protocol, 7 + report->users);
		write_who(report, b, waiter->session, waiter->peer);
		reply_write_pair_int(b, "age_ms", waiter->age_ms);
		reply_write_pair_int(b, "left_ms", waiter->left_ms);
		report->count++;
	}
	return !report->text.failed && --report->budget > 0;
}

static void
write_cursor(struct buffer *b, uint64_t cursor)
{
	char text[NUMBER_TEXT_MAX];
	reply_write_pair_bulk(b, "cursor", (struct slice){text, number_print(text, (int64_t)cursor)});
}

/* False: not all elements could be written, and nothing is in out. */
static bool
inspect_latch(struct report *report, struct buffer *out, uint64_t cursor, const struct latch_view *view)
{
	const struct context *context = report->context;
	struct masters_sum masters;
	masters_see(context->core, report->now_ms, &masters);
	report_share(report, cursor, view->waiters);
	core_each_latch_waiter(context->core, report->now_ms, view->name, report_latch_waiter, report);
	if (report->text.failed) {
		return false;
	}
	write_map(report, out, 10);
	write_latch(report, out, view);
	reply_write_pair_text(out, "master", masters.word);
	reply_write_text(out, "waiters");
	report_put_array(report, out);
	reply_write_pair_int(out, "waiter_count", (int64_t)view->waiters);
	write_cursor(out, report->last == REPORT_SECOND ? 0 : report->last);
	return true;
}

static void
write_lease(struct report *report, struct buffer *out, const struct resource_view *view)
{
	struct masters_sum masters;
	masters_see(report->context->core, report->now_ms, &masters);
	reply_write_pair_text(out, "lease", view->lease);
	reply_write_pair_int(out, "lease_ms", view->lease_ms);
	if (view->foreign.n > 0) {
		reply_write_pair_bulk(out, "elsewhere", view->foreign);
	} else {
		reply_write_pair_null(out, report->protocol, "elsewhere");
	}
	reply_write_pair_int(out, "position", view->position);
	reply_write_pair_int(out, "wanted", view->wanted);
	reply_write_pair_int(out, "tokens_left", view->tokens_left);
	reply_write_pair_text(out, "master", masters.word);
	reply_write_pair_int(out, "votes", view->votes);
	if (view->position > 0) {
		reply_write_pair_text(
			out, "home", masters_where(report->context->masters, view->queue_master));
	} else {
		reply_write_pair_null(out, report->protocol, "home");
	}
}

/* Writes the holders of this page and, after the last holder, the first waiters. Returns the next cursor. */
static uint64_t
inspect_queue(struct report *report, uint64_t cursor, const struct resource_view *view, size_t *holders,
	size_t *bytes)
{
	const struct core *core = report->context->core;
	uint64_t next = REPORT_SECOND;
	report->bytes /= 2; /* each list gets half of it */
	if (cursor < REPORT_SECOND) {
		report_share(report, cursor, view->holds);
		core_each_hold(core, report->now_ms, view->name, report_hold, report);
		next = report->last;
	}
	*holders = report->count;
	*bytes = buffer_length(&report->text);
	report->bytes += *bytes;
	report->count = 0;
	report->budget = COMMAND_QUEUE_MAX;
	report->ticket = cursor < REPORT_SECOND ? 0 : cursor - REPORT_SECOND;
	if (next == REPORT_SECOND) {
		core_each_waiter(core, report->now_ms, view->name, report_waiter, report);
		next = report->more ? REPORT_SECOND + report->ticket : 0;
	}
	return next;
}

static void
write_reason(struct report *report, struct buffer *out, struct slice name)
{
	char text[REPLY_TEXT_MAX];
	if (core_view_reason(report->context->core, report->now_ms, name, text, sizeof(text))) {
		reply_write_pair_text(out, "blocked_by", text);
	} else {
		reply_write_pair_null(out, report->protocol, "blocked_by");
	}
}

/* False: as inspect_latch(). */
static bool
inspect_lock(struct report *report, struct buffer *out, uint64_t cursor, const struct resource_view *view)
{
	size_t holders, bytes;
	uint64_t next = inspect_queue(report, cursor, view, &holders, &bytes);
	if (report->text.failed) {
		return false;
	}
	write_map(report, out, shown_keys(SHOWN_LOCK));
	reply_write_pair_bulk(out, "name", view->name);
	reply_write_pair_text(out, "kind", kind_word(view->kind));
	reply_write_pair_int(out, "limit", view->limit);
	reply_write_pair_int(out, "taken", view->taken);
	reply_write_pair_text(out, "state", resource_state(view));
	write_lease(report, out, view);
	if (view->held) {
		reply_write_text(out, "holder");
		write_holder(report, out, &view->hold);
	} else {
		reply_write_pair_null(out, report->protocol, "holder");
	}
	reply_write_text(out, "holders");
	reply_write_array(out, holders);
	buffer_put(out, buffer_bytes(&report->text), bytes);
	buffer_consume(&report->text, bytes);
	reply_write_text(out, "waiters");
	report_put_array(report, out);
	write_reason(report, out, view->name);
	reply_write_pair_int(out, "holder_count", (int64_t)view->holds);
	reply_write_pair_int(out, "waiter_count", (int64_t)view->waiters);
	write_cursor(out, next);
	return true;
}

static bool
inspect(struct report *report, struct slice name, uint64_t cursor, struct buffer *out)
{
	const struct core *core = report->context->core;
	struct resource_view view = {.name = name, .lease = "none"};
	struct latch_view latch;
	if (!core_view_resource(core, report->now_ms, name, &view) &&
		core_view_latch(core, report->now_ms, name, &latch)) {
		return inspect_latch(report, out, cursor, &latch);
	}
	return inspect_lock(report, out, cursor, &view);
}

static void
write_lock(const struct report *report, struct buffer *b, const void *arg)
{
	static const struct hold_view none = {0};
	const struct resource_view *view = arg;
	const struct hold_view *hold = view->held ? &view->hold : &none;
	write_map(report, b, shown_keys(SHOWN_NAME));
	write_bulk(report, b, "name", view->name);
	write_text(report, b, "kind", kind_word(view->kind));
	write_int(report, b, "limit", view->limit);
	write_int(report, b, "taken", view->taken);
	write_text(report, b, "state", resource_state(view));
	write_who(report, b, hold->session, hold->peer);
	write_bulk(report, b, "owner", hold->owner);
	write_int(report, b, "token", hold->token);
	write_int(report, b, "held_ms", hold->held_ms);
	write_int(report, b, "valid_ms", hold->valid_ms);
	write_bulk(report, b, "why", hold->why);
	write_text(report, b, "as", hold->as);
	write_int(report, b, "votes", view->votes);
	write_int(report, b, "holders", (int64_t)view->holds);
	write_int(report, b, "waiters", (int64_t)view->waiters);
	write_int(report, b, "longest_wait_ms", view->longest_ms);
}

/* Whether the list wants names of this rank only, and this one has it not. */
static bool
report_ranks_low(const struct report *report, const struct resource_view *view)
{
	int64_t held_ms = view->held ? view->hold.held_ms : -1;
	return report->few && (view->longest_ms != report->longest_ms ? view->longest_ms < report->longest_ms
								      : held_ms <= report->held_ms);
}

static bool
report_lock(void *arg, const struct resource_view *view)
{
	struct report *report = arg;
	/* A name that is only reserved for a next holder has no holder to show. */
	if ((view->waiters == 0 && (view->holds == 0 || report->waited)) || report_ranks_low(report, view)) {
		return true;
	}
	if (report_wants(report, view->name) && !report_add(report, write_lock, view)) {
		return false;
	}
	return report_goes_on(report);
}

static void
write_latch_element(const struct report *report, struct buffer *b, const void *arg)
{
	const struct latch_view *view = arg;
	write_map(report, b, 7);
	write_latch(report, b, view);
	write_int(report, b, "waiters", (int64_t)view->waiters);
}

static bool
report_latch(void *arg, const struct latch_view *view)
{
	struct report *report = arg;
	if (report->waited && view->waiters == 0) {
		return true;
	}
	if (report_wants(report, view->name) && !report_add(report, write_latch_element, view)) {
		return false;
	}
	return report_goes_on(report);
}

/* Writes the cursor of the next page, and this page. */
static void
write_page(const struct report *report, struct buffer *out, uint64_t next)
{
	char text[NUMBER_TEXT_MAX];
	reply_write_array(out, 2);
	reply_write_bulk(out, (struct slice){text, number_print(text, (int64_t)next)});
	report_put_array(report, out);
}

/* The names come first, then the latches, which have other keys: in a page of rows all have the same. */
static uint64_t
locks_page(struct report *report, uint64_t cursor)
{
	const struct core *core = report->context->core;
	if (cursor < REPORT_SECOND) {
		cursor = core_scan_names(
			core, report->now_ms, (scan_cursor)cursor, report->scan, report_lock, report);
		if (cursor != 0) {
			return cursor;
		}
		cursor = REPORT_SECOND;
	}
	if (report_has_room(report) && (!report->rows || report->count == 0)) {
		cursor = core_scan_latches(
			core, report->now_ms, (scan_cursor)cursor, report->scan, report_latch, report);
		return cursor == 0 ? 0 : REPORT_SECOND + cursor;
	}
	return cursor;
}

struct rates {
	const struct context *context;
	int64_t now_ns;
	size_t left;
	struct usage_sum sum;
};

static bool
rates_add(void *arg, conn_id id)
{
	struct rates *rates = arg;
	struct connection *c = connections_find(rates->context->connections, id);
	if (c) {
		usage_add_rates(&connection_identity(c)->usage, rates->now_ns, &rates->sum);
	}
	return --rates->left > 0;
}

/* The session of an id has no connections: those that ask for it have sessions of their own. */
static struct usage_sum
session_rates(const struct report *report, const struct session_view *view)
{
	struct rates rates = {report->context, clock_ns(), REPORT_CONNECTIONS, {0}};
	if (view->as[0] == '\0') {
		core_each_conn(report->context->core, view->id, rates_add, &rates);
	}
	return rates.sum;
}

static void
write_session(const struct report *report, struct buffer *b, const void *arg)
{
	const struct session_view *view = arg;
	struct usage_sum rates = session_rates(report, view);
	write_map(report, b, shown_keys(SHOWN_SESSION));
	write_who(report, b, view->id, view->peer);
	write_int(report, b, "connections", (int64_t)view->connections);
	write_int(report, b, "grants", (int64_t)view->grants);
	write_int(report, b, "waiters", (int64_t)view->waiters);
	write_int(report, b, "age_ms", view->age_ms);
	write_int(report, b, "bound_pid", view->bound_pid);
	write_int(report, b, "grace_ms", view->grace_ms);
	write_int(report, b, "left_ms", view->left_ms);
	write_int(report, b, "heartbeat_ms", view->heartbeat_ms);
	write_text(report, b, "as", view->as);
	write_text(report, b, "user", report_user(report, view->id));
	write_int(report, b, "requests_s", rates.requests);
	write_int(report, b, "bytes_s", rates.bytes);
	write_int(report, b, "busy_us_s", rates.busy_ns / 1000);
}

static bool
report_session(void *arg, const struct session_view *view)
{
	struct report *report = arg;
	return !viewer_sees_user(&report->viewer, view->peer ? view->peer->user : 0) ||
	       report_add(report, write_session, view);
}

static uint64_t
sessions_page(struct report *report, uint64_t cursor)
{
	return core_scan_sessions(report->context->core, report->now_ms, (scan_cursor)cursor, report->scan,
		report_session, report);
}

/* Writes the answer to INSPECT, LOCKS or SESSIONS. False: not all of it could be written, and nothing is in
 * out.
 */
static bool
report_answer(struct report *report, const struct command *command, struct buffer *out)
{
	uint64_t cursor = (uint64_t)command->cursor;
	if (command->verb == VERB_INSPECT) {
		return inspect(report, command->name, cursor, out);
	}
	report->rows = command->rows;
	struct glob *match = command->match.n > 0 ? glob_new(command->match) : NULL;
	if (command->match.n > 0 && !match) {
		return false;
	}
	report_match(report, match, command->rows ? REPORT_ROW_BUDGET : REPORT_BUDGET);
	bool locks = command->verb == VERB_LOCKS;
	cursor = locks ? locks_page(report, cursor) : sessions_page(report, cursor);
	if (!report->text.failed) {
		write_page(report, out, cursor);
	}
	return !report->text.failed;
}

static void
report_done(struct report *report)
{
	buffer_done(&report->text);
	glob_free(report->match);
}

void
report_verb(struct context *context, struct connection *c, const struct command *command)
{
	struct report report;
	report_init(&report, context, connection_viewer(c), command->count, connection_identity(c)->protocol,
		connections_limits(context->connections)->output_bytes / 2);
	connections_strained(context->connections);
	if (report_answer(&report, command, connection_out(c))) {
		connection_written(c);
	} else {
		connection_error(c, CODE_LIMIT, "%s", no_room);
	}
	report_done(&report);
}

void
report_asked(const struct context *context, const struct command *command, int protocol, size_t bytes,
	struct buffer *out)
{
	struct report report;
	/* The daemon that asks shows its client no more than this client may see. */
	report_init(&report, context, (struct viewer){.admin = true}, command->count, protocol, bytes);
	report.fleet = true;
	report.users = command->verb == VERB_INSPECT;
	if (!report_answer(&report, command, out)) {
		reply_write_error(out, CODE_LIMIT, slice_of(no_room));
	}
	report_done(&report);
}

/* A name that was found, by how it is now. */
struct fresh {
	struct rank rank;
	struct slice name;
};

static int
fresh_compare(const void *a, const void *b)
{
	const struct rank *left = &((const struct fresh *)a)->rank, *right = &((const struct fresh *)b)->rank;
	return rank_before(left, right) ? -1 : rank_before(right, left);
}

/* Those that are still held or waited for, the first one first. NULL: no memory. */
static struct fresh *
fresh_list(const struct report *report, const struct ranked *names, size_t *count)
{
	struct fresh *list = calloc(LONGEST_MOST, sizeof *list);
	struct slice name;
	for (size_t i = 0; list && i < LONGEST_MOST && (name = ranked_at(names, i)).n > 0; i++) {
		struct resource_view view;
		if (core_view_resource(report->context->core, report->now_ms, name, &view) &&
			(view.holds > 0 || view.waiters > 0) && viewer_names(&report->viewer, name)) {
			struct rank rank = {view.waiters > 0 ? report->now_ms - view.longest_ms : INT64_MAX,
				view.held ? report->now_ms - view.hold.held_ms : INT64_MAX};
			list[(*count)++] = (struct fresh){rank, name};
		}
	}
	if (*count > 0) {
		qsort(list, *count, sizeof *list, fresh_compare);
	}
	return list;
}

bool
report_ranked(
	const struct context *context, const struct report_ranked *request, struct buffer *out, bool *whole)
{
	struct report report;
	size_t count = 0, written = 0;
	report_init(&report, context, *request->viewer, (int64_t)request->most, request->protocol,
		request->bytes);
	report.fleet = report.rows = true;
	struct fresh *list = fresh_list(&report, request->names, &count);
	count = count < report.most ? count : report.most;
	for (bool room = true; list && room && written < count; written++) {
		struct resource_view view;
		room = core_view_resource(context->core, report.now_ms, list[written].name, &view) &&
		       report_add(&report, write_lock, &view);
	}
	*whole = written == count;
	bool good = list && !report.text.failed;
	if (good) {
		report_put_array(&report, out);
	}
	free(list);
	report_done(&report);
	return good;
}

bool
report_name(const struct context *context, struct slice name, struct buffer *out)
{
	struct report report;
	report_init(&report, context, (struct viewer){.admin = true}, 0, 3, out->max / 4);
	report.users = true;
	bool whole = inspect(&report, name, 0, out) && !out->failed;
	buffer_done(&report.text);
	return whole;
}

uint64_t
report_page(const struct context *context, const struct report_request *request, uint64_t cursor,
	struct buffer *out, size_t *count)
{
	struct report report;
	report_init(&report, context, *request->viewer, (int64_t)request->most, 3, out->max / 2);
	report.text = *out;
	report_match(&report, request->match, request->budget);
	report.waited = request->waited;
	report.few = request->few;
	report.longest_ms = request->longest_ms;
	report.held_ms = request->held_ms;
	uint64_t next = request->sessions ? sessions_page(&report, cursor) : locks_page(&report, cursor);
	*out = report.text;
	*count = report.count;
	return next;
}
