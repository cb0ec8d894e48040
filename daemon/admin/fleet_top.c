/*
 * fleet_top: TOP, of this daemon and of all (PROTOCOL.md 6.27). Called by the dispatch, by fleet.c and
 * fleet_serve.c, and by the pages of HTTP.
 *
 * A daemon tells another one an array of two: a map of itself, and its first locks, those first that have
 * been waited for longest. The daemon that asked merges these lists:
 *
 *     daemon ── longest … shortest ──┐
 *     daemon ── longest … shortest ──┼── the longest of the heads, again and again ──▶ client
 *     daemon ── longest … shortest ──┘
 *
 * As in fleet_merge.c the merged list ends where one ends that was cut for want of room. A daemon of a
 * neighbouring version may have other keys in its rows: they are put in the order of the first list, and what
 * it lacks is empty.
 */
#include "daemon/admin/fleet_top.h"

#include "daemon/admin/fleet_inner.h"
#include "daemon/admin/fleet_write.h"
#include "daemon/admin/health.h"
#include "daemon/admin/longest.h"
#include "daemon/admin/report.h"
#include "daemon/admin/shown.h"
#include "daemon/base/clock.h"
#include "daemon/base/memory.h"
#include "daemon/base/stats.h"
#include "daemon/core/view.h"
#include "daemon/net/connection.h"
#include "daemon/net/connections.h"
#include "daemon/redis/masters.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TOP_KEYS_MAX 32 /* of a row; further ones are left out */

/* ---- this daemon ---- */

/* cut: locks are missing, because the answer has no room for them. */
static void
write_host(const struct context *context, struct buffer *out, int protocol, bool complete, bool cut,
	int64_t now_ms)
{
	const struct stats *stats = context->stats;
	struct core_counts counts;
	struct longest_view longest;
	struct service_view service;
	struct masters_sum masters;
	char health[HEALTH_TEXT_MAX];
	core_view_counts(context->core, &counts);
	core_view_longest(context->core, now_ms, &longest);
	core_view_service(context->core, &service);
	masters_see(context->core, now_ms, &masters);
	health_text(context, now_ms, health);
	bool available = service.available && !core_draining(context->core) && !context->memory->full;
	reply_write_map(out, protocol, shown_keys(SHOWN_DAEMON));
	reply_write_pair_text(out, "host", context->facts.host);
	reply_write_pair_text(out, "daemon", context->facts.daemon_id);
	reply_write_pair_text(out, "version", context->facts.version);
	reply_write_pair_int(out, "uptime_ms", now_ms - context->facts.started_ms);
	reply_write_pair_int(out, "available", available);
	reply_write_pair_text(out, "health", health);
	reply_write_pair_int(out, "masters", masters.count);
	reply_write_pair_int(out, "masters_usable", masters.usable);
	reply_write_pair_int(out, "clients", stats->clients_connected);
	reply_write_pair_int(out, "sessions", (int64_t)counts.sessions);
	reply_write_pair_int(out, "held", (int64_t)counts.grants);
	reply_write_pair_int(out, "withheld", (int64_t)counts.withheld);
	reply_write_pair_int(out, "waiters", (int64_t)counts.waiters);
	reply_write_pair_int(out, "longest_wait_ms", longest.wait_ms);
	reply_write_pair_int(out, "longest_hold_ms", longest.hold_ms);
	reply_write_pair_int(out, "requests", stats->commands_processed);
	reply_write_pair_int(out, "granted", stats->locks_granted);
	reply_write_pair_int(out, "timed_out", stats->locks_timed_out);
	reply_write_pair_int(out, "lost", stats->locks_lost);
	reply_write_pair_int(out, "complete", complete);
	reply_write_pair_int(out, "cut", cut);
}

/* Writes what this daemon says: to another one, or as a client gets it. False: there are too many searches,
 * or no memory, and nothing was written. */
static bool
write_here(struct fleet *fleet, const struct report_ranked *asked, const struct command *command, bool client,
	struct buffer *out)
{
	struct context *context = fleet->context;
	struct report_ranked request = *asked;
	struct longest_found found;
	struct buffer rows;
	int64_t now_ms = clock_ms();
	bool whole = false;
	context->fleet_works = true; /* the search goes on in its turns */
	if (!longest_ask(fleet->longest, context, command->match, request.viewer, now_ms, &found)) {
		return false;
	}
	request.names = found.names;
	request.most = command->count > 0 ? (size_t)command->count : TOP_COUNT;
	buffer_init(&rows, request.bytes * 2 + 8192);
	bool good = report_ranked(context, &request, &rows, &whole);
	if (good) {
		reply_write_array(out, client ? 3 : 2);
		if (client) {
			reply_write_array(out, 1);
		}
		write_host(context, out, request.protocol, found.whole, !whole, now_ms);
		buffer_put(out, buffer_bytes(&rows), buffer_length(&rows));
		if (client) {
			reply_write_array(out, 0); /* no other daemon was asked */
		}
	}
	buffer_done(&rows);
	return good;
}

static const char too_many[] = "too many different searches at a time, or no memory: try again in a moment";

void
top_asked(struct fleet *fleet, const struct command *command, int protocol, size_t bytes, struct buffer *out)
{
	/* The daemon that asks shows its client no more than this client may see. */
	const struct viewer viewer = {.admin = true};
	const struct report_ranked request = {.viewer = &viewer, .protocol = protocol, .bytes = bytes};
	if (!write_here(fleet, &request, command, false, out)) {
		reply_write_error(out, CODE_LIMIT, slice_of(too_many));
	}
}

void
top_verb(struct context *context, struct connection *c, const struct command *command)
{
	const struct viewer viewer = connection_viewer(c);
	const struct report_ranked request = {
		.viewer = &viewer,
		.protocol = connection_identity(c)->protocol,
		.bytes = connections_limits(context->connections)->output_bytes / 4,
	};
	connections_strained(context->connections);
	if (write_here(context->fleet, &request, command, true, connection_out(c))) {
		connection_written(c);
	} else {
		connection_error(c, CODE_LIMIT, "%s", too_many);
	}
}

bool
top_page(struct fleet *fleet, const struct viewer *viewer, struct slice match, size_t count,
	struct buffer *out)
{
	const struct command command = {.verb = VERB_TOP, .match = match, .count = (int64_t)count};
	const struct report_ranked request = {.viewer = viewer, .protocol = 3, .bytes = out->max / 4};
	return write_here(fleet, &request, &command, true, out) && !out->failed;
}

/* ---- what a daemon has answered ---- */

/* The index of a key in an array of keys; the number of keys: it is not there. */
static size_t
key_find(const struct answer *keys, struct slice key)
{
	size_t i = 0;
	while (i < keys->count && !slice_equal(keys->items[i].text, key)) {
		i++;
	}
	return i;
}

static bool
row_fits(const struct answer *row, const struct answer *keys)
{
	bool good = row->type == ANSWER_ARRAY && row->count == keys->count;
	for (size_t i = 0; good && i < row->count; i++) {
		good = row->items[i].type == ANSWER_INT || row->items[i].type == ANSWER_TEXT;
	}
	return good;
}

bool
part_is_top(const struct answer *tree)
{
	if (!tree || tree->type != ANSWER_ARRAY || tree->count != 2 || tree->items[1].type != ANSWER_ARRAY ||
		answer_get_text(&tree->items[0], "host").n == 0) {
		return false;
	}
	const struct answer *rows = &tree->items[1], *keys = rows->items;
	bool good = rows->count <= LONGEST_MOST + 1;
	if (rows->count == 0) {
		return good;
	}
	good = good && keys->type == ANSWER_ARRAY && keys->count <= TOP_KEYS_MAX;
	for (size_t i = 0; good && i < keys->count; i++) {
		good = keys->items[i].type == ANSWER_TEXT;
	}
	good = good && key_find(keys, SLICE("name")) < keys->count;
	for (size_t i = 1; good && i < rows->count; i++) {
		good = row_fits(&rows->items[i], keys);
	}
	return good;
}

/* ---- all daemons ---- */

/* The list of one daemon, of which the head is read. */
struct list {
	struct slice host; /* its map, in RESP */
	struct slice rest; /* behind the head */
	size_t left;       /* rows in rest */
	bool cut;
	struct slice keys; /* in RESP; n == 0: the list is empty */
	/* The indices of these in its rows. */
	size_t waiters, longest, token, held;
	struct slice row;            /* the head, in RESP; n == 0: the list is over */
	int64_t longest_ms, held_ms; /* -1: no client waits, it is not held */
};

struct lists {
	struct list *list;
	size_t n;
	struct answer_parser parser;
	const struct list *first; /* whose keys the answer has; NULL: all are empty */
	struct answer_parser first_parser;
	const struct answer *first_keys;
};

static const struct answer_limits top_limits = {.bytes = FLEET_PAGE_BYTES * 2, .elements = 65536};

/* The next value of the bytes, which is taken off, and parsed if the tree is wanted. n == 0: there is none.
 */
static struct slice
value_take(struct answer_parser *parser, struct slice *bytes, const struct answer **tree)
{
	const char *fault;
	ssize_t n = bytes->n > 0 ? answer_parse(parser, bytes->p, bytes->n, &top_limits, tree, &fault) : 0;
	struct slice value = {bytes->p, n > 0 ? (size_t)n : 0};
	bytes->p += value.n;
	bytes->n -= value.n;
	return value;
}

/* Takes "*n" off the bytes, which have been checked. */
static size_t
count_take(struct slice *bytes)
{
	const char *end = bytes->p && bytes->n > 3 ? memchr(bytes->p, '\n', bytes->n) : NULL;
	int64_t n = 0;
	if (!end ||
		!number_parse((struct slice){bytes->p + 1, (size_t)(end - bytes->p) - 2}, 0, INT32_MAX, &n)) {
		*bytes = (struct slice){0};
		return 0;
	}
	bytes->n -= (size_t)(end + 1 - bytes->p);
	bytes->p = end + 1;
	return (size_t)n;
}

static int64_t
row_number(const struct answer *row, size_t i)
{
	return i < row->count && row->items[i].type == ANSWER_INT ? row->items[i].n : 0;
}

/* Want of memory ends a list early. */
static void
list_read(struct list *list, struct answer_parser *parser)
{
	const struct answer *row = NULL;
	list->row = (struct slice){0};
	if (list->left == 0) {
		return;
	}
	list->row = value_take(parser, &list->rest, &row);
	list->left--;
	if (list->row.n == 0 || !row) {
		list->row = (struct slice){0};
		list->cut = true;
		return;
	}
	list->longest_ms = row_number(row, list->waiters) > 0 ? row_number(row, list->longest) : -1;
	list->held_ms = row_number(row, list->token) != 0 ? row_number(row, list->held) : -1;
}

static void
list_begin(struct list *list, const struct fleet_part *part, struct answer_parser *parser)
{
	const struct answer *tree = NULL;
	*list = (struct list){.rest = {buffer_bytes(&part->answer), buffer_length(&part->answer)}};
	count_take(&list->rest);
	list->host = value_take(parser, &list->rest, &tree);
	list->cut = tree && answer_get_int(tree, "cut", 0) != 0;
	list->left = count_take(&list->rest);
	if (list->left == 0) {
		return;
	}
	list->keys = value_take(parser, &list->rest, &tree);
	list->left--;
	if (list->keys.n == 0) {
		list->left = 0;
		return;
	}
	list->waiters = key_find(tree, SLICE("waiters"));
	list->longest = key_find(tree, SLICE("longest_wait_ms"));
	list->token = key_find(tree, SLICE("token"));
	list->held = key_find(tree, SLICE("held_ms"));
	list_read(list, parser);
}

/* The longest head; NULL: all lists are over, or one that was cut is. */
static struct list *
lists_next(struct lists *lists)
{
	struct list *longest = NULL;
	for (size_t i = 0; i < lists->n; i++) {
		struct list *list = &lists->list[i];
		if (list->row.n == 0 && list->cut) {
			return NULL;
		}
		if (list->row.n > 0 && (!longest || list->longest_ms > longest->longest_ms ||
					       (list->longest_ms == longest->longest_ms &&
						       list->held_ms > longest->held_ms))) {
			longest = list;
		}
	}
	return longest;
}

/* A row in the order of the first list. */
static void
row_put(struct lists *lists, const struct list *list, struct buffer *out)
{
	const struct answer *keys = NULL, *row = NULL;
	struct answer_parser other = {0};
	struct slice key_bytes = list->keys, row_bytes = list->row;
	if (slice_equal(list->keys, lists->first->keys)) {
		buffer_put(out, list->row.p, list->row.n);
		return;
	}
	if (value_take(&other, &key_bytes, &keys).n == 0 || !keys ||
		value_take(&lists->parser, &row_bytes, &row).n == 0 || !row) {
		out->failed = true;
		answer_done(&other);
		return;
	}
	reply_write_array(out, lists->first_keys->count);
	for (size_t i = 0; i < lists->first_keys->count; i++) {
		size_t at = key_find(keys, lists->first_keys->items[i].text);
		if (at < row->count && row->items[at].type == ANSWER_INT) {
			reply_write_int(out, row->items[at].n);
		} else {
			reply_write_bulk(out, at < row->count ? row->items[at].text : SLICE(""));
		}
	}
	answer_done(&other);
}

/* False: no memory. */
static bool
lists_begin(struct lists *lists, const struct fleet_open *open)
{
	*lists = (struct lists){.list = calloc(open->part_count + 1, sizeof *lists->list)};
	if (!lists->list) {
		return false;
	}
	for (size_t i = 0; i < open->part_count; i++) {
		if (open->parts[i].valid) {
			list_begin(&lists->list[lists->n++], &open->parts[i], &lists->parser);
		}
	}
	for (size_t i = 0; i < lists->n && !lists->first; i++) {
		lists->first = lists->list[i].keys.n > 0 ? &lists->list[i] : NULL;
	}
	if (!lists->first) {
		return true;
	}
	struct slice keys = lists->first->keys;
	return value_take(&lists->first_parser, &keys, &lists->first_keys).n > 0 && lists->first_keys;
}

static void
lists_done(struct lists *lists)
{
	answer_done(&lists->parser);
	answer_done(&lists->first_parser);
	free(lists->list);
}

bool
write_top(const struct fleet_open *open, size_t room, struct buffer *out, int protocol, int64_t now_ms)
{
	size_t most = open->command.count > 0 ? (size_t)open->command.count : TOP_COUNT, count = 0;
	struct lists lists;
	struct list *list;
	struct buffer rows;
	bool good = lists_begin(&lists, open);
	buffer_init(&rows, room);
	if (good) {
		reply_write_array(out, 3);
		reply_write_array(out, lists.n);
		for (size_t i = 0; i < lists.n; i++) {
			buffer_put(out, lists.list[i].host.p, lists.list[i].host.n);
		}
	}
	while (good && count < most && (list = lists_next(&lists)) &&
		list->row.n + buffer_length(out) + buffer_length(&rows) < room) {
		row_put(&lists, list, &rows);
		count++;
		list_read(list, &lists.parser);
	}
	good = good && !rows.failed && buffer_length(out) + buffer_length(&rows) <= room;
	if (good) {
		reply_write_array(out, count > 0 ? count + 1 : 0);
		if (count > 0) {
			buffer_put(out, lists.first->keys.p, lists.first->keys.n);
		}
		buffer_put(out, buffer_bytes(&rows), buffer_length(&rows));
		write_silent(open, out, protocol, now_ms);
	}
	buffer_done(&rows);
	lists_done(&lists);
	return good;
}
