/*
 * message: writes one line to stderr at once, so that lines of several processes do not mix.
 */
#include "client/message.h"

#include "proto/escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

void
message(const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	char line[LINE_MAX_BYTES + 16] = "holdfast: ";
	size_t n = 10;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (length < 0) {
		return;
	}
	n += escape_text(line + n, sizeof(line) - n - 1, slice_of(text), ESCAPE_PLAIN);
	line[n++] = '\n';
	/* If stderr is closed, there is no place for an error. */
	if (write(STDERR_FILENO, line, n) < 0) {
		return;
	}
}
