/*
 * call_command: writes the words of one Redis command; call.c says which words. Room for everything is made
 * before anything is written, so that writing cannot fail and nothing moves.
 */
#include "daemon/redis/call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool
call_command_reserve(struct call_command *command, size_t args, size_t bytes)
{
	if (args > command->arg_room) {
		const char **argv = realloc(command->argv, args * sizeof(*argv));
		if (argv == NULL)
			return false;
		command->argv = argv;
		size_t *argvlen = realloc(command->argvlen, args * sizeof(*argvlen));
		if (argvlen == NULL)
			return false;
		command->argvlen = argvlen;
		command->arg_room = args;
	}
	if (bytes > command->room) {
		char *room = realloc(command->bytes, bytes);
		if (room == NULL)
			return false;
		command->bytes = room;
		command->room = bytes;
	}
	command->argc = 0;
	command->used = 0;
	return true;
}

void
call_command_put(struct call_command *command, const char *p, size_t n)
{
	assert(command->used + n <= command->room);
	if (n > 0)
		memcpy(command->bytes + command->used, p, n);
	command->used += n;
}

void
call_command_begin(struct call_command *command)
{
	assert((size_t)command->argc < command->arg_room);
	command->argv[command->argc] = command->bytes + command->used;
}

void
call_command_end(struct call_command *command)
{
	command->argvlen[command->argc] =
		(size_t)(command->bytes + command->used - command->argv[command->argc]);
	command->argc++;
}

void
call_command_put_text(struct call_command *command, const char *text)
{
	call_command_put(command, text, strlen(text));
}

void
call_command_slice(struct call_command *command, struct slice text)
{
	call_command_begin(command);
	call_command_put(command, text.p, text.n);
	call_command_end(command);
}

void
call_command_text(struct call_command *command, const char *text)
{
	call_command_slice(command, slice_of(text));
}

void
call_command_put_unsigned(struct call_command *command, uint64_t n)
{
	char text[CALL_NUMBER_BYTES];
	size_t at = sizeof(text);
	do {
		text[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	call_command_put(command, text + at, sizeof(text) - at);
}

void
call_command_put_number(struct call_command *command, int64_t n)
{
	if (n < 0)
		call_command_put(command, "-", 1);
	call_command_put_unsigned(command, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

void
call_command_number(struct call_command *command, int64_t n)
{
	call_command_begin(command);
	call_command_put_number(command, n);
	call_command_end(command);
}

void
call_command_put_hexadecimal(struct call_command *command, uint64_t n, size_t digits)
{
	char text[16];
	for (size_t i = digits; i > 0; n >>= 4)
		text[--i] = "0123456789abcdef"[n & 15];
	call_command_put(command, text, digits);
}

void
call_command_hexadecimal(struct call_command *command, uint64_t n)
{
	call_command_begin(command);
	call_command_put_hexadecimal(command, n, 16);
	call_command_end(command);
}
