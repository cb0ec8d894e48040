/* trace: see trace.h. */
#include "tests/sim/world/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 400

void
trace_init(struct trace *t, bool keep)
{
	*t = (struct trace){.keep = keep, .hash = UINT64_C(0xcbf29ce484222325)};
}

static void
fold(struct trace *t, uint64_t n)
{
	uint64_t hash = (t->hash ^ n) * UINT64_C(0x9e3779b97f4a7c15);
	t->hash = hash ^ hash >> 29;
}

static void
fold_text(struct trace *t, const char *text, size_t n)
{
	uint64_t word;
	for (; n >= sizeof(word); n -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		fold(t, word);
	}
	word = n;
	for (size_t i = 0; i < n; i++)
		word = word << 8 | (unsigned char)text[i];
	fold(t, word);
}

/* One conversion, from behind its %; returns what follows it. */
static const char *
fold_argument(struct trace *t, const char *p, va_list *list)
{
	int precision = -1;
	bool wide = false;
	p += strspn(p, "0123456789-");
	if (*p == '.' && p[1] == '*') {
		precision = va_arg(*list, int);
		p += 2;
	} else if (*p == '.') {
		precision = (int)strtol(p + 1, (char **)&p, 10);
	}
	for (; *p == 'l'; p++)
		wide = true;
	if (*p == 's') {
		const char *text = va_arg(*list, const char *);
		fold_text(t, text, precision >= 0 ? strnlen(text, (size_t)precision) : strlen(text));
	} else {
		assert(*p == 'd' || *p == 'u' || *p == 'x');
		fold(t, wide ? va_arg(*list, unsigned long) : va_arg(*list, unsigned));
	}
	return p + 1;
}

static void
fold_line(struct trace *t, int64_t at_us, const char *format, va_list *list)
{
	const char *p = format;
	fold(t, (uint64_t)at_us);
	for (;;) {
		const char *percent = strchrnul(p, '%');
		fold_text(t, p, (size_t)(percent - p));
		if (*percent == '\0')
			return;
		p = fold_argument(t, percent + 1, list);
	}
}

static void
keep_line(struct trace *t, int64_t at_us, const char *format, va_list list)
{
	char line[LINE_MAX_BYTES];
	int n = snprintf(line, sizeof(line), "[%9lld.%03d] ", (long long)(at_us / 1000), (int)(at_us % 1000));
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, list);
	assert(m >= 0);
	size_t bytes = strlen(line);
	line[bytes++] = '\n';
	if (t->n + bytes + 1 > t->room) {
		t->room = 2 * (t->n + bytes + 1);
		t->text = realloc(t->text, t->room);
		assert(t->text != NULL);
	}
	memcpy(t->text + t->n, line, bytes);
	t->n += bytes;
	t->text[t->n] = '\0';
}

void
trace_line(struct trace *t, int64_t at_us, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	fold_line(t, at_us, format, &list);
	va_end(list);
	if (!t->keep)
		return;
	va_start(list, format);
	keep_line(t, at_us, format, list);
	va_end(list);
}

void
trace_numbers(struct trace *t, int64_t at_us, size_t n, const int64_t *numbers)
{
	fold(t, (uint64_t)at_us);
	for (size_t i = 0; i < n; i++)
		fold(t, (uint64_t)numbers[i]);
}

void
trace_kept(struct trace *t, int64_t at_us, const char *format, ...)
{
	va_list list;
	if (!t->keep)
		return;
	va_start(list, format);
	keep_line(t, at_us, format, list);
	va_end(list);
}

void
trace_done(struct trace *t)
{
	free(t->text);
	*t = (struct trace){0};
}
