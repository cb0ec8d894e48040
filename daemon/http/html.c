/*
 * html: writes HTML, with every text escaped.
 */
#include "daemon/http/html.h"

#include "daemon/http/contents.h"
#include "proto/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
html_put(struct buffer *out, const char *html)
{
	buffer_put(out, html, strlen(html));
}

/* The HTML for a character that is not written as itself; NULL: it is. */
static const char *
entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void
html_put_text(struct buffer *out, struct slice text)
{
	while (text.n > 0) {
		size_t n = escape_printable(text.p, text.n);
		const char *entity = entity_of(text.p[0]);
		char escape[8];
		if (entity) {
			html_put(out, entity);
		} else if (n > 0) {
			buffer_put(out, text.p, n);
		} else {
			snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(unsigned char)text.p[0]);
			html_put(out, escape);
		}
		n = n > 0 ? n : 1;
		text.p += n;
		text.n -= n;
	}
}

void
html_put_number(struct buffer *out, int64_t n)
{
	char text[32];
	snprintf(text, sizeof text, "%" PRId64, n);
	html_put(out, text);
}

static void
cell_begin(struct buffer *out, const char *label)
{
	html_put(out, "<td data-label=\"");
	html_put(out, label);
	html_put(out, "\">");
}

void
html_put_cell(struct buffer *out, const char *label, struct slice text)
{
	cell_begin(out, label);
	html_put_text(out, text);
	html_put(out, "</td>");
}

void
html_put_cell_number(struct buffer *out, const char *label, int64_t n)
{
	cell_begin(out, label);
	html_put_number(out, n);
	html_put(out, "</td>");
}
