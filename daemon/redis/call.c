/*
 * call: encodes the core's calls as Redis commands; see call.h. The pool and the simulator use it. It must
 * never do I/O.
 */
#include "daemon/redis/call.h"

#include "daemon/redis/call_command.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARGS_FIXED    27 /* EVALSHA sha n, and at most the arguments of HELLO */
#define ARGS_PER_CALL 11 /* ADOPT of a share at N masters: 3 keys, 8 arguments, if all terms differ */

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

/* Begins a command of at most this many words and bytes. False: out of memory. */
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

enum script_id
script_of(const struct call *call)
{
	static const enum script_id of_groups[CALL_OP_COUNT] = {
#define GROUP_SCRIPT(name, script) [CALL_##name] = SCRIPT_GROUP_##name,
		GROUP_SCRIPTS(GROUP_SCRIPT)
#undef GROUP_SCRIPT
	};

	static const enum script_id of_redisson[CALL_OP_COUNT] = {
#define REDISSON_SCRIPT(name, script) [CALL_##name] = SCRIPT_REDISSON_##name,
		REDISSON_SCRIPTS(REDISSON_SCRIPT)
#undef REDISSON_SCRIPT
	};

	static const enum script_id of_signals[CALL_OP_COUNT] = {
#define SIGNAL_SCRIPT(name, script) [CALL_##name] = SCRIPT_SIGNAL_##name,
		SIGNAL_SCRIPTS(SIGNAL_SCRIPT)
#undef SIGNAL_SCRIPT
	};

	if (call->interop == INTEROP_REDISSON && of_redisson[call->op] != 0)
		return of_redisson[call->op];
	if (call->interop == INTEROP_PYTHON_REDIS_LOCK && of_signals[call->op] != 0)
		return of_signals[call->op];
	if (call->kind != KIND_EXCLUSIVE && of_groups[call->op] != 0)
		return of_groups[call->op];
	return (enum script_id)call->op;
}

bool
call_groups(const struct call *a, const struct call *b)
{
	return script_of(a) == script_of(b) && a->link == b->link && a->incarnation == b->incarnation &&
	       a->op != CALL_HELLO && a->op != CALL_ADMIT && a->set == b->set && a->fenced == b->fenced &&
	       (a->op != CALL_RELEASE ||
		       (a->queue_ms == b->queue_ms && (a->deadline_us > 0) == (b->deadline_us > 0)));
}

/* '<incarnation><set of masters>', as the node stores it, and ' <mark>': see lua/node.inc. */
static void
arg_memory(struct call_command *command, const struct call *call, bool marked)
{
	char mark[17] = {' '};
	int64_t n = call->mark;
	for (size_t i = sizeof(mark) - 1; i > 0; n /= 10)
		mark[i--] = (char)('0' + n % 10);
	call_command_begin(command);
	call_command_put_hexadecimal(command, call->incarnation, 16);
	call_command_put_hexadecimal(command, call->set, 8);
	call_command_put(command, mark, marked ? sizeof(mark) : 0);
	call_command_end(command);
}

static void
arg_owner(struct call_command *command, const struct call_settings *settings, const struct call *call)
{
	call_command_begin(command);
	assert(command->used + CALL_OWNER_SIZE <= command->room);
	command->used += call_owner(settings->daemon_id, call->attempt, command->bytes + command->used);
	call_command_end(command);
}

/* See lua/form.inc. */
static void
arg_form(struct call_command *command, const struct call *call)
{
	call_command_begin(command);
	if (call->kind == KIND_SHARED) {
		call_command_put_text(command, "shared");
	} else {
		assert(call->limit > 0);
		call_command_put_text(command, "permits ");
		call_command_put_number(command, call->limit);
		call_command_put(command, " ", 1);
		call_command_put_number(command, call->permits);
		call_command_put(command, " ", 1);
		call_command_put_number(command, (int64_t)((uint64_t)call->hint % (uint64_t)call->limit));
		call_command_put(command, " ", 1);
		call_command_put(command, call->slots.p, call->slots.n);
	}
	call_command_end(command);
}

/* A call for no tokens may propose any. */
static bool
terms_equal(const struct call *a, const struct call *b)
{
	return a->ttl_ms == b->ttl_ms && a->block == b->block && a->queue_ms == b->queue_ms &&
	       (!a->fenced || a->block == 0 || a->token == b->token);
}

/* The terms, once for each row of calls that have the same terms, and the number of calls in the row, unless
 * it is the last row. */
static void
args_terms(struct call_command *command, const struct call *calls, size_t n, bool queued)
{
	size_t count;
	for (size_t i = 0; i < n; i += count) {
		for (count = 1; i + count < n && terms_equal(&calls[i], &calls[i + count]); count++)
			continue;
		call_command_number(command, calls[i].ttl_ms);
		call_command_number(command, calls[i].block);
		if (queued)
			call_command_number(command, calls[i].queue_ms);
		if (calls[i].fenced)
			call_command_number(command, calls[i].token);
		if (i + count < n)
			call_command_number(command, (int64_t)count);
	}
}

/* NAMESPACE:tail */
static void
arg_shared(struct call_command *command, const struct call_settings *settings, const char *tail)
{
	call_command_begin(command);
	call_command_put_text(command, settings->namespace_);
	call_command_put_text(command, tail);
	call_command_end(command);
}

/* NAME in braces; a name without bytes to escape, as most are, is copied in one piece. */
static void
put_name(struct call_command *command, struct slice name)
{
	size_t done = 0;
	if (memchr(name.p, '%', name.n) == NULL && memchr(name.p, '}', name.n) == NULL) {
		call_command_put(command, name.p, name.n);
		return;
	}
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] != '%' && name.p[i] != '}')
			continue;
		call_command_put(command, name.p + done, i - done);
		call_command_put(command, name.p[i] == '%' ? "%25" : "%7D", 3);
		done = i + 1;
	}
	call_command_put(command, name.p + done, name.n - done);
}

/* NAMESPACE:{NAME}tail */
static void
arg_native(struct call_command *command, const struct call_settings *settings, struct slice name,
	const char *tail)
{
	call_command_begin(command);
	call_command_put_text(command, settings->namespace_);
	call_command_put(command, ":{", 2);
	put_name(command, name);
	call_command_put(command, "}", 1);
	call_command_put_text(command, tail);
	call_command_end(command);
}

static void
arg_lease(struct call_command *command, const struct call_settings *settings, const struct call *call)
{
	const char *percent = call->key != NULL ? strchr(call->key, '%') : NULL;
	if (percent == NULL) {
		arg_native(command, settings, call->name, "");
		return;
	}
	call_command_begin(command);
	call_command_put(command, call->key, (size_t)(percent - call->key));
	call_command_put(command, call->name.p, call->name.n);
	call_command_put_text(command, percent + 1);
	call_command_end(command);
}

/* The arguments of a script: one letter for each KEYS and ARGV at its top, in that order. The arguments of
 * the names go letter by letter: the first letter for all names, then the second for all. */
struct shape {
	const char *keys; /* once: n node, r reclaimed */
	const char
		*name_keys; /* each: l lease, first; q queue, f fence; or c latch or b the bare name, alone */
	const char *args;   /* once for all names; see arg_one() and number_of() */
	const char *name_args; /* for each name */
	bool terms;            /* then the ttl and block of all and, if fenced, the token */
	bool queued;           /* the terms have the time in the queue, too */
};

static const struct shape shapes[SCRIPT_COUNT] = {
	[SCRIPT_HELLO] = {"nr", "", "mdtLJhRTXnMSWAEGVYFHg", "", false, false},
	[SCRIPT_ADMIT] = {"nr", "", "mtg", "", false, false},
	[SCRIPT_ACQUIRE] = {"n", "lq", "mDt", "o", true, true},
	[SCRIPT_RENEW] = {"n", "lq", "mt", "o", true, false},
	[SCRIPT_RECLAIM] = {"nr", "l", "m", "oPDtNf", false, false},
	[SCRIPT_ADOPT] = {"n", "lq", "mt", "ofD", true, false},
	[SCRIPT_RELEASE] = {"n", "lq", "i", "o", false, false},
	[SCRIPT_LEAVE] = {"n", "lq", "mdx", "o", false, false},
	[SCRIPT_LATCH] = {"n", "c", "mdx", "OIDsPqw", false, false},
	[SCRIPT_ENTER] = {"n", "lq", "mdx", "qo", false, false},
	[SCRIPT_GROUP_ACQUIRE] = {"n", "lq", "mdxDt", "ok", true, true},
	[SCRIPT_GROUP_RENEW] = {"n", "lq", "mxt", "ok", true, false},
	[SCRIPT_GROUP_RECLAIM] = {"nr", "l", "m", "okPDtNf", false, false},
	[SCRIPT_GROUP_ADOPT] = {"n", "lq", "mxt", "okfD", true, false},
	[SCRIPT_GROUP_RELEASE] = {"n", "lq", "mx", "ok", false, false},
	[SCRIPT_REDISSON_ACQUIRE] = {"n", "b", "mDt", "oPB", false, false},
	[SCRIPT_REDISSON_RENEW] = {"n", "b", "mt", "oPB", false, false},
	[SCRIPT_REDISSON_RECLAIM] = {"n", "b", "m", "oPDtf", false, false},
	[SCRIPT_REDISSON_ADOPT] = {"n", "b", "mt", "oPBfD", false, false},
	[SCRIPT_REDISSON_RELEASE] = {"n", "b", "i", "o", false, false},
	[SCRIPT_SIGNAL_RELEASE] = {"n", "lq", "i", "o", false, false},
	[SCRIPT_LOOKUP] = {"n", "lq", "", "", false, false},
};

/* The arguments where each name has a token counter of its own. */
static const struct shape fenced_shapes[SCRIPT_COUNT] = {
	[SCRIPT_ACQUIRE] = {"n", "lqf", "mD-", "o", true, true},
	[SCRIPT_RENEW] = {"n", "lqf", "m-", "o", true, false},
	[SCRIPT_ADOPT] = {"n", "lqf", "m-", "ofD", true, false},
	[SCRIPT_GROUP_ACQUIRE] = {"n", "lqf", "mdxD-", "ok", true, true},
	[SCRIPT_GROUP_RENEW] = {"n", "lqf", "mx-", "ok", true, false},
	[SCRIPT_GROUP_ADOPT] = {"n", "lqf", "mx-", "okfD", true, false},
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
	case 'b':
		call_command_slice(command, call->name);
		return;
	case 'c':
		arg_native(command, settings, call->name, ":l");
		return;
	default: {
		const char tail[] = {':', what, '\0'};
		arg_native(command, settings, call->name, tail);
	}
	}
}

/* The key beside a lease under its native name, whose key is an argument already. */
static void
arg_beside(struct call_command *command, int lease, char what)
{
	const char tail[] = {':', what};
	call_command_begin(command);
	call_command_put(command, command->argv[lease], command->argvlen[lease]);
	call_command_put(command, tail, sizeof(tail));
	call_command_end(command);
}

/* The keys of each name, the lease first. */
static void
name_keys(struct call_command *command, const struct call_settings *settings, const struct call *calls,
	size_t n, const char *what)
{
	int lease = command->argc;
	for (; *what != '\0'; what++) {
		for (size_t i = 0; i < n; i++) {
			if (strchr("lcb", *what) == NULL && calls[i].key == NULL)
				arg_beside(command, lease + (int)i, *what);
			else
				key_one(command, settings, &calls[i], *what);
		}
	}
}

static int64_t
number_of(const struct call_settings *settings, const struct call *call, char what)
{
	switch (what) {
	case 't':
		return call->token;
	case 'A':
		return call->agreement;
	case 'V':
		return call->next.step;
	case 'N':
		return call->newest;
	case 'B':
		return call->block;
	case 'P':
		return call->ttl_ms;
	case 's':
		return call->steps;
	case 'q':
		return call->queue_ms;
	case 'D':
		return call->deadline_us;
	case 'F':
		return CALL_FORMAT;
	case 'L':
		return call->wanted_lease_ms;
	case 'g':
		return call->guarded_lease_ms;
	case 'J':
		return settings->margin_ms;
	case 'R':
		if (call->leaves)
			return 0;
		/* A lease that is requested up to two thirds of a lease after the HELLO ends before the
		 * registration does (master.h). */
		return call->wanted_lease_ms + call->wanted_lease_ms * 2 / 3 + settings->margin_ms;
	default:
		assert(false && "a letter of a shape that means nothing");
		return 0;
	}
}

static struct slice
text_of(const struct call *call, char what)
{
	switch (what) {
	case 'n':
		return call->nonces;
	case 'S':
		return call->masterset;
	case 'W':
		return call->places;
	case 'E':
		return call->next.set;
	case 'G':
		return call->next.places;
	default:
		return call->previous;
	}
}

static const char *const latch_words[LATCH_OP_COUNT] = {
#define LATCH_OP(name, word) word,
	LATCH_OPS(LATCH_OP)
#undef LATCH_OP
};

/* <session>, or <session>:<tag> */
static void
arg_who(struct call_command *command, const struct call *call)
{
	assert(call->session <= INT64_MAX); /* sessions are counted */
	call_command_begin(command);
	call_command_put_number(command, (int64_t)call->session);
	if (call->tag.n > 0) {
		call_command_put(command, ":", 1);
		call_command_put(command, call->tag.p, call->tag.n);
	}
	call_command_end(command);
}

static void
arg_one(struct call_command *command, const struct call_settings *settings, const struct call *call,
	char what)
{
	switch (what) {
	case 'i':
	case 'm':
		arg_memory(command, call, what == 'm');
		return;
	case 'd':
		call_command_text(command, settings->daemon_id);
		return;
	case 'x':
		arg_shared(command, settings, ":inbox:");
		return;
	case 'o':
		arg_owner(command, settings, call);
		return;
	case 'k':
		arg_form(command, call);
		return;
	case '-':
		call_command_text(command, "");
		return;
	case 'h':
		call_command_text(command, settings->layout);
		return;
	case 'H':
		call_command_text(command, settings->about != NULL ? settings->about : "");
		return;
	case 'X':
		call_command_hexadecimal(command, call->doubted);
		return;
	case 'O':
		call_command_text(command, latch_words[call->latch_op]);
		return;
	case 'I':
		call_command_hexadecimal(command, call->latch);
		return;
	case 'w':
		arg_who(command, call);
		return;
	case 'M':
		call_command_hexadecimal(command, call->id);
		return;
	case 'Y':
		call_command_begin(command);
		call_command_put_hexadecimal(command, call->next.tag, 8);
		call_command_end(command);
		return;
	case 'n':
	case 'S':
	case 'W':
	case 'E':
	case 'G':
	case 'f':
		call_command_slice(command, text_of(call, what));
		return;
	case 'T':
		call_command_text(command, settings->trusted ? "1" : "0");
		return;
	default:
		call_command_number(command, number_of(settings, call, what));
	}
}

/* Enough bytes for all arguments of these calls: each byte of a name may become three. */
static size_t
bytes_needed(const struct call_settings *settings, const struct call *calls, size_t n)
{
	size_t shared = strlen(settings->namespace_) + 32;
	size_t bytes = 256 + 4 * shared + strlen(settings->layout) +
		       (settings->about != NULL ? strlen(settings->about) : 0);
	for (size_t i = 0; i < n; i++) {
		const struct call *call = &calls[i];
		size_t template = call->key != NULL ? strlen(call->key) : 0;
		bytes += 3 * (shared + 3 * call->name.n) + template + call->name.n;
		bytes += CALL_DAEMON_ID_SIZE + 12 * NUMBER_TEXT_MAX;
		if (call_about_lease(call->op))
			bytes += call->slots.n + call->previous.n;
		else if (call->op == CALL_LATCH)
			bytes += call->tag.n;
		else
			bytes += call->nonces.n + call->masterset.n + call->places.n + call->next.set.n +
				 call->next.places.n;
	}
	return bytes;
}

/* What a command says once for all its calls: the earliest deadline holds for each call, no token is below
 * the highest proposal, and the greatest mark identifies the memory for all. */
static struct call
call_common(const struct call *calls, size_t n)
{
	struct call common = calls[0];
	for (size_t i = 1; i < n; i++) {
		assert(call_groups(&calls[0], &calls[i]));
		if (calls[i].deadline_us < common.deadline_us)
			common.deadline_us = calls[i].deadline_us;
		if (calls[i].token > common.token)
			common.token = calls[i].token;
		if (calls[i].mark > common.mark)
			common.mark = calls[i].mark;
	}
	return common;
}

/* Whether the release also asks for a position in the queue, or for the time. */
static bool
release_says_more(enum script_id id, const struct call *call)
{
	return (id == SCRIPT_RELEASE && (call->queue_ms > 0 || call->deadline_us > 0)) ||
	       ((id == SCRIPT_GROUP_RELEASE || id == SCRIPT_SIGNAL_RELEASE) && call->queue_ms > 0);
}

bool
call_encode(struct call_command *command, const struct call_settings *settings, const struct call *calls,
	size_t n)
{
	assert(n >= 1 && n <= CALL_GROUP_MAX);
	enum script_id id = script_of(&calls[0]);
	const bool own = calls[0].fenced && fenced_shapes[id].keys != NULL;
	const struct shape *shape = own ? &fenced_shapes[id] : &shapes[id];
	const struct call common = call_common(calls, n);
	if (!command_reserve(command, ARGS_FIXED + n * ARGS_PER_CALL, bytes_needed(settings, calls, n)))
		return false;
	call_command_text(command, "EVALSHA");
	call_command_text(command, scripts[id].sha1);
	call_command_number(command, (int64_t)(strlen(shape->keys) + n * strlen(shape->name_keys)));
	for (const char *k = shape->keys; *k != '\0'; k++)
		key_one(command, settings, &common, *k);
	name_keys(command, settings, calls, n, shape->name_keys);
	for (const char *a = shape->args; *a != '\0'; a++)
		arg_one(command, settings, &common, *a);
	for (const char *a = shape->name_args; *a != '\0'; a++)
		for (size_t i = 0; i < n; i++)
			arg_one(command, settings, &calls[i], *a);
	if (shape->terms)
		args_terms(command, calls, n, shape->queued);
	if (release_says_more(id, &common))
		call_command_number(command, common.queue_ms);
	return true;
}

bool
call_encode_lookup(struct call_command *command, const struct call_settings *settings,
	const struct call *about, bool daemons)
{
	const struct shape *shape = &shapes[SCRIPT_LOOKUP];
	const bool named = about->name.n > 0;
	if (!command_reserve(command, ARGS_FIXED, bytes_needed(settings, about, 1)))
		return false;
	call_command_text(command, "EVALSHA");
	call_command_text(command, scripts[SCRIPT_LOOKUP].sha1);
	call_command_number(command, named ? 3 : 1);
	key_one(command, settings, about, shape->keys[0]);
	if (named && about->interop == INTEROP_REDISSON) {
		key_one(command, settings, about, 'b');
		key_one(command, settings, about, 'q');
	} else if (named) {
		name_keys(command, settings, about, 1, shape->name_keys);
	}
	call_command_number(command, daemons);
	return true;
}
