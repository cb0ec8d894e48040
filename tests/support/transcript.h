/*
 * transcript: runs the parsers of proto/ on a stream of bytes, in pieces of any size, and returns the result
 * as text.
 *
 * Suites compare it with the expected text; the fuzzers compare one way to split the bytes with another. Each
 * piece is in memory of exactly its size, so that a sanitizer detects a parser that reads too far.
 */
#ifndef SUPPORT_TRANSCRIPT_H
#define SUPPORT_TRANSCRIPT_H

#include "proto/answer.h"
#include "proto/request.h"

#include <stddef.h>

#define TRANSCRIPT_WHOLE 0 /* pace: all at once */
#define TRANSCRIPT_BYTES 1 /* pace: byte by byte; any other number: the seed of pieces of 1 to 16 bytes */

/*
 * A line for each request, `"LOCK" "a b"`, then `left n` for the unfinished rest, or the error. The caller
 * frees it.
 */
char *transcript_requests(const char *bytes, size_t n, const struct request_limits *limits, unsigned pace);

/* A line for each answer, such as `[:1 "a" {+k :2}]`, then the rest or the error as above. */
char *transcript_answers(const char *bytes, size_t n, const struct answer_limits *limits, unsigned pace);

#endif
