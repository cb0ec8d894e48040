/*
 * command: looks a verb up, checks its arguments against the tables and fills struct command.
 *
 *     request ──▶ row of command.def ──▶ positional arguments ──▶ options ──▶ rules between options
 *
 * Called by the connection for each request; pure. Errors follow Redis' words where client libraries look at
 * them.
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

/* As Redis words it; what follows the verb is quoted as long as there is room. */
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

static void
refuse_sub(const struct request *request, struct slice word, struct reply *error)
{
	char sub[REPLY_TEXT_MAX / 2];

	if (request->argc < 2) {
		char lower[COMMAND_NAME_MAX];
		size_t n = 0;

		for (; n < word.n; n++)
			lower[n] = (char)(word.p[n] >= 'A' && word.p[n] <= 'Z' ? word.p[n] + ('a' - 'A')
									       : word.p[n]);
		reply_error(error, CODE_ERR, "wrong number of arguments for '%.*s' command. Try %s HELP.",
			(int)n, lower, word.p);
		return;
	}
	(void)escape_text(sub, sizeof(sub), request->argv[1], ESCAPE_PLAIN);
	reply_error(error, CODE_ERR, "unknown subcommand '%s'. Try %s HELP.", sub, word.p);
}

/* The verb, or VERB_COUNT and *error. A row without subcommand matches only when nothing more fitting does.
 */
static enum verb
find_verb(const struct request *request, struct reply *error)
{
	struct slice container = {NULL, 0};

	for (size_t i = 0; i < VERB_COUNT; i++) {
		const struct command_info *info = &rows[i].info;

		if (!option_word_is(info->word, request->argv[0]))
			continue;
		if (info->sub.n == 0 && (request->argc == 1 || !command_has_subs((enum verb)i)))
			return (enum verb)i;
		if (info->sub.n > 0 && request->argc > 1 && option_word_is(info->sub, request->argv[1]))
			return (enum verb)i;
		container = info->word;
	}
	if (container.n > 0)
		refuse_sub(request, container, error);
	else
		refuse_verb(request, error);
	return VERB_COUNT;
}

bool
command_has_subs(enum verb verb)
{
	struct slice word = command_info(verb)->word;

	/* Rows of one word stand together. */
	return verb + 1 < VERB_COUNT && slice_equal(rows[verb + 1].info.word, word);
}

static int
refuse_arity(enum verb verb, struct reply *error)
{
	const struct command_info *info = command_info(verb);
	char name[COMMAND_NAME_MAX];

	command_name(verb, name);
	reply_error(error, CODE_ERR, "wrong number of arguments for '%s' command; usage: %s%s%s%s%s", name,
		info->word.p, info->sub.n > 0 ? " " : "", info->sub.p, info->syntax[0] != '\0' ? " " : "",
		info->syntax);
	return -1;
}

static int
read_arguments(const struct row *row, struct command *out, struct reply *error)
{
	size_t at = 0;

	for (size_t i = 0; i < 2 && at < out->argc && row->positional[i] != FIELD_NONE; i++) {
		ptrdiff_t took = option_read(row->positional[i], out->argv + at, out->argc - at, out, error);

		if (took < 0)
			return -1;
		at += (size_t)took;
	}
	if (!option_known(out->verb))
		return 0;
	return option_parse(out->argv + at, out->argc - at, out, error);
}

/* What single values cannot say. */
static int
check_together(const struct command *c, struct reply *error)
{
	if (c->verb == VERB_LOCK && c->id.n > 0 && c->validity) {
		reply_error(
			error, CODE_ERR, "VALIDITY and ASYNC exclude each other; send CHECK after the grant");
		return -1;
	}
	return 0;
}

int
command_parse(const struct request *request, struct command *out, struct reply *error)
{
	enum verb verb;
	const struct row *row;
	size_t words;
	struct command c;

	assert(request->argc > 0);
	verb = find_verb(request, error);
	if (verb == VERB_COUNT)
		return -1;
	row = &rows[verb];
	words = row->info.sub.n > 0 ? 2 : 1;
	c = (struct command){.verb = verb, .wait_ms = COMMAND_WAIT_RULE, .retries = COMMAND_RETRIES_ANY};
	c.count = verb == VERB_LOCKS ? COMMAND_COUNT_DEFAULT : 0;
	c.argv = request->argv + words;
	c.argc = request->argc - words;
	if (c.argc < (size_t)row->info.min || (row->info.max >= 0 && c.argc > (size_t)row->info.max))
		return refuse_arity(verb, error);
	if (read_arguments(row, &c, error) != 0 || check_together(&c, error) != 0)
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
