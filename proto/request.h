/*
 * request: finds the next request in the bytes of a client (PROTOCOL.md section 1).
 *
 * There are two forms, which may be mixed and pipelined: an inline line, `LOCK "a name" WAIT 5000`, ended by
 * LF or CRLF, with quotes as in Redis; and a RESP array of bulk strings. Parsing works in the caller's
 * buffer; nothing is copied.
 */
#ifndef PROTO_REQUEST_H
#define PROTO_REQUEST_H

#include "proto/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Upper bounds; a configuration may set less. */
#define REQUEST_BYTES_MAX     (1024 * 1024)
#define REQUEST_ARGUMENTS_MAX 1024
/* A header line (`*3`, `$17`) is never longer than this, so scanning it twice is cheap. */
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

/* The state of a connection's incomplete request. Zeroed at the beginning. */
struct request_parser {
	size_t seen;    /* bytes from the start of the request that are parsed and valid */
	size_t missing; /* bulk strings still missing after those; 0: the count is unknown yet */
};

/*
 * data[0] is the first byte that was not consumed. Between calls the bytes may move, and more may follow, but
 * they must not change. n may be 0.
 *
 *   > 0  so many bytes are consumed and *out is set. Its slices point into data, which may have been changed
 *        there (quotes of an inline line are undone in place).
 *     0  more is needed; nothing is touched but *parser and the room of out->argv.
 *    -1  this can never become a request: *error is "ERR Protocol error: ..."; answer it and close.
 *
 * The requests do not depend on how the bytes are split, and the work is linear in the number of bytes.
 */
ssize_t request_parse(struct request_parser *parser, char *data, size_t n,
	const struct request_limits *limits, struct request *out, struct reply *error)
	__attribute__((warn_unused_result));

#endif
