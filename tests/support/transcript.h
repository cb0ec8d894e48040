/*
 * transcript: what the parsers of proto/ make of a stream of bytes, as text, however the bytes arrive.
 *
 * Suites compare it with what is expected, the fuzzers compare one way of arriving with another. Each piece
 * is handed over in memory of exactly its size, so that a sanitizer sees a parser that reads too far.
 */
#ifndef SUPPORT_TRANSCRIPT_H
#define SUPPORT_TRANSCRIPT_H

#include "proto/answer.h"
#include "proto/request.h"

#include <stddef.h>

#define TRANSCRIPT_WHOLE 0 /* pace: all at once */
#define TRANSCRIPT_BYTES 1 /* pace: byte by byte; any other number: the seed of pieces of 1 to 16 bytes */

/*
 * A line for each request, `"LOCK" "a b"`, then what became of the rest: `left n`, or the error. The caller
 * frees it.
 */
char *transcript_requests(const char *bytes, size_t n, const struct request_limits *limits, unsigned pace);

/* A line for each answer, such as `[:1 "a" {+k :2}]`, then likewise. */
char *transcript_answers(const char *bytes, size_t n, const struct answer_limits *limits, unsigned pace);

#endif
