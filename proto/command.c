/*
 * command: looks up a verb, checks its arguments against the tables and fills struct command.
 *
 *     request ──▶ row of command.def ──▶ positional arguments ──▶ options ──▶ rules between options
 *
 * Called by the connection for each request; pure. If client libraries read an error, it has Redis's text.
 */
#include "proto/command.h"

#include "proto/escape.h"
#include "proto/option.h"
#include "proto/request.h"

#include <assert.h>
#include <stdio.h>

struct row {
	struct command_info info;
	enum field_id positional[2];
};

#define TEXT(literal)                                                                                        \
	{                                                                                                    \
		literal, sizeof(literal) - 1                                                                 \
	}

static const struct row rows[] = {
#define COMMAND(verb, word, sub, min, max, flags, first, second, syntax, summary)                            \
	[VERB_##verb] = {                                                                                    \
		{TEXT(word), TEXT(sub), min, max, flags, syntax, summary}, {FIELD_##first, FIELD_##second}},
#include "proto/command.def"
#undef COMMAND
};

const struct command_info *
command_info(enum verb verb)
{
	assert((unsigned)verb < VERB_COUNT);
	return &rows[verb].info;
}

void
command_name(enum verb verb, char out[COMMAND_NAME_MAX])
{
	const struct command_info *info = command_info(verb);
	int n = snprintf(
		out, COMMAND_NAME_MAX, "%s%s%s", info->word.p, info->sub.n > 0 ? "|" : "", info->sub.p);

	assert(n > 0 && n < COMMAND_NAME_MAX);
	for (char *c = out; *c != '\0'; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	}
}

void
command_usage(enum verb verb, char out[COMMAND_USAGE_MAX])
{
	const struct command_info *info = command_info(verb);
	bool sub = info->sub.n > 0 && !(info->flags & COMMAND_NAMED);
	int n = snprintf(out, COMMAND_USAGE_MAX, "%s%s%s%s%s", info->word.p, sub ? " " : "",
		sub ? info->sub.p : "", info->syntax[0] != '\0' ? " " : "", info->syntax);

	assert(n > 0 && n < COMMAND_USAGE_MAX);
	option_usage(verb, out + n, COMMAND_USAGE_MAX - (size_t)n);
}

/* What a request has that gives nothing. */
static const struct command command_absent = {
#define MEMBER(type, name, absent) .name = absent,
#include "proto/option.def"
#undef MEMBER
};

/* Redis's text; the arguments are quoted as far as there is room. */
static void
refuse_verb(const struct request *request, struct reply *error)
{
	char word[REPLY_TEXT_MAX / 2];
	char rest[REPLY_TEXT_MAX] = "";
	size_t n = 0;

	(void)escape_text(word, sizeof(word), request->argv[0], ESCAPE_PLAIN);
	for (size_t i = 1; i < request->argc && n + 4 < sizeof(rest); i++) {
		rest[n++] = '\'';
		n += escape_text(rest + n, sizeof(rest) - n - 2, request->argv[i], ESCAPE_PLAIN);
		rest[n++] = '\'';
		rest[n++] = ' ';
		rest[n] = '\0';
	}
	reply_error(error, CODE_ERR, "unknown command '%s', with args beginning with: %s", word, rest);
}

/* The index of the argument that is the subcommand, for a row that has one. */
static size_t
sub_at(const struct command_info *info)
{
	return info->flags & COMMAND_NAMED ? 2 : 1;
}

/* container: a row with the verb of the request, and a subcommand */
static void
refuse_sub(const struct request *request, const struct command_info *container, struct reply *error)
{
	char sub[REPLY_TEXT_MAX / 2];
	struct slice word = container->word;

	if (request->argc <= sub_at(container)) {
		char lower[COMMAND_NAME_MAX];
		size_t n = 0;

		for (; n < word.n; n++)
			lower[n] = (char)(word.p[n] >= 'A' && word.p[n] <= 'Z' ? word.p[n] + ('a' - 'A')
									       : word.p[n]);
		reply_error(error, CODE_ERR, "wrong number of arguments for '%.*s' command. Try %s HELP.",
			(int)n, lower, word.p);
		return;
	}
	(void)escape_text(sub, sizeof(sub), request->argv[sub_at(container)], ESCAPE_PLAIN);
	reply_error(error, CODE_ERR, "unknown subcommand '%s'. Try %s HELP.", sub, word.p);
}

/* Whether verbs with the same first word follow this one in the table. */
static bool
has_subs(enum verb verb)
{
	struct slice word = command_info(verb)->word;

	/* Rows with the same word are adjacent. */
	return verb + 1 < VERB_COUNT && slice_equal(rows[verb + 1].info.word, word);
}

/* The verb, or VERB_COUNT and *error. A row without subcommand matches only if no row with subcommand does.
 */
static enum verb
find_verb(const struct request *request, struct reply *error)
{
	const struct command_info *container = NULL;

	for (size_t i = 0; i < VERB_COUNT; i++) {
		const struct command_info *info = &rows[i].info;
		size_t at;

		if (!option_word_is(info->word, request->argv[0]))
			continue;
		at = sub_at(info);
		if (info->sub.n == 0 && (request->argc == 1 || !has_subs((enum verb)i)))
			return (enum verb)i;
		if (info->sub.n > 0 && request->argc > at && option_word_is(info->sub, request->argv[at]))
			return (enum verb)i;
		if (container == NULL)
			container = info;
	}
	if (container != NULL)
		refuse_sub(request, container, error);
	else
		refuse_verb(request, error);
	return VERB_COUNT;
}

static int
refuse_arity(enum verb verb, struct reply *error)
{
	char name[COMMAND_NAME_MAX];
	char usage[COMMAND_USAGE_MAX];

	command_name(verb, name);
	command_usage(verb, usage);
	reply_error(error, CODE_ERR, "wrong number of arguments for '%s' command; usage: %s", name, usage);
	return -1;
}

/* named: the argument before the subcommand, or NULL */
static int
read_arguments(const struct row *row, const struct slice *named, struct command *out, struct reply *error)
{
	size_t at = 0;
	size_t i = 0;

	if (named != NULL && option_read(row->positional[i++], named, 1, out, error) < 0)
		return -1;
	for (; i < 2 && at < out->argc && row->positional[i] != FIELD_NONE; i++) {
		ptrdiff_t took;

		/* An optional argument is absent if an option is in its place. */
		if (i == 1 && at >= (size_t)row->info.min && option_is(out->verb, out->argv[at]))
			break;
		took = option_read(row->positional[i], out->argv + at, out->argc - at, out, error);
		if (took < 0)
			return -1;
		at += (size_t)took;
	}
	if (!option_known(out->verb))
		return 0;
	return option_parse(out->argv + at, out->argc - at, out, error);
}

/* Checks PERMITS against LIMIT, which makes the name a semaphore. */
static int
check_permits(struct command *c, struct reply *error)
{
	if (c->limit == 0 && c->permits == 0)
		return 0;
	if (c->limit == 0) {
		reply_error(error, CODE_ERR, "PERMITS needs LIMIT: LIMIT n PERMITS k");
		return -1;
	}
	if (c->kind == KIND_SHARED) {
		reply_error(error, CODE_ERR,
			"SHARED and LIMIT exclude each other: a semaphore has permits, no readers");
		return -1;
	}
	if (c->permits > c->limit) {
		reply_error(error, CODE_ERR, "PERMITS must not be more than LIMIT: %lld of %lld",
			(long long)c->permits, (long long)c->limit);
		return -1;
	}
	c->kind = KIND_PERMITS;
	if (c->permits == 0)
		c->permits = 1;
	return 0;
}

/* Checks values against each other. */
static int
check_together(struct command *c, struct reply *error)
{
	if (c->verb == VERB_LOCK && c->id.n > 0 && c->as.n > 0) {
		reply_error(error, CODE_ERR,
			"AS and ASYNC exclude each other: LOCK ... AS id is answered when its wait is over");
		return -1;
	}
	return check_permits(c, error);
}

int
command_parse(const struct request *request, struct command *out, struct reply *error)
{
	enum verb verb;
	const struct row *row;
	const struct slice *named;
	size_t words;
	struct command c;

	assert(request->argc > 0);
	verb = find_verb(request, error);
	if (verb == VERB_COUNT)
		return -1;
	row = &rows[verb];
	named = row->info.flags & COMMAND_NAMED ? &request->argv[1] : NULL;
	words = (size_t)1 + (row->info.sub.n > 0) + (named != NULL);
	c = command_absent;
	c.verb = verb;
	c.argv = request->argv + words;
	c.argc = request->argc - words;
	if (row->info.max >= 0 && c.argc > (size_t)row->info.max && c.argc >= 2 &&
		(row->info.flags & COMMAND_CORE) != 0 && option_word_is(SLICE("AS"), c.argv[c.argc - 2])) {
		option_refuse_as(verb, error);
		return -1;
	}
	if (c.argc < (size_t)row->info.min || (row->info.max >= 0 && c.argc > (size_t)row->info.max))
		return refuse_arity(verb, error);
	if (read_arguments(row, named, &c, error) != 0 || check_together(&c, error) != 0)
		return -1;
	*out = c;
	return 0;
}

bool
command_needs_push(const struct command *command)
{
	if (command->verb == VERB_LOCK)
		return command->id.n > 0;
	return command->verb == VERB_SESSION_ONLOSS && command->onloss == ONLOSS_PUSH;
}
