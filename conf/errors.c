/*
 * errors: the list of what is wrong with a file.
 *
 * Called by every part of conf/. It must never put a control character into a message, since the messages
 * go to terminals and logs.
 */
#include "conf/errors.h"

#include <stdarg.h>
#include <string.h>

/* Escapes what a terminal would obey. UTF-8 (which libyaml has checked) passes. */
static void
text_escape(char *out, size_t room, const char *text)
{
	size_t n = 0;

	for (; *text != '\0' && n + 5 < room; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 127)
			n += (size_t)snprintf(out + n, room - n, "\\x%02x", c);
		else
			out[n++] = *text;
	}
	/* Do not end inside a character. */
	if (*text != '\0')
		while (n > 0 && ((unsigned char)*text & 0xc0) == 0x80) {
			n--;
			text--;
		}
	out[n] = '\0';
}

void
errors_init(struct conf_errors *errors)
{
	errors->count = 0;
	errors->dropped = 0;
}

void
errors_add(struct conf_errors *errors, struct place place, const char *format, ...)
{
	char where[CONF_ERROR_TEXT_MAX];
	char text[CONF_ERROR_TEXT_MAX];
	char whole[2 * CONF_ERROR_TEXT_MAX + 2];
	va_list ap;

	if (errors->count == CONF_ERRORS_MAX) {
		errors->dropped++;
		return;
	}
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (place.line > 0)
		snprintf(where, sizeof(where), "%s:%zu:%zu", place.file, place.line, place.column);
	else
		snprintf(where, sizeof(where), "%s", place.file);
	snprintf(whole, sizeof(whole), "%s: %s", where, text);
	text_escape(errors->text[errors->count++], CONF_ERROR_TEXT_MAX, whole);
}

const char *
errors_quote(char out[QUOTE_MAX], const char *text)
{
	char body[QUOTE_MAX - 6];

	text_escape(body, sizeof(body), text);
	snprintf(out, QUOTE_MAX, "\"%s\"%s", body, strlen(text) >= sizeof(body) - 5 ? "..." : "");
	return out;
}
