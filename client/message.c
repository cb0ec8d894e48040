/*
 * message: writes one line to stderr at once, so that lines of several processes do not mix; the list of exit
 * codes.
 */
#include "client/message.h"

#include "proto/escape.h"

#include <stdarg.h>
#include <stddef.h>
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

const char *
duration_text(char out[DURATION_TEXT_MAX], int64_t ms)
{
	long long s = (long long)(ms < 0 ? 0 : ms) / 1000;

	if (s < 10) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%.1fs", (double)(ms < 0 ? 0 : ms) / 1000.0);
	} else if (s < 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%llds", s);
	} else if (s < 60 * 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldm %llds", s / 60, s % 60);
	} else if (s < 24 * 60 * 60) {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldh %lldm", s / 3600, s / 60 % 60);
	} else {
		(void)snprintf(out, DURATION_TEXT_MAX, "%lldd %lldh", s / 86400, s / 3600 % 24);
	}
	return out;
}

const struct status_entry *
status_list(void)
{
	static const struct status_entry list[] = {
#define STATUS(id, number, meaning) {number, meaning},
#include "client/options.def"
#undef STATUS
		{0, NULL}};

	return list;
}

int
status_of_code(enum code code)
{
	static const int by_code[CODE_COUNT + 1] = {
		[CODE_ERR] = STATUS_USAGE,
		[CODE_HELD] = STATUS_USAGE,
		[CODE_NOAUTH] = STATUS_DENIED,
		[CODE_NOPERM] = STATUS_DENIED,
		[CODE_WRONGPASS] = STATUS_DENIED,
		[CODE_NOTHELD] = STATUS_NO,
		[CODE_LOST] = STATUS_LOST,
		[CODE_DEADLOCK] = STATUS_BUSY,
		[CODE_UPGRADE] = STATUS_USAGE,
		[CODE_WRONGKIND] = STATUS_USAGE,
		[CODE_LIMIT] = STATUS_UNAVAILABLE,
		[CODE_NOMASTER] = STATUS_UNAVAILABLE,
		[CODE_GUARD] = STATUS_UNAVAILABLE,
		[CODE_MASTERERR] = STATUS_UNAVAILABLE,
		[CODE_DRAINING] = STATUS_UNAVAILABLE,
	};

	/* A code that is not listed is new, or this client never causes it. */
	return by_code[code] != 0 ? by_code[code] : STATUS_INTERNAL;
}
