/*
 * message: writes one line to stderr at once, so that lines of several processes do not mix; the list of exit
 * codes.
 */
#include "client/message.h"

#include "proto/escape.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
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

/* Ends the text with NUL, and returns where the next part goes. */
static char *
duration_part(char *at, int64_t n, const char *unit)
{
	return stpcpy(at + number_print(at, n), unit);
}

static void
duration_put(char *out, int64_t more, const char *unit, int64_t less, const char *lesser)
{
	(void)duration_part(duration_part(out, more, unit), less, lesser);
}

const char *
duration_text(char out[DURATION_TEXT_MAX], int64_t ms)
{
	int64_t s = (ms < 0 ? 0 : ms) / 1000, tenths = (ms < 0 ? 0 : ms < 10000 ? ms + 50 : 0) / 100;

	if (s < 10) {
		duration_put(out, tenths / 10, ".", tenths % 10, "s");
	} else if (s < 60) {
		(void)duration_part(out, s, "s");
	} else if (s < 60 * 60) {
		duration_put(out, s / 60, "m ", s % 60, "s");
	} else if (s < 24 * 60 * 60) {
		duration_put(out, s / 3600, "h ", s / 60 % 60, "m");
	} else {
		duration_put(out, s / 86400, "d ", s / 3600 % 24, "h");
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

int
status_of_error(enum code code, struct slice text)
{
	const struct slice bad = SLICE("bad name");

	if (code == CODE_LIMIT && text.n >= bad.n && memcmp(text.p, bad.p, bad.n) == 0) {
		return STATUS_USAGE;
	}
	return status_of_code(code);
}
