/*
 * call_command: writes the words of one Redis command. Only call.c includes it, and says which words. It has
 * made room for all of them before, so writing cannot fail, and nothing moves.
 */
#ifndef REDIS_CALL_COMMAND_H
#define REDIS_CALL_COMMAND_H

#include "daemon/redis/call.h"
#include "proto/slice.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Begin and end one word; call_command_put...() between them adds its parts. */
static inline void
call_command_begin(struct call_command *command)
{
	assert((size_t)command->argc < command->arg_room);
	command->argv[command->argc] = command->bytes + command->used;
}

static inline void
call_command_end(struct call_command *command)
{
	const char *word = command->argv[command->argc];
	command->argvlen[command->argc++] = (size_t)(command->bytes + command->used - word);
}

/* Adds a part to the word. */
static inline void
call_command_put(struct call_command *command, const char *p, size_t n)
{
	assert(command->used + n <= command->room);
	if (n > 0)
		memcpy(command->bytes + command->used, p, n);
	command->used += n;
}

static inline void
call_command_put_text(struct call_command *command, const char *text)
{
	call_command_put(command, text, strlen(text));
}

static inline void
call_command_put_number(struct call_command *command, int64_t n)
{
	char text[NUMBER_TEXT_MAX];
	call_command_put(command, text, number_print(text, n));
}

static inline void
call_command_put_hexadecimal(struct call_command *command, uint64_t n, size_t digits)
{
	char text[16];
	assert(digits <= sizeof(text));
	for (size_t i = digits; i > 0; n >>= 4)
		text[--i] = "0123456789abcdef"[n & 15];
	call_command_put(command, text, digits);
}

/* Adds a whole word. */
static inline void
call_command_slice(struct call_command *command, struct slice text)
{
	call_command_begin(command);
	call_command_put(command, text.p, text.n);
	call_command_end(command);
}

static inline void
call_command_text(struct call_command *command, const char *text)
{
	call_command_slice(command, slice_of(text));
}

static inline void
call_command_number(struct call_command *command, int64_t n)
{
	call_command_begin(command);
	call_command_put_number(command, n);
	call_command_end(command);
}

static inline void
call_command_hexadecimal(struct call_command *command, uint64_t n)
{
	call_command_begin(command);
	call_command_put_hexadecimal(command, n, 16);
	call_command_end(command);
}

#endif
