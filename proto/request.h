/*
 * request: finds the next request in what a client sent (PROTOCOL.md section 1).
 *
 * Two forms, mixed and pipelined at will: an inline line, `LOCK "a name" WAIT 5000`, ended by LF or CRLF,
 * quoted as Redis does; and a RESP array of bulk strings. Parsing happens in the caller's buffer; nothing is
 * copied.
 */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "proto/reply.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Hard ceilings; a configuration may ask for less. */
#define REQUEST_BYTES_MAX     (1024 * 1024)
#define REQUEST_ARGUMENTS_MAX 1024
/* A header line (`*3`, `$17`) is never longer than this, so looking at it twice costs nothing. */
#define REQUEST_HEADER_MAX    32

struct request_limits {
	size_t bytes;     /* of one request with its framing, 64 .. REQUEST_BYTES_MAX */
	size_t arguments; /* 1 .. REQUEST_ARGUMENTS_MAX */
};

/* 16 KB: one for all connections is enough, since a request is handled before the next one is parsed. */
struct request {
	size_t argc; /* 0: an empty line, which is no request and gets no answer */
	bool line;   /* it came as an inline line */
	struct slice argv[REQUEST_ARGUMENTS_MAX];
};

/* What one connection has to remember of a request that is not complete yet. All zero in the beginning. */
struct request_parser {
	size_t seen;    /* bytes from the start of the request that were looked at and are fine */
	size_t missing; /* bulk strings that still have to come behind them; 0: the count is not known yet */
};

/*
 * data[0] is the first byte behind everything consumed so far; between calls the bytes may move, and more may
 * come behind them, but they must stay the same. n may be 0.
 *
 *   > 0  so many bytes are consumed and *out is set. Its slices point into data, which may have been changed
 *        there (quotes of an inline line are undone in place).
 *     0  more is needed; nothing is touched but *parser and the room of out->argv.
 *    -1  this can never become a request: *error is "ERR Protocol error: ..."; answer it and close.
 *
 * However the bytes arrive, the same requests come out, and the work is linear in the number of bytes.
 */
ssize_t request_parse(struct request_parser *parser, char *data, size_t n,
	const struct request_limits *limits, struct request *out, struct reply *error)
	__attribute__((warn_unused_result));

#endif
