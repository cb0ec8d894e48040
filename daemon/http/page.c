/*
 * page: see page.h.
 */
#include "daemon/http/page.h"

#include "proto/name.h"

#include <string.h>

/* -1: not a hexadecimal digit. */
static int
digit_value(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c != '\0' ? strchr(digits, c) : NULL;
	ptrdiff_t value = at ? at - digits : -1;
	return (int)(value > 15 ? value - 6 : value);
}

/* Decodes %XX and + of a query. -1: it is malformed, or too long. */
static ptrdiff_t
value_decode(char out[GLOB_BYTES_MAX], struct slice value)
{
	size_t n = 0;
	for (size_t i = 0; i < value.n; i++, n++) {
		if (n == GLOB_BYTES_MAX) {
			return -1;
		}
		if (value.p[i] != '%') {
			out[n] = value.p[i] == '+' ? ' ' : value.p[i];
			continue;
		}
		int high = i + 2 < value.n ? digit_value(value.p[i + 1]) : -1;
		int low = high >= 0 ? digit_value(value.p[i + 2]) : -1;
		if (low < 0) {
			return -1;
		}
		out[n] = (char)(high * 16 + low);
		i += 2;
	}
	return (ptrdiff_t)n;
}

/* Why match= cannot be used; NULL: it can. */
static const char *
page_match(struct page *page, struct slice value)
{
	char text[GLOB_BYTES_MAX];
	ptrdiff_t n = value_decode(text, value);
	if (n < 0) {
		return "match= has a % that two hexadecimal digits do not follow, or is too long\n";
	}
	if (n == 0) {
		return NULL;
	}
	page->match = glob_new((struct slice){text, (size_t)n});
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
		return "name= has a % that two hexadecimal digits do not follow, or is too long\n";
	}
	page->waited = http_request_value(request, "waiting").n > 0;
	return page_match(page, http_request_value(request, "match"));
}

void
page_done(struct page *page)
{
	glob_free(page->match);
	page->match = NULL;
}
