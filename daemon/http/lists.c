/*
 * lists: what LOCKS and SESSIONS answer, as JSON. A piece is a page of LOCKS or SESSIONS: so the lists have
 * the fields of these answers, and what is true for the pages of those is true here: a lock that is there all
 * the time is in the list exactly once.
 */
#include "daemon/http/lists.h"

#include "daemon/admin/ranked.h"
#include "daemon/admin/report.h"
#include "daemon/base/clock.h"
#include "daemon/http/contents.h"
#include "daemon/net/access.h"
#include "proto/json.h"

#include <string.h>

/* A list in order is of the locks that were seen in this time, ms: a client waits for it, and the daemon
 * works. */
#define LISTS_SEARCH_MS 5000

/* So many make a piece of half a millisecond, with cold caches. */
#define LISTS_BUDGET 80

/* Reads elements of RESP3, and writes each. False: that failed; out says so. */
static bool
elements_write(struct page *page, const struct buffer *elements, size_t count, struct buffer *out,
	lists_element *element)
{
	const struct answer_limits limits = {.bytes = PAGE_PIECE_MAX, .elements = 4096};
	struct answer_parser parser = {0};
	const char *at = buffer_bytes(elements), *fault = NULL;
	size_t left = buffer_length(elements);
	const struct answer *answer;
	while (count > 0 && page->count < page->most) {
		ssize_t n = answer_parse(&parser, at, left, &limits, &answer, &fault);
		if (n <= 0) {
			break; /* out of memory */
		}
		element(out, answer, page->count == 0);
		page->count++;
		at += n;
		left -= (size_t)n;
		count--;
	}
	answer_done(&parser);
	return count == 0 || page->count == page->most;
}

static bool
list_next(struct page *page, struct buffer *out, bool sessions, lists_element *element)
{
	const struct report_request request = {
		.sessions = sessions,
		.match = page->match,
		.waited = page->waited,
		.most = LISTS_BUDGET,
		.budget = LISTS_BUDGET,
		.viewer = page->viewer,
	};
	struct buffer elements;
	size_t count = 0;
	buffer_init(&elements, PAGE_PIECE_MAX / 2);
	page->cursor = report_page(page->context, &request, page->cursor, &elements, &count);
	out->failed |= elements.failed || !elements_write(page, &elements, count, out, element);
	buffer_done(&elements);
	return page->cursor != 0 && page->count < page->most && !out->failed;
}

/* Adds each element of RESP3 that is among the first ones. False: no memory. */
static bool
elements_rank(struct page *page, const struct buffer *elements, size_t count, int64_t now_ms,
	lists_element *element)
{
	const struct answer_limits limits = {.bytes = PAGE_PIECE_MAX, .elements = 4096};
	struct answer_parser parser = {0};
	const char *at = buffer_bytes(elements), *fault = NULL;
	size_t left = buffer_length(elements);
	const struct answer *map;
	struct buffer text;
	bool added = true;
	buffer_init(&text, PAGE_PIECE_MAX);
	for (ssize_t n = 0; added && count > 0; count--, at += n, left -= (size_t)n) {
		n = answer_parse(&parser, at, left, &limits, &map, &fault);
		if (n <= 0) {
			break; /* out of memory */
		}
		int64_t longest_ms = answer_get_int(map, "longest_wait_ms", 0);
		bool held = answer_get_int(map, "token", 0) != 0;
		struct rank rank = {longest_ms > 0 ? now_ms - longest_ms : INT64_MAX,
			held ? now_ms - answer_get_int(map, "held_ms", 0) : INT64_MAX};
		buffer_consume(&text, buffer_length(&text));
		element(&text, map, true);
		added = !text.failed && ranked_add(page->ranked, &rank,
						(struct slice){buffer_bytes(&text), buffer_length(&text)});
	}
	buffer_done(&text);
	answer_done(&parser);
	return added && count == 0;
}

/* The first locks of all: a piece goes through some more, or writes some of those that are the first. */
static bool
list_ranked(struct page *page, struct buffer *out, lists_element *element, const char *between)
{
	int64_t now_ms = clock_ms();
	const struct rank *last = ranked_last(page->ranked);
	const struct report_request request = {
		.match = page->match,
		.waited = page->waited,
		.few = last != NULL,
		.longest_ms = last && last->waits_ms != INT64_MAX ? now_ms - last->waits_ms : 0,
		.held_ms = last && last->held_ms != INT64_MAX ? now_ms - last->held_ms : -1,
		.most = LISTS_BUDGET,
		.budget = LISTS_BUDGET,
		.viewer = page->viewer,
	};
	struct slice text = {0};
	if (ranked_closed(page->ranked)) {
		while (buffer_length(out) < PAGE_PIECE_BYTES && (text = ranked_next(page->ranked)).n > 0) {
			buffer_put(out, between, page->count++ > 0 ? strlen(between) : 0);
			buffer_put(out, text.p, text.n);
		}
		return text.n > 0 && !out->failed;
	}
	struct buffer elements;
	size_t count = 0;
	buffer_init(&elements, PAGE_PIECE_MAX / 2);
	page->cursor = report_page(page->context, &request, page->cursor, &elements, &count);
	out->failed |= elements.failed || !elements_rank(page, &elements, count, now_ms, element);
	buffer_done(&elements);
	if (page->cursor == 0 || now_ms - page->begun_ms > LISTS_SEARCH_MS) {
		ranked_close(page->ranked);
	}
	return !out->failed;
}

bool
lists_each_lock(struct page *page, struct buffer *out, lists_element *element)
{
	return page->ranked ? list_ranked(page, out, element, "") : list_next(page, out, false, element);
}

static void
json_element(struct buffer *out, const struct answer *map, bool first)
{
	buffer_put(out, first ? "\n" : ",\n", first ? 1 : 2);
	json_put_answer(out, map, clock_wall_us());
}

static bool
list_json(struct page *page, struct buffer *out, bool sessions)
{
	if (page->step++ == 0) {
		buffer_put(out, "[", 1);
	}
	bool more = page->ranked && !sessions ? list_ranked(page, out, json_element, ",")
					      : list_next(page, out, sessions, json_element);
	if (!more) {
		buffer_put(out, "\n]\n", 3);
	}
	return more;
}

bool
lists_locks(struct page *page, struct buffer *out)
{
	return list_json(page, out, false);
}

bool
lists_sessions(struct page *page, struct buffer *out)
{
	return list_json(page, out, true);
}
