/*
 * reply: the words of the error codes, and errors that are safe to send.
 */
#include "proto/reply.h"

#include "proto/escape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

const char *
code_word(enum code code)
{
	static const char *const words[] = {
#define CODE(name, meaning) #name,
#include "proto/code.def"
#undef CODE
	};

	assert((unsigned)code < CODE_COUNT);
	return words[code];
}

const char *
code_meaning(enum code code)
{
	static const char *const meanings[] = {
#define CODE(name, meaning) meaning,
#include "proto/code.def"
#undef CODE
	};

	assert((unsigned)code < CODE_COUNT);
	return meanings[code];
}

void
reply_verror(struct reply *reply, enum code code, const char *format, va_list list)
{
	char text[REPLY_TEXT_MAX];

	(void)vsnprintf(text, sizeof(text), format, list);
	*reply = (struct reply){.type = REPLY_ERROR, .code = code};
	(void)escape_text(reply->text, sizeof(reply->text), slice_of(text), ESCAPE_PLAIN);
}

void
reply_error(struct reply *reply, enum code code, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	reply_verror(reply, code, format, list);
	va_end(list);
}
