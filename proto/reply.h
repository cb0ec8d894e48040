/*
 * reply: one answer to one request, and how it is written as RESP2 or RESP3 (PROTOCOL.md sections 1 and 9).
 *
 * The core fills struct reply, and reply_write() writes it. Lock verbs answer with one line each; only
 * REPLY_VALIDITY and REPLY_TOKENS are arrays (PROTOCOL.md 1.8).
 *
 * `version` is 2 or 3, as HELLO chose; inline requests get the same answers. No reply_write function fails: a
 * write that does not fit makes the buffer `failed`, and the caller checks that once per turn.
 */
#ifndef PROTO_REPLY_H
#define PROTO_REPLY_H

#include "proto/buffer.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum code {
#define CODE(name, cause, cure) CODE_##name,
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
	int64_t n; /* DEADLOCK: how many sessions of other users the text names */
	int64_t ms;
	const int64_t *tokens; /* TOKENS: owned by the core, valid until the next core_step() */
	size_t count;
	char text[REPLY_TEXT_MAX]; /* NUL-terminated, without CR, LF or other control bytes */
};

/* The word on the wire, e.g. "NOTHELD"; for people, why it is answered, and what helps. */
const char *code_word(enum code code);
const char *code_cause(enum code code);
const char *code_cure(enum code code);

/* Makes *reply an error. The text may contain any bytes: control bytes and broken UTF-8 are escaped as \xHH,
 * and text that does not fit is cut. */
void reply_error(struct reply *reply, enum code code, const char *format, ...)
	__attribute__((cold, format(printf, 3, 4)));
void reply_verror(struct reply *reply, enum code code, const char *format, va_list list)
	__attribute__((cold, format(printf, 3, 0)));

/* The answer to a request, from the core's reply. */
void reply_write(struct buffer *b, int version, const struct reply *reply);

void reply_write_int(struct buffer *b, int64_t n);              /* :n */
void reply_write_null(struct buffer *b, int version);           /* $-1, or _ */
void reply_write_flag(struct buffer *b, int version, bool yes); /* :0 :1, or #f #t */
void reply_write_simple(struct buffer *b, const char *text);    /* +text; text has no control bytes */
void reply_write_bulk(struct buffer *b, struct slice bytes);    /* $n and bytes, which may have any value */
void reply_write_text(struct buffer *b, const char *text);      /* the same for a NUL-terminated string */

/* -CODE text; control bytes and broken UTF-8 in text are escaped. */
void reply_write_error(struct buffer *b, enum code code, struct slice text);

/* Headers; the caller then writes as many elements. In RESP2 a map is a flat array of twice as many. */
void reply_write_array(struct buffer *b, size_t elements);
void reply_write_set(struct buffer *b, int version, size_t elements);
void reply_write_map(struct buffer *b, int version, size_t pairs);

/* A key of a map with its value. */
void reply_write_pair_int(struct buffer *b, const char *key, int64_t n);
void reply_write_pair_text(struct buffer *b, const char *key, const char *text);
void reply_write_pair_bulk(struct buffer *b, const char *key, struct slice bytes);
void reply_write_pair_null(struct buffer *b, int version, const char *key);

/* Pushes; for RESP3 connections only (PROTOCOL.md 3.10, 5.6). */
/* ms: how long the hold is surely valid; < 0: it was not asked for */
void push_write_grant(struct buffer *b, struct slice id, int64_t token, int64_t ms);
/* code CODE_COUNT: not granted within WAIT; text may be NULL */
void push_write_failed(struct buffer *b, struct slice id, enum code code, const char *text);
void push_write_lost(
	struct buffer *b, struct slice name, struct slice owner, int64_t token, const char *reason);

/* One event of the EVENTS stream: a push `event line` in RESP3, `+line` in RESP2. line: of struct fields */
void event_write(struct buffer *b, int version, struct slice line);

#endif
