/*
 * lists: see contents.h. A piece is a page of LOCKS or SESSIONS: so the lists have the fields of these
 * answers, and what is true for the pages of those is true here: a lock that is there all the time is in the
 * list exactly once.
 */
#include "daemon/http/contents.h"

#include "daemon/admin/admin.h"
#include "daemon/base/clock.h"
#include "daemon/net/access.h"

#include <string.h>

/* So many make a piece of half a millisecond, with cold caches. */
#define LISTS_LOOKS 80

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
		.most = LISTS_LOOKS,
		.looks = LISTS_LOOKS,
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

bool
lists_each_lock(struct page *page, struct buffer *out, lists_element *element)
{
	return list_next(page, out, false, element);
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
	bool more = list_next(page, out, sessions, json_element);
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

bool
lists_lock(struct page *page, struct buffer *out)
{
	const struct answer_limits limits = {.bytes = PAGE_PIECE_MAX, .elements = 65536};
	struct answer_parser parser = {0};
	const struct answer *answer;
	const char *fault;
	static const char missing[] = "{\"error\":\"name= is missing\"}\n";
	static const char hidden[] = "{\"error\":\"names: of your user has no glob for this name\"}\n";
	struct buffer text;
	if (page->name_n == 0) {
		page->status = 400;
		buffer_put(out, missing, sizeof missing - 1);
		return false;
	}
	if (!viewer_names(page->viewer, (struct slice){page->name, page->name_n})) {
		page->status = 403;
		buffer_put(out, hidden, sizeof hidden - 1);
		return false;
	}
	buffer_init(&text, PAGE_PIECE_MAX / 4);
	bool made = report_name(page->context, (struct slice){page->name, page->name_n}, &text) &&
		    answer_parse(
			    &parser, buffer_bytes(&text), buffer_length(&text), &limits, &answer, &fault) > 0;
	if (made) {
		json_put_answer(out, answer, clock_wall_us());
		buffer_put(out, "\n", 1);
	}
	out->failed |= !made;
	answer_done(&parser);
	buffer_done(&text);
	return false;
}
