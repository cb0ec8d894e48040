/* trace: see trace.h. */
#include "tests/sim/trace.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 400

void
trace_line(struct trace *t, int64_t at_us, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list list;
	int n = snprintf(line, sizeof(line), "[%9lld.%03d] ", (long long)(at_us / 1000), (int)(at_us % 1000));
	va_start(list, format);
	int m = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, list);
	va_end(list);
	assert(m >= 0);
	size_t bytes = strlen(line);
	line[bytes++] = '\n';
	for (size_t i = 0; i < bytes; i++)
		t->hash = (t->hash ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
	if (!t->keep)
		return;
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
trace_done(struct trace *t)
{
	free(t->text);
	*t = (struct trace){0};
}
