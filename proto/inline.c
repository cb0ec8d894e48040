/*
 * inline: one reader for two passes: the first pass counts arguments and finds errors, the second pass writes
 * and cannot fail. Unescaping never lengthens an argument, so it is written in place.
 */
#include "proto/inline.h"

#include "proto/number.h"

#include <assert.h>
#include <stdbool.h>

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

ssize_t
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

void
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
