/*
 * reply: one answer to one request, before it is written as bytes.
 *
 * The core fills it, and reply_write() (proto/composer.h) writes it as RESP2 or RESP3. Lock verbs answer with
 * one line each; only REPLY_VALIDITY and REPLY_TOKENS are arrays (PROTOCOL.md 1.8).
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum code {
#define CODE(name, meaning) CODE_##name,
#include "proto/code.def"
#undef CODE
	CODE_COUNT
};

enum reply_type {
	REPLY_INT,      /* n: a token, a count, milliseconds or a flag */
	REPLY_NULL,     /* not granted, not the holder */
	REPLY_OK,       /* +OK */
	REPLY_QUEUED,   /* +QUEUED: the outcome of an ASYNC lock follows as a push */
	REPLY_TEXT,     /* text as a bulk string: a secret, a session id */
	REPLY_VALIDITY, /* [n: token, ms: how long the hold is surely valid] */
	REPLY_TOKENS,   /* [tokens ...], in the order of the names */
	REPLY_ERROR     /* code and text: what, where, what to do */
};

#define REPLY_TEXT_MAX 224

struct reply {
	enum reply_type type;
	enum code code;
	int64_t n;
	int64_t ms;
	const int64_t *tokens; /* TOKENS: owned by the core, valid until the next core_step() */
	size_t count;
	char text[REPLY_TEXT_MAX]; /* NUL-terminated, without CR, LF or other control bytes */
};

/* The word on the wire, e.g. "NOTHELD", and its meaning, for people. */
const char *code_word(enum code code);
const char *code_meaning(enum code code);

/* Makes *reply an error. The text may contain any bytes: control bytes and broken UTF-8 are escaped as \xHH,
 * and text that does not fit is cut. */
void reply_error(struct reply *reply, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));
void reply_verror(struct reply *reply, enum code code, const char *format, va_list list)
	__attribute__((cold, format(printf, 3, 0)));

#endif
