/*
 * fields: writes and reads lines of key=value. The daemon writes events with it, the client reads them.
 */
#include "proto/fields.h"

#include "proto/escape.h"
#include "proto/number.h"

#include <assert.h>

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
