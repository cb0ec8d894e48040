/*
 * status: the status page, and the events that renew it.
 */
#include "daemon/http/status.h"

#include "daemon/admin/ranked.h"
#include "daemon/http/contents.h"
#include "daemon/http/html.h"
#include "daemon/http/lists.h"
#include "daemon/http/recent.h"
#include "daemon/http/state.h"
#include "daemon/request/context.h"
#include "proto/json.h"

#include <string.h>
#include <time.h>

/* A number of what may be missing: then the cell is empty. */
static void
put_cell_if(struct buffer *out, const char *label, bool there, int64_t n)
{
	if (there) {
		html_put_cell_number(out, label, n);
	} else {
		html_put_cell(out, label, SLICE(""));
	}
}

/* Names of columns are as the script has them. */
static void
lock_row(struct buffer *out, const struct answer *map, bool first)
{
	int64_t pid = answer_get_int(map, "pid", 0), longest_ms = answer_get_int(map, "longest_wait_ms", 0);
	(void)first;
	html_put(out, "<tr>");
	html_put_cell(out, "name", answer_get_text(map, "name"));
	html_put(out, "<td class=\"host\"></td>");
	html_put_cell(out, "state", answer_get_text(map, "state"));
	html_put_cell(out, "kind", answer_get_text(map, "kind"));
	put_cell_if(out, "held s", answer_get_int(map, "token", 0) != 0,
		answer_get_int(map, "held_ms", 0) / 1000);
	html_put_cell(out, "client", answer_get_text(map, "client"));
	put_cell_if(out, "pid", pid > 0, pid);
	html_put_cell(out, "address", answer_get_text(map, "address"));
	html_put_cell_number(out, "waiting", answer_get_int(map, "waiters", 0));
	put_cell_if(out, "longest s", longest_ms > 0, longest_ms / 1000);
	html_put_cell(out, "why", answer_get_text(map, "why"));
	html_put(out, "</tr>\n");
}

/* The time of a note, which is in front of its level at the end, is written in front of it, in UTC. */
static void
put_note(struct buffer *out, struct slice line)
{
	static const char key[] = " at_ms=";
	const char *level = memrchr(line.p, ' ', line.n);
	const char *at = level ? memrchr(line.p, ' ', (size_t)(level - line.p)) : NULL;
	char text[32];
	struct tm tm;
	int64_t ms;
	/* A page only reads: a line of another form is shown as it is. */
	if (at == NULL || level - at <= (ptrdiff_t)sizeof key - 1 || memcmp(at, key, sizeof key - 1) != 0) {
		html_put_text(out, line);
		return;
	}
	const char *digits = at + sizeof key - 1;
	if (number_parse((struct slice){digits, (size_t)(level - digits)}, 0, INT64_MAX, &ms)) {
		time_t s = (time_t)(ms / 1000);
		if (gmtime_r(&s, &tm) && strftime(text, sizeof text, "%H:%M:%SZ ", &tm) > 0) {
			html_put(out, text);
		}
	}
	html_put_text(out, (struct slice){line.p, (size_t)(at - line.p)});
}

static void
put_recent(const struct page *page, struct buffer *out)
{
	for (size_t i = 0; i < page->recent->count; i++) {
		struct slice line = slice_of(recent_line(page->recent, i));
		if (!recent_is_for(line, page->viewer)) {
			continue;
		}
		html_put(out, "<li>");
		put_note(out, line);
		html_put(out, "</li>\n");
	}
}

bool
status_page(struct page *page, struct buffer *out)
{
	if (page->step++ == 0) {
		page->most = STATUS_LOCKS;
		ranked_free(page->ranked);
		page->ranked = ranked_new(STATUS_LOCKS);
		out->failed |= !page->ranked;
		html_put(out, status_parts[0]);
		state_put_html(page->context, out);
		html_put(out, status_parts[1]);
		put_recent(page, out);
		html_put(out, status_parts[2]);
		return true;
	}
	if (lists_each_lock(page, out, lock_row)) {
		return true;
	}
	html_put(out, status_parts[3]);
	return false;
}

static void
put_event(struct buffer *out, const char *name, const struct buffer *data)
{
	html_put(out, "event: ");
	html_put(out, name);
	html_put(out, "\ndata: ");
	buffer_put(out, buffer_bytes(data), buffer_length(data));
	html_put(out, "\n\n");
	out->failed |= data->failed;
}

void
status_put_state(const struct context *context, struct buffer *out)
{
	struct buffer data;
	buffer_init(&data, STATUS_EVENT_MAX);
	state_put_json(context, &data);
	put_event(out, "state", &data);
	buffer_done(&data);
}

void
status_put_note(struct buffer *out, struct slice line)
{
	struct buffer data;
	buffer_init(&data, STATUS_EVENT_MAX);
	json_put_line(&data, line);
	put_event(out, "note", &data);
	buffer_done(&data);
}

bool
status_events(struct page *page, struct buffer *out)
{
	html_put(out, "retry: 2000\n\n");
	status_put_state(page->context, out);
	for (size_t i = page->recent->count; i-- > 0;) {
		struct slice line = slice_of(recent_line(page->recent, i));
		if (recent_is_for(line, page->viewer)) {
			status_put_note(out, line);
		}
	}
	return false;
}
