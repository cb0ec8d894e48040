/*
 * request: see page.h. It does no I/O.
 */
#include "daemon/http/page.h"

#include <string.h>
#include <strings.h>

static bool
refuse(struct http_request *request, unsigned status, const char *why)
{
	request->status = status;
	request->why = why;
	return true;
}

/* Takes the next line off the text, without its line end. False: there is no whole line. */
static bool
line_take(struct slice *text, struct slice *line)
{
	const char *end = text->n > 0 ? memchr(text->p, '\n', text->n) : NULL;
	if (!end) {
		return false;
	}
	size_t n = (size_t)(end - text->p);
	*line = (struct slice){text->p, n > 0 && end[-1] == '\r' ? n - 1 : n};
	text->p += n + 1;
	text->n -= n + 1;
	return true;
}

/* Takes what is in front of the first such byte, and that byte, off the text. False: there is no such byte.
 */
static bool
part_take(struct slice *text, char end, struct slice *part)
{
	const char *at = text->n > 0 ? memchr(text->p, end, text->n) : NULL;
	if (!at) {
		return false;
	}
	*part = (struct slice){text->p, (size_t)(at - text->p)};
	text->p = at + 1;
	text->n -= part->n + 1;
	return true;
}

static bool
text_is(struct slice text, const char *word)
{
	return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

static bool
has_controls(struct slice line)
{
	for (size_t i = 0; i < line.n; i++) {
		unsigned char byte = (unsigned char)line.p[i];
		if ((byte < ' ' && byte != '\t') || byte == 127) {
			return true;
		}
	}
	return false;
}

/* The request line. True: the request is refused. */
static bool
first_read(struct http_request *request, struct slice line)
{
	struct slice method, target;
	if (has_controls(line) || !part_take(&line, ' ', &method) || !part_take(&line, ' ', &target) ||
		(!text_is(line, "HTTP/1.1") && !text_is(line, "HTTP/1.0"))) {
		return refuse(request, 400, "this is HTTP/1.1; locks are taken at another address\n");
	}
	request->minor = line.p[line.n - 1] == '1';
	request->head = text_is(method, "HEAD");
	if (!request->head && !text_is(method, "GET")) {
		return refuse(request, 405, "everything here is read with GET or HEAD\n");
	}
	if (target.n == 0 || target.p[0] != '/') {
		return refuse(request, 400, "the target of the request is no path\n");
	}
	request->path = target;
	if (part_take(&target, '?', &request->path)) {
		request->query = target;
	}
	return false;
}

static struct slice
blanks_off(struct slice text)
{
	while (text.n > 0 && (text.p[0] == ' ' || text.p[0] == '\t')) {
		text.p++;
		text.n--;
	}
	while (text.n > 0 && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t')) {
		text.n--;
	}
	return text;
}

/* A page of another site can make a browser ask this address by a name of its own, and read the answer as its
 * own. It cannot make it ask by the address. */
static bool
host_is_address(struct slice host)
{
	const char *colon = host.n > 0 ? memchr(host.p, ':', host.n) : NULL;
	if (host.n > 0 && host.p[0] == '[') {
		return true;
	}
	size_t n = colon ? (size_t)(colon - host.p) : host.n;
	for (size_t i = 0; i < n; i++) {
		if (!strchr("0123456789.", host.p[i])) {
			return text_is((struct slice){host.p, n}, "localhost");
		}
	}
	return true;
}

/* True: the request is refused. */
static bool
header_read(struct http_request *request, struct slice line)
{
	struct slice name;
	if (has_controls(line) || !part_take(&line, ':', &name)) {
		return refuse(request, 400, "a header of the request makes no sense\n");
	}
	if (text_is(name, "accept")) {
		request->accept = blanks_off(line);
	} else if (text_is(name, "host")) {
		request->by_address = host_is_address(blanks_off(line));
	}
	return false;
}

bool
http_request_read(struct http_request *request, struct slice bytes, bool all)
{
	struct slice line;
	*request = (struct http_request){.status = 200, .by_address = true};
	if (line_take(&bytes, &line)) {
		if (first_read(request, line)) {
			return true;
		}
		while (line_take(&bytes, &line)) {
			if (line.n == 0 || header_read(request, line)) {
				return true;
			}
		}
	}
	return all && refuse(request, 431, "the request has more than 8192 bytes of headers\n");
}

struct slice
http_request_value(const struct http_request *request, const char *key)
{
	struct slice query = request->query, pair, name;
	while (query.n > 0) {
		if (!part_take(&query, '&', &pair)) {
			pair = query;
			query.n = 0;
		}
		if (part_take(&pair, '=', &name) && text_is(name, key)) {
			return pair;
		}
	}
	return (struct slice){NULL, 0};
}
