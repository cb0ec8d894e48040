/*
 * overview: see contents.h.
 */
#include "daemon/http/contents.h"

#include "daemon/admin/fleet.h"
#include "daemon/admin/fleet_hour.h"
#include "daemon/admin/fleet_page.h"
#include "daemon/admin/fleet_top.h"
#include "daemon/admin/history.h"
#include "daemon/admin/report.h"
#include "daemon/base/clock.h"
#include "daemon/net/access.h"
#include "proto/json.h"

#include <string.h>

/* Locks that /top.json has; written in about half a millisecond. */
#define OVERVIEW_LOCKS 200
#define KEYS_MAX       64
/* Holds that have ended, in /lock.json. */
#define OVERVIEW_HOLDS 20

static const struct answer_limits overview_limits = {.bytes = PAGE_PIECE_MAX, .elements = 65536};

static void
put(struct buffer *out, const char *text)
{
	buffer_put(out, text, strlen(text));
}

/* Parses RESP3. NULL: there is none, or no memory. */
static const struct answer *
parse(struct answer_parser *parser, struct slice bytes)
{
	const struct answer *tree = NULL;
	const char *fault;
	if (bytes.n == 0 || answer_parse(parser, bytes.p, bytes.n, &overview_limits, &tree, &fault) <= 0) {
		return NULL;
	}
	return tree;
}

/* "key": and the answer, after a comma; null for none. */
static void
put_member(struct buffer *out, const char *key, const struct answer *answer)
{
	json_put_key(out, key, false);
	if (answer) {
		json_put_answer(out, answer, clock_wall_us());
	} else {
		put(out, "null");
	}
}

/* How old what is shown of other daemons is; null: they were asked just now. */
static void
put_age(struct buffer *out, bool fleet, int64_t age_ms)
{
	json_put_key(out, "fleet", true);
	put(out, fleet ? "true" : "false");
	json_put_key(out, "age_ms", false);
	if (age_ms >= 0) {
		json_put_number(out, age_ms);
	} else {
		put(out, "null");
	}
}

/* ---- /top.json ---- */

/* Rows, which come behind their keys, as maps. */
static void
put_locks(const struct page *page, struct buffer *out, const struct answer *rows)
{
	struct answer pairs[2 * KEYS_MAX];
	const struct answer *keys = rows->items;
	size_t n = rows->count > 0 && keys->count < KEYS_MAX ? keys->count : 0;
	bool first = true;
	put(out, "[");
	for (size_t i = 1; n > 0 && i < rows->count; i++) {
		const struct answer *row = &rows->items[i];
		struct answer map = {.type = ANSWER_MAP, .items = pairs, .count = 2 * n};
		for (size_t k = 0; k < n && row->count == keys->count; k++) {
			pairs[2 * k] = keys->items[k];
			pairs[2 * k + 1] = row->items[k];
		}
		if (row->count == keys->count && (!page->waited || answer_get_int(&map, "waiters", 0) > 0)) {
			put(out, first ? "\n" : ",\n");
			json_put_answer(out, &map, clock_wall_us());
			first = false;
		}
	}
	put(out, "]");
}

static void
put_top(const struct page *page, struct buffer *out, const struct answer *top)
{
	if (!top || top->type != ANSWER_ARRAY || top->count != 3) {
		put(out, ",\"hosts\":[],\"locks\":[],\"silent\":[]}\n");
		return;
	}
	put_member(out, "hosts", &top->items[0]);
	json_put_key(out, "locks", false);
	put_locks(page, out, &top->items[1]);
	put_member(out, "silent", &top->items[2]);
	put(out, "}\n");
}

bool
overview_top(struct page *page, struct buffer *out)
{
	const struct context *context = page->context;
	const struct command command = {
		.verb = VERB_TOP, .match = page->about, .count = OVERVIEW_LOCKS, .fleet = true};
	bool fleet = viewer_sees_fleet(page->viewer) && !page->here;
	struct answer_parser parser = {0};
	struct buffer text;
	int64_t age_ms = 0;
	struct slice bytes = {0};
	buffer_init(&text, PAGE_PIECE_MAX);
	if (fleet) {
		bytes = fleet_page(context->fleet, &command, clock_ms(), &age_ms);
	} else if (top_page(context->fleet, page->viewer, page->about, OVERVIEW_LOCKS, &text)) {
		bytes = (struct slice){buffer_bytes(&text), buffer_length(&text)};
	} else {
		page->status = 503;
	}
	put(out, "{");
	put_age(out, fleet, age_ms);
	json_put_key(out, "more", false);
	put(out, viewer_sees_fleet(page->viewer) ? "true" : "false");
	put_top(page, out, parse(&parser, bytes));
	answer_done(&parser);
	buffer_done(&text);
	return false;
}

/* ---- /hour.json ---- */

bool
overview_hour(struct page *page, struct buffer *out)
{
	const struct context *context = page->context;
	const struct command command = {.verb = VERB_HOUR, .fleet = true};
	bool fleet = viewer_sees_fleet(page->viewer) && !page->here;
	struct answer_parser parser = {0};
	struct buffer text;
	int64_t age_ms = 0;
	struct slice bytes;
	buffer_init(&text, PAGE_PIECE_BYTES);
	if (fleet) {
		bytes = fleet_page(context->fleet, &command, clock_ms(), &age_ms);
	} else {
		hour_here(context, &text, 3);
		bytes = (struct slice){buffer_bytes(&text), buffer_length(&text)};
	}
	put(out, "{");
	put_age(out, fleet, age_ms);
	put_member(out, "hour", parse(&parser, bytes));
	put(out, "}\n");
	answer_done(&parser);
	buffer_done(&text);
	return false;
}

/* ---- /lock.json ---- */

static bool
refuse(struct page *page, struct buffer *out, unsigned status, const char *text)
{
	page->status = status;
	put(out, text);
	return false;
}

/* HISTORY of this daemon, into a buffer that is empty. */
static struct slice
history_here(const struct page *page, struct slice name, struct buffer *text)
{
	const struct command command = {.verb = VERB_HISTORY, .name = name, .count = OVERVIEW_HOLDS};
	history_asked(page->context, &command, 3, PAGE_PIECE_BYTES, text);
	return (struct slice){buffer_bytes(text), buffer_length(text)};
}

/* What this daemon says of the name: the map of INSPECT, with its history as one more member. */
static bool
lock_here(struct page *page, struct buffer *out, struct slice name)
{
	struct answer_parser parser = {0}, past = {0};
	struct buffer text, history;
	buffer_init(&text, PAGE_PIECE_MAX / 4);
	buffer_init(&history, PAGE_PIECE_MAX / 4);
	bool made = report_name(page->context, name, &text);
	const struct answer *lock =
		made ? parse(&parser, (struct slice){buffer_bytes(&text), buffer_length(&text)}) : NULL;
	if (lock) {
		json_put_answer(out, lock, clock_wall_us());
		made = !out->failed;
		if (made) {
			buffer_rewind(out, buffer_length(out) - 1); /* its brace */
		}
		put_member(out, "history", parse(&past, history_here(page, name, &history)));
		put(out, "}\n");
	}
	out->failed |= !lock || !made;
	answer_done(&parser);
	answer_done(&past);
	buffer_done(&text);
	buffer_done(&history);
	return false;
}

/* What all daemons say of it. */
static bool
lock_everywhere(struct page *page, struct buffer *out, struct slice name)
{
	const struct context *context = page->context;
	const struct command inspect = {.verb = VERB_INSPECT, .name = name, .fleet = true},
			     history = {.verb = VERB_HISTORY,
				     .name = name,
				     .count = OVERVIEW_HOLDS,
				     .fleet = true};
	struct answer_parser parser = {0}, past = {0};
	int64_t age_ms, past_ms;
	struct slice lock = fleet_page(context->fleet, &inspect, clock_ms(), &age_ms);
	struct slice holds = fleet_page(context->fleet, &history, clock_ms(), &past_ms);
	const struct answer *both = parse(&past, holds);
	bool good = both && both->type == ANSWER_ARRAY && both->count == 2;
	put(out, "{");
	put_age(out, true, age_ms);
	put_member(out, "lock", parse(&parser, lock));
	put_member(out, "history", good ? &both->items[0] : NULL);
	put(out, "}\n");
	answer_done(&parser);
	answer_done(&past);
	return false;
}

bool
overview_lock(struct page *page, struct buffer *out)
{
	const struct slice name = {page->name, page->name_n};
	if (name.n == 0) {
		return refuse(page, out, 400, "{\"error\":\"name= is missing\"}\n");
	}
	if (!viewer_names(page->viewer, name)) {
		return refuse(
			page, out, 403, "{\"error\":\"names: of your user has no glob for this name\"}\n");
	}
	if (!page->everywhere) {
		return lock_here(page, out, name);
	}
	if (!viewer_sees_fleet(page->viewer)) {
		return refuse(page, out, 403,
			"{\"error\":\"all hosts are for administrators, for users with see in may: and "
			"without "
			"names:, and for addresses with fleet: yes\"}\n");
	}
	return lock_everywhere(page, out, name);
}
