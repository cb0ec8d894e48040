/*
 * request: scans the bytes and fills struct request; if a request arrives in pieces, once it is complete.
 *
 *     bytes ──▶ scan: is it complete, and where ──▶ fill: where do its ──▶ struct request
 *               does it end? (request_parser            arguments lie?
 *               remembers how far it came)              (cannot fail)
 *
 * Called for every connection with something to read. It never allocates or logs. If a request arrives in
 * small pieces, it reads each byte once, except for header lines, which are short.
 */
#include "proto/request.h"

#include "proto/escape.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * An inline line is read twice: the first pass counts arguments and finds errors, the second pass writes and
 * cannot fail. Unescaping never lengthens an argument, so it is written in place.
 *
 * Arguments are separated by blanks. "..." may contain \n \r \t \b \a \xHH and \ before anything else; '...'
 * knows only \'. A closing quote ends the argument: a blank or the end of the line must follow.
 */

/* Reads at `at`, writes at `to` unless that is NULL. */
struct reader {
	const char *at;
	const char *end;
	char *to;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void
put(struct reader *r, char c)
{
	if (r->to != NULL)
		*r->to++ = c;
}

/* The value of \c inside "...". */
static char
undo_letter(char c)
{
	static const char from[] = "nrtba";
	static const char to[] = "\n\r\t\b\a";
	const char *found = c == '\0' ? NULL : strchr(from, c);

	return found == NULL ? c : to[found - from];
}

/* Reads a backslash inside "..." and its escape, which has at least one byte. */
static void
read_escape(struct reader *r)
{
	if (r->end - r->at >= 4 && r->at[1] == 'x' && number_hex(r->at[2]) >= 0 &&
		number_hex(r->at[3]) >= 0) {
		char c = (char)(number_hex(r->at[2]) << 4 | number_hex(r->at[3]));

		r->at += 4;
		put(r, c);
		return;
	}
	put(r, undo_letter(r->at[1]));
	r->at += 2;
}

/* Reads a quoted argument. False: no closing quote, or no blank after it. */
static bool
read_quoted(struct reader *r)
{
	char quote = *r->at++;

	while (r->at < r->end && *r->at != quote) {
		bool escape = *r->at == '\\' && r->at + 1 < r->end;

		if (escape && quote == '"') {
			read_escape(r);
		} else if (escape && r->at[1] == '\'') {
			put(r, '\'');
			r->at += 2;
		} else {
			put(r, *r->at++);
		}
	}
	if (r->at == r->end)
		return false;
	r->at++;
	return r->at == r->end || is_blank(*r->at);
}

/* Reads one argument; the reader is at its first character. */
static bool
read_argument(struct reader *r)
{
	while (r->at < r->end && !is_blank(*r->at)) {
		if (*r->at == '"' || *r->at == '\'')
			return read_quoted(r);
		put(r, *r->at++);
	}
	return true;
}

static void
skip_blanks(struct reader *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

/* The number of arguments of a line (without its LF; a CR at the end is a blank); -1: a quote is not closed,
 * or is followed by another character. */
static ssize_t
inline_count(const char *line, size_t n)
{
	struct reader r = {line, line + n, NULL};
	ssize_t count = 0;

	for (skip_blanks(&r); r.at < r.end; skip_blanks(&r)) {
		if (!read_argument(&r))
			return -1;
		count++;
	}
	return count;
}

/* Fills argv, which has room for inline_count() slices. They point into line, where quotes and escapes are
 * undone in place. */
static void
inline_split(char *line, size_t n, struct slice *argv)
{
	struct reader r = {line, line + n, NULL};
	size_t count = 0;

	for (skip_blanks(&r); r.at < r.end; skip_blanks(&r)) {
		char *start = line + (r.at - line);
		bool whole;

		r.to = start;
		whole = read_argument(&r);
		assert(whole);
		argv[count++] = (struct slice){start, (size_t)(r.to - start)};
	}
}

enum header { HEADER_WHOLE, HEADER_PART, HEADER_BAD };

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a header of one or two digits, as nearly all are. False: it may have another form. */
static bool
read_short(const char *p, size_t n, int64_t *value, size_t *length)
{
	if (n < 5 || !is_digit(p[1]))
		return false;
	if (p[2] == '\r' && p[3] == '\n') {
		*value = p[1] - '0';
		*length = 4;
		return true;
	}
	if (p[1] == '0' || !is_digit(p[2]) || p[3] != '\r' || p[4] != '\n')
		return false;
	*value = (p[1] - '0') * 10 + (p[2] - '0');
	*length = 5;
	return true;
}

/* Reads any other header, which may be incomplete or malformed. */
static enum header
read_long(const char *data, size_t n, size_t at, int64_t *value, size_t *next)
{
	size_t most = n - at < REQUEST_HEADER_MAX ? n - at : REQUEST_HEADER_MAX;
	const char *end = memchr(data + at, '\r', most);
	struct slice digits;

	if (end == NULL)
		return most < REQUEST_HEADER_MAX ? HEADER_PART : HEADER_BAD;
	if ((size_t)(end - data) + 1 >= n)
		return HEADER_PART;
	digits = (struct slice){data + at + 1, (size_t)(end - data) - at - 1};
	if (end[1] != '\n' || !number_parse(digits, INT64_MIN, INT64_MAX, value))
		return HEADER_BAD;
	*next = (size_t)(end - data) + 2;
	return HEADER_WHOLE;
}

/* A header line at data[at], whose type byte is known. *next: the position after its CRLF. */
static inline enum header
read_header(const char *data, size_t n, size_t at, int64_t *value, size_t *next)
{
	size_t length;

	if (!read_short(data + at, n - at, value, &length))
		return read_long(data, n, at, value, next);
	*next = at + length;
	return HEADER_WHOLE;
}

static int
refuse_size(const struct request_limits *limits, struct reply *error)
{
	reply_error(
		error, CODE_ERR, "Protocol error: too big a request, the limit is %zu bytes", limits->bytes);
	return -1;
}

/* Reads `*n`. 1: read, 0: more bytes are needed, -1: refused. */
static int
scan_count(struct request_parser *parser, const char *data, size_t n, const struct request_limits *limits,
	struct reply *error)
{
	int64_t count;
	size_t next;
	enum header header = read_header(data, n, 0, &count, &next);

	if (header == HEADER_PART)
		return 0;
	if (header == HEADER_BAD) {
		reply_error(error, CODE_ERR, "Protocol error: invalid multibulk length");
		return -1;
	}
	if (count > (int64_t)limits->arguments) {
		reply_error(error, CODE_ERR,
			"Protocol error: invalid multibulk length, the limit is %zu arguments",
			limits->arguments);
		return -1;
	}
	parser->seen = next;
	parser->missing = count > 0 ? (size_t)count : 0;
	return 1;
}

static int
refuse_type(char got, struct reply *error)
{
	char text[ESCAPE_BYTE_MAX + 1];

	(void)escape_text(text, sizeof(text), (struct slice){&got, 1}, ESCAPE_PLAIN);
	reply_error(error, CODE_ERR, "Protocol error: expected '$', got '%s'", text);
	return -1;
}

/* Reads one bulk string from parser->seen on into *argument, which is valid as long as data is. 1: read, 0:
 * more bytes are needed, -1: refused. */
static int
scan_bulk(struct request_parser *parser, const char *data, size_t n, const struct request_limits *limits,
	struct slice *argument, struct reply *error)
{
	int64_t length;
	size_t next;
	enum header header;

	if (parser->seen >= n)
		return 0;
	if (data[parser->seen] != '$')
		return refuse_type(data[parser->seen], error);
	header = read_header(data, n, parser->seen, &length, &next);
	if (header == HEADER_PART)
		return 0;
	if (header == HEADER_BAD || length < 0) {
		reply_error(error, CODE_ERR, "Protocol error: invalid bulk length");
		return -1;
	}
	if (next > limits->bytes || length > (int64_t)(limits->bytes - next) - 2)
		return refuse_size(limits, error);
	if (n - next < (size_t)length + 2)
		return 0;
	if (data[next + (size_t)length] != '\r' || data[next + (size_t)length + 1] != '\n') {
		reply_error(error, CODE_ERR,
			"Protocol error: a bulk string of %lld bytes does not end in CRLF",
			(long long)length);
		return -1;
	}
	*argument = (struct slice){data + next, (size_t)length};
	parser->seen = next + (size_t)length + 2;
	parser->missing--;
	return 1;
}

/* Fills the arguments of an array that was scanned in pieces: every header is known to be well-formed. */
static void
fill_array(const char *data, size_t n, struct request *out)
{
	int64_t count;
	size_t at;
	enum header header = read_header(data, n, 0, &count, &at);

	assert(header == HEADER_WHOLE);
	out->argc = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < out->argc; i++) {
		int64_t length;

		header = read_header(data, n, at, &length, &at);
		assert(header == HEADER_WHOLE);
		out->argv[i] = (struct slice){data + at, (size_t)length};
		at += (size_t)length + 2;
	}
}

static ssize_t
parse_array(struct request_parser *parser, const char *data, size_t n, const struct request_limits *limits,
	struct request *out, struct reply *error)
{
	bool whole = parser->seen ==
		     0; /* scanned in one piece so far, so that the arguments are at their final place */
	ssize_t consumed;
	size_t argc = 0;

	if (whole) {
		int got = scan_count(parser, data, n, limits, error);

		if (got <= 0)
			return got;
	}
	while (parser->missing > 0) {
		struct slice argument;
		int got = scan_bulk(parser, data, n, limits, &argument, error);

		if (got <= 0)
			return got;
		if (whole)
			out->argv[argc++] = argument;
	}
	out->line = false;
	out->argc = argc;
	if (!whole)
		fill_array(data, n, out);
	consumed = (ssize_t)parser->seen;
	*parser = (struct request_parser){0};
	return consumed;
}

static ssize_t
parse_line(struct request_parser *parser, char *data, size_t n, const struct request_limits *limits,
	struct request *out, struct reply *error)
{
	size_t most = n < limits->bytes ? n : limits->bytes;
	char *end;
	size_t length;
	ssize_t argc;

	/* A reload may have lowered the limit in the middle of a line. */
	if (parser->seen > most)
		return refuse_size(limits, error);
	end = memchr(data + parser->seen, '\n', most - parser->seen);
	if (end == NULL) {
		parser->seen = most;
		return most < limits->bytes ? 0 : refuse_size(limits, error);
	}
	length = (size_t)(end - data);
	argc = inline_count(data, length);
	if (argc < 0) {
		reply_error(error, CODE_ERR, "Protocol error: unbalanced quotes in request");
		return -1;
	}
	if ((size_t)argc > limits->arguments) {
		reply_error(error, CODE_ERR, "Protocol error: too many arguments, the limit is %zu",
			limits->arguments);
		return -1;
	}
	inline_split(data, length, out->argv);
	out->line = true;
	out->argc = (size_t)argc;
	*parser = (struct request_parser){0};
	return (ssize_t)length + 1;
}

ssize_t
request_parse(struct request_parser *parser, char *data, size_t n, const struct request_limits *limits,
	struct request *out, struct reply *error)
{
	assert(limits->bytes <= REQUEST_BYTES_MAX && limits->arguments <= REQUEST_ARGUMENTS_MAX);
	assert(parser->seen <= n);
	if (n == 0)
		return 0;
	if (data[0] == '*')
		return parse_array(parser, data, n, limits, out, error);
	return parse_line(parser, data, n, limits, out, error);
}
