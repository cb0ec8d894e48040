/*
 * reply: the words of the error codes, errors that are safe to send, and the bytes of every answer and push.
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
#define CODE(name, cause, cure) #name,
#include "proto/code.def"
#undef CODE
	};

	assert((unsigned)code < CODE_COUNT);
	return words[code];
}

const char *
code_cause(enum code code)
{
	static const char *const causes[] = {
#define CODE(name, cause, cure) cause,
#include "proto/code.def"
#undef CODE
	};

	assert((unsigned)code < CODE_COUNT);
	return causes[code];
}

const char *
code_cure(enum code code)
{
	static const char *const cures[] = {
#define CODE(name, cause, cure) cure,
#include "proto/code.def"
#undef CODE
	};

	assert((unsigned)code < CODE_COUNT);
	return cures[code];
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

/* ---- writing ---- */

/* A type byte, a number, CRLF. */
static void
write_header(struct buffer *b, char type, int64_t n)
{
	char text[NUMBER_TEXT_MAX + 3];
	size_t length = 1;

	text[0] = type;
	length += number_print(text + 1, n);
	text[length++] = '\r';
	text[length++] = '\n';
	buffer_put(b, text, length);
}

void
reply_write_int(struct buffer *b, int64_t n)
{
	write_header(b, ':', n);
}

void
reply_write_null(struct buffer *b, int version)
{
	if (version >= 3)
		buffer_put(b, "_\r\n", 3);
	else
		buffer_put(b, "$-1\r\n", 5);
}

void
reply_write_flag(struct buffer *b, int version, bool yes)
{
	if (version >= 3)
		buffer_put(b, yes ? "#t\r\n" : "#f\r\n", 4);
	else
		reply_write_int(b, yes);
}

/* Written in one piece, so that a full buffer never contains half of it. */
static void
write_line(struct buffer *b, char type, struct slice word, struct slice text)
{
	size_t gap = word.n > 0 && text.n > 0;
	size_t room = 1 + word.n + gap + text.n * ESCAPE_BYTE_MAX + 1;
	char *at;
	size_t n;

	if (!buffer_reserve(b, room + 2))
		return;
	at = buffer_end(b);
	assert(at != NULL);
	*at++ = type;
	memcpy(at, word.p, word.n);
	at += word.n;
	if (gap > 0)
		*at++ = ' ';
	n = 1 + word.n + gap;
	n += escape_text(at, room - n, text, ESCAPE_PLAIN);
	memcpy(buffer_end(b) + n, "\r\n", 2);
	buffer_wrote(b, n + 2);
}

void
reply_write_simple(struct buffer *b, const char *text)
{
	write_line(b, '+', SLICE(""), slice_of(text));
}

void
reply_write_error(struct buffer *b, enum code code, struct slice text)
{
	write_line(b, '-', slice_of(code_word(code)), text);
}

void
reply_write_bulk(struct buffer *b, struct slice bytes)
{
	write_header(b, '$', (int64_t)bytes.n);
	buffer_put(b, bytes.p, bytes.n);
	buffer_put(b, "\r\n", 2);
}

void
reply_write_text(struct buffer *b, const char *text)
{
	reply_write_bulk(b, slice_of(text));
}

void
reply_write_array(struct buffer *b, size_t elements)
{
	write_header(b, '*', (int64_t)elements);
}

void
reply_write_set(struct buffer *b, int version, size_t elements)
{
	write_header(b, version >= 3 ? '~' : '*', (int64_t)elements);
}

void
reply_write_map(struct buffer *b, int version, size_t pairs)
{
	if (version >= 3)
		write_header(b, '%', (int64_t)pairs);
	else
		write_header(b, '*', (int64_t)pairs * 2);
}

/* RESP3 only. */
static void
reply_write_push(struct buffer *b, size_t elements)
{
	write_header(b, '>', (int64_t)elements);
}

void
reply_write_pair_int(struct buffer *b, const char *key, int64_t n)
{
	reply_write_text(b, key);
	reply_write_int(b, n);
}

void
reply_write_pair_text(struct buffer *b, const char *key, const char *text)
{
	reply_write_text(b, key);
	reply_write_text(b, text);
}

void
reply_write_pair_bulk(struct buffer *b, const char *key, struct slice bytes)
{
	reply_write_text(b, key);
	reply_write_bulk(b, bytes);
}

void
reply_write_pair_null(struct buffer *b, int version, const char *key)
{
	reply_write_text(b, key);
	reply_write_null(b, version);
}

void
reply_write(struct buffer *b, int version, const struct reply *reply)
{
	switch (reply->type) {
	case REPLY_INT:
		reply_write_int(b, reply->n);
		return;
	case REPLY_NULL:
		reply_write_null(b, version);
		return;
	case REPLY_OK:
		reply_write_simple(b, "OK");
		return;
	case REPLY_QUEUED:
		reply_write_simple(b, "QUEUED");
		return;
	case REPLY_TEXT:
		reply_write_text(b, reply->text);
		return;
	case REPLY_VALIDITY:
		reply_write_array(b, 2);
		reply_write_int(b, reply->n);
		reply_write_int(b, reply->ms);
		return;
	case REPLY_TOKENS:
		reply_write_array(b, reply->count);
		for (size_t i = 0; i < reply->count; i++)
			reply_write_int(b, reply->tokens[i]);
		return;
	case REPLY_ERROR:
		break;
	}
	assert(reply->type == REPLY_ERROR);
	reply_write_error(b, reply->code, slice_of(reply->text));
}

void
push_write_grant(struct buffer *b, struct slice id, int64_t token, int64_t ms)
{
	reply_write_push(b, ms < 0 ? 3 : 4);
	reply_write_text(b, "grant");
	reply_write_bulk(b, id);
	reply_write_int(b, token);
	if (ms >= 0)
		reply_write_int(b, ms);
}

void
push_write_failed(struct buffer *b, struct slice id, enum code code, const char *text)
{
	reply_write_push(b, 4);
	reply_write_text(b, "failed");
	reply_write_bulk(b, id);
	if (code == CODE_COUNT)
		reply_write_null(b, 3);
	else
		reply_write_text(b, code_word(code));
	reply_write_text(b, text == NULL ? "" : text);
}

void
push_write_lost(struct buffer *b, struct slice name, struct slice owner, int64_t token, const char *reason)
{
	reply_write_push(b, 5);
	reply_write_text(b, "lost");
	reply_write_bulk(b, name);
	reply_write_bulk(b, owner);
	reply_write_int(b, token);
	reply_write_text(b, reason == NULL ? "" : reason);
}

void
event_write(struct buffer *b, int version, struct slice line)
{
	if (version < 3) {
		write_line(b, '+', SLICE(""), line);
		return;
	}
	reply_write_push(b, 2);
	reply_write_text(b, "event");
	reply_write_bulk(b, line);
}
