/*
 * fuzz_request: any bytes from a client. However they arrive, the same requests come out and the same end;
 * every request is understood or refused with one printable line; what is understood keeps the rules of the
 * tables.
 */
#include "proto/command.h"
#include "proto/name.h"
#include "proto/request.h"

#include "tests/support/transcript.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_error(const struct reply *error)
{
	assert(error->type == REPLY_ERROR);
	assert(strlen(error->text) < REPLY_TEXT_MAX);
	for (const char *c = error->text; *c != '\0'; c++)
		assert((unsigned char)*c >= ' ' && *c != 127);
}

static void
check_command(const struct command *c)
{
	const struct command_info *info = command_info(c->verb);

	assert(c->argc >= (size_t)info->min);
	assert(info->max < 0 || c->argc <= (size_t)info->max);
	assert(c->name.n == 0 || name_check(c->name, NAME_BYTES_MAX) == NULL);
	assert(c->owner.n <= OWNER_BYTES_MAX && c->id.n <= OWNER_BYTES_MAX && c->why.n <= WHY_BYTES_MAX);
	assert(c->wait_ms >= COMMAND_WAIT_RULE && c->wait_ms <= COMMAND_MS_MAX);
	assert(c->lease_ms >= 0 && c->lease_ms <= COMMAND_MS_MAX);
	assert(c->max_hold_ms >= 0 && c->max_hold_ms <= COMMAND_MS_MAX);
	assert(c->claim_ms >= 0 && c->claim_ms <= COMMAND_MS_MAX);
	assert(c->extend_ms >= 0 && c->extend_ms <= COMMAND_MS_MAX);
	assert(c->token >= 0 && c->token <= COMMAND_TOKEN_MAX);
	assert(c->protocol == 0 || c->protocol == 2 || c->protocol == 3);
	assert(c->kind != KIND_PERMITS
			? c->limit == 0 && c->permits == 0
			: c->permits >= 1 && c->permits <= c->limit && c->limit <= COMMAND_LIMIT_MAX);
	assert(c->retries >= COMMAND_RETRIES_ANY && c->retries <= COMMAND_RETRIES_MAX);
	assert(c->cursor >= 0 && c->count >= 0);
	assert(c->verb != VERB_LOCKS || c->count <= COMMAND_COUNT_MAX);
	assert(c->steps >= 0 && c->steps <= COMMAND_STEPS_MAX);
	assert(c->grace_ms >= 0 && c->grace_ms <= COMMAND_MS_MAX);
	assert(c->heartbeat_ms >= 0 && c->heartbeat_ms <= COMMAND_MS_MAX);
	assert(c->name_count <= COMMAND_NAMES_MAX && (c->name_count == 0 || c->name.n == 0));
	for (size_t i = 0; i < c->name_count; i++) {
		assert(name_check(c->names[i], NAME_BYTES_MAX) == NULL);
		for (size_t j = 0; j < i; j++)
			assert(!slice_equal(c->names[i], c->names[j]));
	}
	assert(c->verb != VERB_LOCK || c->name.n > 0);
	assert(!(info->flags & COMMAND_NAMED) || c->name.n > 0);
	assert(c->verb != VERB_BREAK || c->token > 0);
}

static void
check_meaning(const uint8_t *data, size_t size, const struct request_limits *limits)
{
	struct request *request = calloc(1, sizeof(*request));
	char *bytes = malloc(size + 1);
	struct request_parser parser = {0};
	struct reply error;
	size_t done = 0;
	ssize_t got;

	assert(request != NULL && bytes != NULL);
	memcpy(bytes, data, size);
	while ((got = request_parse(&parser, bytes + done, size - done, limits, request, &error)) > 0) {
		struct command command;

		done += (size_t)got;
		assert(done <= size);
		assert((size_t)got <= limits->bytes && request->argc <= limits->arguments);
		if (request->argc == 0)
			continue;
		if (command_parse(request, &command, &error) == 0)
			check_command(&command);
		else
			check_error(&error);
	}
	if (got < 0)
		check_error(&error);
	free(bytes);
	free(request);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_limits limits = {4096, 32};
	unsigned pace;
	char *whole;
	char *pieces;
	char *single;

	/* The first byte chooses limits and pieces. */
	if (size == 0)
		return 0;
	if (data[0] & 1)
		limits = (struct request_limits){64, 4};
	pace = 2U + data[0];
	data++;
	size--;
	whole = transcript_requests((const char *)data, size, &limits, TRANSCRIPT_WHOLE);
	pieces = transcript_requests((const char *)data, size, &limits, pace);
	single = transcript_requests((const char *)data, size, &limits, TRANSCRIPT_BYTES);
	assert(strcmp(whole, pieces) == 0);
	assert(strcmp(whole, single) == 0);
	free(whole);
	free(pieces);
	free(single);
	check_meaning(data, size, &limits);
	return 0;
}
