/*
 * escape: see the header. Called for error texts, log lines, events and by the client's terminal output;
 * never allocates, never fails.
 */
#include "proto/escape.h"

#include "proto/number.h"
#include "proto/utf8.h"

#include <assert.h>

/* The length of a printable character: ASCII, or UTF-8 of any plane; else 0. */
size_t
escape_printable(const char *p, size_t n)
{
	uint32_t c;
	size_t length = utf8_next(p, n, &c);

	if (length == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0))
		return 0;
	/* Line and paragraph separators, and marks that change the direction of text. */
	if ((c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f ||
		c == 0x061c)
		return 0;
	return length;
}

static size_t
escape_byte(char *out, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	static const char from[] = "\n\r\t\\\"";
	static const char to[] = "nrt\\\"";
	const char *found = byte == 0 ? NULL : memchr(from, byte, sizeof(from) - 1);

	out[0] = '\\';
	if (found != NULL) {
		out[1] = to[found - from];
		return 2;
	}
	out[1] = 'x';
	out[2] = hex[byte >> 4];
	out[3] = hex[byte & 15];
	return 4;
}

/* One step: sets *from and *length to the output for the first characters of text, and returns how many bytes
 * of text these are. escaped has room for ESCAPE_BYTE_MAX bytes. */
static size_t
escape_step(struct slice text, enum escape_style style, char *escaped, const char **from, size_t *length)
{
	size_t step = escape_printable(text.p, text.n);
	bool special = style == ESCAPE_QUOTED && (text.p[0] == '"' || text.p[0] == '\\');

	if (step > 0 && !special) {
		*from = text.p;
		*length = step;
		return step;
	}
	*from = escaped;
	*length = escape_byte(escaped, (unsigned char)text.p[0]);
	return 1;
}

size_t
escape_text(char *out, size_t room, struct slice text, enum escape_style style)
{
	char escaped[ESCAPE_BYTE_MAX];
	size_t n = 0;

	assert(room > 0);
	for (size_t i = 0; i < text.n;) {
		struct slice rest = {text.p + i, text.n - i};
		const char *from;
		size_t length;

		i += escape_step(rest, style, escaped, &from, &length);
		if (length >= room - n)
			break;
		memcpy(out + n, from, length);
		n += length;
	}
	out[n] = '\0';
	return n;
}

size_t
escape_length(struct slice text, enum escape_style style)
{
	char escaped[ESCAPE_BYTE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < text.n;) {
		struct slice rest = {text.p + i, text.n - i};
		const char *from;
		size_t length;

		i += escape_step(rest, style, escaped, &from, &length);
		n += length;
	}
	return n;
}

/* Reads the escape after the backslash at p; returns its length, 0: not an escape. */
static size_t
undo_one(const char *p, size_t n, char *out)
{
	static const char from[] = "nrt\\\"";
	static const char to[] = "\n\r\t\\\"";
	const char *found;

	if (n >= 3 && p[0] == 'x' && number_hex(p[1]) >= 0 && number_hex(p[2]) >= 0) {
		*out = (char)(number_hex(p[1]) << 4 | number_hex(p[2]));
		return 3;
	}
	found = n == 0 ? NULL : memchr(from, p[0], sizeof(from) - 1);
	if (found == NULL)
		return 0;
	*out = to[found - from];
	return 1;
}

ptrdiff_t
escape_undo(char *out, struct slice text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];

		if (c == '"')
			return -1;
		if (c == '\\') {
			size_t took = undo_one(text.p + i + 1, text.n - i - 1, &c);

			if (took == 0)
				return -1;
			i += took;
		}
		out[n++] = c;
	}
	return (ptrdiff_t)n;
}

bool
escape_needed(struct slice text)
{
	if (text.n == 0)
		return true;
	for (size_t i = 0; i < text.n;) {
		size_t step = escape_printable(text.p + i, text.n - i);

		if (step == 0 || text.p[i] == ' ' || text.p[i] == '=' || text.p[i] == '"' ||
			text.p[i] == '\\')
			return true;
		i += step;
	}
	return false;
}
