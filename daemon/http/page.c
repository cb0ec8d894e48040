/*
 * page: see page.h.
 */
#include "daemon/http/page.h"

#include "daemon/admin/ranked.h"
#include "daemon/base/clock.h"
#include "daemon/request/context.h"
#include "proto/glob.h"
#include "proto/name.h"

#include <string.h>

/* Decodes %XX and + of a query. -1: it is malformed, or too long. */
static ptrdiff_t
value_decode(char out[GLOB_BYTES_MAX + 1], struct slice value)
{
	char text[3 * GLOB_BYTES_MAX];
	if (value.n > sizeof text) {
		return -1;
	}
	for (size_t i = 0; i < value.n; i++) {
		text[i] = value.p[i];
		if (text[i] == '+') {
			text[i] = ' ';
		}
	}
	return slice_decode(out, GLOB_BYTES_MAX + 1, (struct slice){text, value.n});
}

/* Why match= cannot be used; NULL: it can. */
static const char *
page_match(struct page *page, struct slice value)
{
	char *text = page->match_text;
	ptrdiff_t n = value_decode(text, value);
	if (n < 0) {
		return "match= has a % that two hexadecimal digits do not follow, a NUL, or more than "
		       "512 bytes\n";
	}
	if (n == 0) {
		return NULL;
	}
	const struct slice glob = {text, (size_t)n};
	if (glob_check(glob)) {
		return "match= is no glob: it has a [ without its ], or ends in a backslash\n";
	}
	page->about = glob;
	page->match = glob_new(glob);
	return page->match ? NULL : "no memory for match=: try again later\n";
}

/* False: it is malformed. */
static bool
page_name(struct page *page, struct slice value)
{
	ptrdiff_t n = value_decode(page->name, value);
	page->name_n = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

const char *
page_begin(struct page *page, const struct page_kind *kind, const struct context *context,
	const struct http_request *request)
{
	static const char openmetrics[] = "application/openmetrics-text";
	struct slice count = http_request_value(request, "count");
	int64_t most = INT64_MAX;
	*page = (struct page){
		.kind = kind,
		.context = context,
		.recent = page->recent,
		.named = page->named,
		.viewer = page->viewer,
		.type = kind->type,
		.status = 200,
		.openmetrics = request->accept.n > 0 && memmem(request->accept.p, request->accept.n,
								openmetrics, sizeof openmetrics - 1),
	};
	if (count.n > 0 && !number_parse(count, 1, INT64_MAX, &most)) {
		return "count= is no number above 0\n";
	}
	page->most = (uint64_t)most;
	if (!page_name(page, http_request_value(request, "name"))) {
		return "name= has a % that two hexadecimal digits do not follow, a NUL, or more than "
		       "512 bytes\n";
	}
	page->begun_ms = clock_ms();
	struct slice order = http_request_value(request, "order");
	if (order.n > 0 && !slice_equal(order, SLICE("age"))) {
		return "order= has one value: age\n";
	}
	page->waited = slice_equal(http_request_value(request, "waiting"), SLICE("yes"));
	struct slice hosts = http_request_value(request, "hosts");
	page->here = slice_equal(hosts, SLICE("one"));
	page->everywhere = slice_equal(hosts, SLICE("all"));
	if (hosts.n > 0 && !page->here && !page->everywhere) {
		return "hosts= has two values: one and all\n";
	}
	const char *wrong = page_match(page, http_request_value(request, "match"));
	if (!wrong && order.n > 0) {
		page->ranked = ranked_new(page->most < RANKED_MOST ? (size_t)page->most : RANKED_MOST);
		if (!page->ranked) {
			page_done(page);
			wrong = "no memory for order=: try again later\n";
		}
	}
	return wrong;
}

void
page_done(struct page *page)
{
	glob_free(page->match);
	page->match = NULL;
	ranked_free(page->ranked);
	page->ranked = NULL;
}
