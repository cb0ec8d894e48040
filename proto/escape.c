/*
 * escape: decodes a character of UTF-8 (RFC 3629), escapes text, and writes and reads lines of key=value.
 *
 * Called for error texts, log lines, events and by the client's terminal output; never allocates, never
 * fails, never reads beyond the given bytes.
 */
#include "proto/escape.h"

#include <assert.h>

size_t
utf8_next(const char *p, size_t n, uint32_t *character)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char first = (unsigned char)p[0];
	uint32_t c;
	size_t length;

	if (first < 0x80) {
		*character = first;
		return 1;
	}
	if (first >= 0xc2 && first < 0xe0) {
		length = 2;
		c = first & 0x1f;
	} else if (first >= 0xe0 && first < 0xf0) {
		length = 3;
		c = first & 0x0f;
	} else if (first >= 0xf0 && first < 0xf5) {
		length = 4;
		c = first & 0x07;
	} else {
		return 0;
	}
	if (length > n)
		return 0;
	for (size_t i = 1; i < length; i++) {
		unsigned char next = (unsigned char)p[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (next & 0x3f);
	}
	if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return length;
}

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
escape_plain_run(struct slice text)
{
	size_t n = 0;

	while (n < text.n && text.p[n] >= ' ' && text.p[n] <= '~')
		n++;
	return n;
}

size_t
escape_text(char *out, size_t room, struct slice text, enum escape_style style)
{
	char escaped[ESCAPE_BYTE_MAX];
	size_t n = 0, i = 0;

	assert(room > 0);
	if (style == ESCAPE_PLAIN) {
		n = escape_plain_run(text);
		n = n < room ? n : room - 1;
		memcpy(out, n > 0 ? text.p : "", n);
		i = n;
	}
	while (i < text.n) {
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

/* Whether text needs quotes in key=value: ESCAPE_QUOTED would change it, it has a blank or an '=', or it is
 * empty. */
static bool
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

/* ---- lines of key=value ---- */

void
fields_init(struct fields *f, char *text, size_t room)
{
	assert(room > 0);
	*f = (struct fields){text, room, 0};
}

/* Appends s; false: no room. */
static bool
put(struct fields *f, struct slice s)
{
	if (s.n > f->room - f->n)
		return false;
	memcpy(f->text + f->n, s.p, s.n);
	f->n += s.n;
	return true;
}

static bool
put_key(struct fields *f, const char *key)
{
	return (f->n == 0 || put(f, SLICE(" "))) && put(f, slice_of(key)) && put(f, SLICE("="));
}

static bool
put_quoted(struct fields *f, struct slice value)
{
	size_t most = escape_length(value, ESCAPE_QUOTED);

	/* escape_text() cuts without room for its NUL. The closing quote takes the place of the NUL. */
	if (!put(f, SLICE("\"")) || most + 1 > f->room - f->n)
		return false;
	f->n += escape_text(f->text + f->n, most + 1, value, ESCAPE_QUOTED);
	return put(f, SLICE("\""));
}

void
fields_word(struct fields *f, const char *word)
{
	size_t mark = f->n;

	if ((f->n > 0 && !put(f, SLICE(" "))) || !put(f, slice_of(word)))
		f->n = mark;
}

void
fields_text(struct fields *f, const char *key, struct slice value)
{
	size_t mark = f->n;

	if (!put_key(f, key) || !(escape_needed(value) ? put_quoted(f, value) : put(f, value)))
		f->n = mark;
}

void
fields_int(struct fields *f, const char *key, int64_t value)
{
	size_t mark = f->n;
	char digits[NUMBER_TEXT_MAX];
	struct slice text = {digits, number_print(digits, value)};

	if (!put_key(f, key) || !put(f, text))
		f->n = mark;
}

/* Takes the bytes up to a blank, '=' or the end. */
static struct slice
take_word(struct slice *line)
{
	struct slice word = {line->p, 0};

	while (word.n < line->n && line->p[word.n] != ' ' && line->p[word.n] != '=' && line->p[word.n] != '"')
		word.n++;
	line->p += word.n;
	line->n -= word.n;
	return word;
}

/* Takes a quoted value, with its quotes. */
static bool
take_quoted(struct slice *line, char *scratch, struct slice *value)
{
	size_t n = 1;
	ptrdiff_t length;

	while (n < line->n && line->p[n] != '"')
		n += line->p[n] == '\\' ? 2 : 1;
	if (n >= line->n)
		return false;
	length = escape_undo(scratch, (struct slice){line->p + 1, n - 1});
	if (length < 0)
		return false;
	*value = (struct slice){scratch, (size_t)length};
	line->p += n + 1;
	line->n -= n + 1;
	return true;
}

bool
fields_next(struct slice *line, char *scratch, struct slice *key, struct slice *value)
{
	struct slice rest = *line;
	struct slice k;
	struct slice v = {NULL, 0};

	if (rest.n == 0)
		return false;
	k = take_word(&rest);
	if (k.n == 0)
		return false;
	if (rest.n > 0 && rest.p[0] == '=') {
		rest.p++;
		rest.n--;
		if (rest.n > 0 && rest.p[0] == '"') {
			if (!take_quoted(&rest, scratch, &v))
				return false;
		} else {
			v = take_word(&rest);
		}
	}
	if (rest.n > 0 && rest.p[0] != ' ')
		return false;
	while (rest.n > 0 && rest.p[0] == ' ') {
		rest.p++;
		rest.n--;
	}
	*line = rest;
	*key = k;
	*value = v;
	return true;
}
