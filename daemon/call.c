/*
 * call: the core's calls as Redis commands; see call.h. Used by the pool and the simulator; must never do
 * I/O.
 */
#include "daemon/call.h"

#include "daemon/script.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_FIXED    16 /* EVALSHA sha n, and at most the arguments of HELLO */
#define ARGS_PER_CALL 11 /* ACQUIRE: 4 keys and 7 arguments */

void
call_command_init(struct call_command *command)
{
	memset(command, 0, sizeof(*command));
}

void
call_command_done(struct call_command *command)
{
	free(command->bytes);
	free(command->argv);
	free(command->argvlen);
	memset(command, 0, sizeof(*command));
}

bool
call_groups(const struct call *a, const struct call *b)
{
	return a->op == b->op && a->link == b->link && a->incarnation == b->incarnation &&
	       a->op != CALL_HELLO && a->op != CALL_ADMIT;
}

/*
 * Arguments are collected in command->bytes, which may move while it grows: argv is filled in at the end from
 * argvlen. Room for everything is made before anything is written, so that writing cannot fail.
 */
static bool
command_reserve(struct call_command *command, size_t args, size_t bytes)
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

static void
put(struct call_command *command, const char *p, size_t n)
{
	assert(command->used + n <= command->room);
	if (n > 0)
		memcpy(command->bytes + command->used, p, n);
	command->used += n;
	command->argvlen[command->argc] += n;
}

static void
put_begin(struct call_command *command)
{
	assert((size_t)command->argc < command->arg_room);
	command->argvlen[command->argc] = 0;
}

static void
put_end(struct call_command *command)
{
	command->argc++;
}

static void
put_text(struct call_command *command, const char *text)
{
	put(command, text, strlen(text));
}

static void
arg_text(struct call_command *command, const char *text)
{
	put_begin(command);
	put_text(command, text);
	put_end(command);
}

static void
arg_slice(struct call_command *command, struct slice s)
{
	put_begin(command);
	put(command, s.p, s.n);
	put_end(command);
}

static void
arg_number(struct call_command *command, int64_t n)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRId64, n);
	arg_text(command, text);
}

static void
arg_incarnation(struct call_command *command, uint64_t incarnation)
{
	char text[24];
	snprintf(text, sizeof(text), "%016" PRIx64, incarnation);
	arg_text(command, text);
}

static void
arg_attempt(struct call_command *command, uint64_t attempt)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, attempt);
	arg_text(command, text);
}

/* NAMESPACE:tail */
static void
arg_shared(struct call_command *command, const struct call_settings *settings, const char *tail)
{
	put_begin(command);
	put_text(command, settings->namespace_);
	put_text(command, tail);
	put_end(command);
}

/* NAMESPACE:{NAME}tail */
static void
arg_native(struct call_command *command, const struct call_settings *settings, struct slice name,
	const char *tail)
{
	put_begin(command);
	put_text(command, settings->namespace_);
	put_text(command, ":{");
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == '%')
			put_text(command, "%25");
		else if (name.p[i] == '}')
			put_text(command, "%7D");
		else
			put(command, name.p + i, 1);
	}
	put_text(command, "}");
	put_text(command, tail);
	put_end(command);
}

static void
arg_lease(struct call_command *command, const struct call_settings *settings, const struct call *call)
{
	const char *percent = call->key != NULL ? strchr(call->key, '%') : NULL;
	if (percent == NULL) {
		arg_native(command, settings, call->name, "");
		return;
	}
	put_begin(command);
	put(command, call->key, (size_t)(percent - call->key));
	put(command, call->name.p, call->name.n);
	put_text(command, percent + 1);
	put_end(command);
}

/* What an operation takes: one letter for each KEYS and ARGV of lua/<op>.lua, in its order. */
struct shape {
	const char *keys;      /* once: n node, r reclaimed */
	const char *name_keys; /* each: l lease, q queue, w waiting, f fence */
	const char *args; /* once: i incarnation, d daemon-id, x inbox prefix, t token, … see arg_one() */
	const char *name_args; /* each */
};

static const struct shape shapes[CALL_OP_COUNT] = {
	[CALL_HELLO] = {"nr", "", "idtLJhRTX", ""},
	[CALL_ADMIT] = {"nr", "", "it", ""},
	[CALL_ACQUIRE] = {"n", "lqwf", "idx", "naPDtbQ"},
	[CALL_RENEW] = {"n", "lqf", "id", "aPtb"},
	[CALL_RECLAIM] = {"nr", "lf", "id", "aPDtN"},
	[CALL_RELEASE] = {"n", "lqw", "idx", "na"},
	[CALL_LEAVE] = {"n", "lqw", "idx", "n"},
};

static void
key_one(struct call_command *command, const struct call_settings *settings, const struct call *call,
	char what)
{
	switch (what) {
	case 'n':
		arg_shared(command, settings, ":node");
		return;
	case 'r':
		arg_shared(command, settings, ":reclaimed");
		return;
	case 'l':
		arg_lease(command, settings, call);
		return;
	default: {
		const char tail[] = {':', what, '\0'};
		arg_native(command, settings, call->name, tail);
	}
	}
}

static void
arg_one(struct call_command *command, const struct call_settings *settings, const struct call *call,
	char what)
{
	switch (what) {
	case 'i':
		arg_incarnation(command, call->incarnation);
		return;
	case 'd':
		arg_text(command, settings->daemon_id);
		return;
	case 'x':
		arg_shared(command, settings, ":inbox:");
		return;
	case 'n':
		arg_slice(command, call->name);
		return;
	case 'a':
		arg_attempt(command, call->attempt);
		return;
	case 'h':
		arg_text(command, settings->layout);
		return;
	case 'X':
		arg_incarnation(command, call->disowned);
		return;
	case 'T':
		arg_text(command, settings->trusted ? "1" : "0");
		return;
	default:
		break;
	}
	const int64_t numbers[128] = {
		['t'] = call->token,
		['N'] = call->newest,
		['P'] = call->ttl_ms,
		['D'] = call->deadline_us,
		['b'] = call->block,
		['Q'] = call->queue_ms,
		['L'] = settings->lease_max_ms,
		['J'] = settings->margin_ms,
		/* A greeting is up to a third of a lease older than the last renewal: it counts for as long.
		 */
		['R'] = settings->lease_max_ms + settings->lease_max_ms / 3 + settings->margin_ms,
	};
	arg_number(command, numbers[(unsigned char)what & 127]);
}

/* Enough for all arguments of these calls: each byte of a name may become three. */
static size_t
bytes_needed(const struct call_settings *settings, const struct call *calls, size_t n)
{
	size_t shared = strlen(settings->namespace_) + 32;
	size_t bytes = 256 + 4 * shared + strlen(settings->layout);
	for (size_t i = 0; i < n; i++) {
		size_t template = calls[i].key != NULL ? strlen(calls[i].key) : 0;
		bytes += 4 * (shared + 3 * calls[i].name.n) + template + calls[i].name.n + 7 * 24;
	}
	return bytes;
}

bool
call_encode(struct call_command *command, const struct call_settings *settings, const struct call *calls,
	size_t n)
{
	assert(n >= 1 && n <= CALL_GROUP_MAX);
	const struct shape *shape = &shapes[calls[0].op];
	if (!command_reserve(command, ARGS_FIXED + n * ARGS_PER_CALL, bytes_needed(settings, calls, n)))
		return false;
	arg_text(command, "EVALSHA");
	arg_text(command, scripts[calls[0].op].sha1);
	arg_number(command, (int64_t)(strlen(shape->keys) + n * strlen(shape->name_keys)));
	for (const char *k = shape->keys; *k != '\0'; k++)
		key_one(command, settings, &calls[0], *k);
	for (size_t i = 0; i < n; i++) {
		assert(i == 0 || call_groups(&calls[0], &calls[i]));
		for (const char *k = shape->name_keys; *k != '\0'; k++)
			key_one(command, settings, &calls[i], *k);
	}
	for (const char *a = shape->args; *a != '\0'; a++)
		arg_one(command, settings, &calls[0], *a);
	for (size_t i = 0; i < n; i++)
		for (const char *a = shape->name_args; *a != '\0'; a++)
			arg_one(command, settings, &calls[i], *a);
	size_t at = 0;
	for (int i = 0; i < command->argc; i++) {
		command->argv[i] = command->bytes + at;
		at += command->argvlen[i];
	}
	return true;
}
