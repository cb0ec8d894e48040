/*
 * call_command: writes the words of one Redis command (struct call_command). call.c says which words.
 *
 * Room for all words is made first, so that writing cannot fail.
 */
#ifndef REDIS_CALL_COMMAND_H
#define REDIS_CALL_COMMAND_H

#include "daemon/redis/call.h"

#define CALL_NUMBER_BYTES 20 /* the longest: INT64_MIN, UINT64_MAX */

/* Begins a command of at most this many words and bytes. False: out of memory. */
bool call_command_reserve(struct call_command *command, size_t args, size_t bytes);

/* Begin and end one word; call_command_put...() between them adds its parts. */
void call_command_begin(struct call_command *command);
void call_command_end(struct call_command *command);

/* Adds a part to the word. */
void call_command_put(struct call_command *command, const char *p, size_t n);
void call_command_put_text(struct call_command *command, const char *text);
void call_command_put_unsigned(struct call_command *command, uint64_t n);
void call_command_put_number(struct call_command *command, int64_t n);
void call_command_put_hexadecimal(struct call_command *command, uint64_t n, size_t digits);

/* Adds a whole word. */
void call_command_slice(struct call_command *command, struct slice text);
void call_command_text(struct call_command *command, const char *text);
void call_command_number(struct call_command *command, int64_t n);
void call_command_hexadecimal(struct call_command *command, uint64_t n);

#endif
