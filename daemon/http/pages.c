/*
 * pages: which page is at a path. One table lists them.
 */
#include "daemon/http/pages.h"

#include "daemon/admin/health.h"
#include "daemon/base/clock.h"
#include "daemon/base/memory.h"
#include "daemon/core/view.h"
#include "daemon/http/contents.h"
#include "daemon/http/metrics.h"
#include "daemon/http/page.h"

#include <string.h>

#define TYPE_TEXT        "text/plain; charset=utf-8"
#define TYPE_HTML        "text/html; charset=utf-8"
#define TYPE_EVENTS      "text/event-stream"
#define TYPE_JSON        "application/json"
#define TYPE_PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

static void
put_text(struct buffer *out, const char *text)
{
	buffer_put(out, text, strlen(text));
}

static bool
piece_metrics(struct page *page, struct buffer *out)
{
	page->type = page->openmetrics ? TYPE_OPENMETRICS : TYPE_PROMETHEUS;
	metrics_write(page->context, page->named, out, page->openmetrics);
	return false;
}

/* The daemon answers, so it lives. What is wrong is named all the same. */
static bool
piece_healthz(struct page *page, struct buffer *out)
{
	char health[HEALTH_TEXT_MAX];
	health_text(page->context, clock_ms(), health);
	put_text(out, "alive");
	put_text(out, health[0] != '\0' ? ": " : "");
	put_text(out, health);
	put_text(out, "\n");
	return false;
}

static bool
piece_readyz(struct page *page, struct buffer *out)
{
	struct service_view service;
	char health[HEALTH_TEXT_MAX];
	core_view_service(page->context->core, &service);
	if (core_draining(page->context->core)) {
		page->status = 503;
		put_text(out, "draining: this daemon is ending, and takes no new locks\n");
	} else if (page->context->memory->full) {
		page->status = 503;
		put_text(out, "limits.memory is reached: no new locks\n");
	} else {
		page->status = service.available ? 200 : 503;
		put_text(out, service.available ? "ready" : "no new locks");
		health_text(page->context, clock_ms(), health);
		put_text(out, health[0] != '\0' ? ": " : "");
		put_text(out, health);
		put_text(out, "\n");
	}
	return false;
}

static const struct page_kind kinds[] = {
	{"/metrics", TYPE_PROMETHEUS, piece_metrics, false, false, false},
	{"/healthz", TYPE_TEXT, piece_healthz, false, false, true},
	{"/readyz", TYPE_TEXT, piece_readyz, false, false, true},
	{"/", TYPE_HTML, status_page, true, false, false},
	{"/events", TYPE_EVENTS, status_events, true, true, false},
	{"/lock.json", TYPE_JSON, overview_lock, true, false, false},
	{"/top.json", TYPE_JSON, overview_top, true, false, false},
	{"/hour.json", TYPE_JSON, overview_hour, true, false, false},
	{"/locks.json", TYPE_JSON, lists_locks, true, false, false},
	{"/sessions.json", TYPE_JSON, lists_sessions, true, false, false},
};

const struct page_kind *
pages_find(struct slice path)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (slice_equal(path, slice_of(kinds[i].path))) {
			return &kinds[i];
		}
	}
	return NULL;
}
