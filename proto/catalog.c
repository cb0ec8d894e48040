/*
 * catalog: writes the tables for client libraries and people. The form follows Redis 7, because libraries
 * parse it: redis-cli builds its help and completion from COMMAND DOCS, and cluster clients read COMMAND.
 */
#include "proto/catalog.h"

#include "proto/command.h"
#include "proto/option.h"
#include "proto/reply.h"

#include <assert.h>
#include <stdio.h>

#define ANSWER_MOST (1 << 20) /* COMMAND DOCS, the longest answer, needs a tenth */

/* Rows with the same word are adjacent; the first one is their leader. */
static bool
is_leader(size_t v)
{
	const struct command_info *info = command_info((enum verb)v);

	if (info->flags & COMMAND_CLOSE)
		return false;
	return v == 0 || !slice_equal(info->word, command_info((enum verb)(v - 1))->word);
}

static size_t
group_end(size_t v)
{
	struct slice word = command_info((enum verb)v)->word;

	while (v < VERB_COUNT && slice_equal(command_info((enum verb)v)->word, word))
		v++;
	return v;
}

static size_t
count_leaders(void)
{
	size_t n = 0;

	for (size_t v = 0; v < VERB_COUNT; v++)
		n += (size_t)is_leader(v);
	return n;
}

static size_t
count_subs(size_t leader)
{
	size_t n = 0;

	for (size_t v = leader; v < group_end(leader); v++)
		n += command_info((enum verb)v)->sub.n > 0;
	return n;
}

/* With a name before the subcommand it is not a container in the sense of libraries, but one command with
 * alternatives.
 */
static bool
is_named(size_t v)
{
	return (command_info((enum verb)v)->flags & COMMAND_NAMED) != 0;
}

static bool
is_container(size_t v)
{
	return is_leader(v) && !is_named(v) && count_subs(v) > 0;
}

/* "client" for a leader that has subcommands, "client|setname" for each of them, "lock" for others. */
static void
write_name(struct buffer *b, size_t v, bool whole)
{
	char name[COMMAND_NAME_MAX];
	size_t n;

	command_name((enum verb)v, name);
	n = whole ? strlen(name) : command_info((enum verb)v)->word.n;
	reply_write_bulk(b, (struct slice){name, n});
}

/* The flags of a row, with those of its alternatives. */
static unsigned
flags_of(size_t v)
{
	unsigned flags = 0;

	if (!is_named(v))
		return command_info((enum verb)v)->flags;
	for (size_t s = v; s < group_end(v); s++)
		flags |= command_info((enum verb)s)->flags;
	return flags;
}

static void
write_flags(struct buffer *b, int version, size_t v)
{
	unsigned flags = flags_of(v);
	bool blocking = (flags & COMMAND_WAITS) != 0;
	bool admin = (flags & COMMAND_ADMIN) != 0;
	bool open = (flags & COMMAND_OPEN) != 0;

	reply_write_set(b, version, (size_t)1 + blocking + admin + open);
	reply_write_simple(b, "noscript");
	if (blocking)
		reply_write_simple(b, "blocking");
	if (admin)
		reply_write_simple(b, "admin");
	if (open)
		reply_write_simple(b, "no_auth");
}

/* The arity as in Redis: it includes the words; negative: at least that many. */
static int64_t
arity(size_t v)
{
	const struct command_info *info = command_info((enum verb)v);
	int64_t words = info->sub.n > 0 ? 2 : 1;

	if (is_named(v))
		return -3;
	return info->min == info->max ? words + info->min : -(words + info->min);
}

static bool
takes_name(size_t v)
{
	const struct command_info *info = command_info((enum verb)v);

	return strncmp(info->syntax, "name", 4) == 0 && (info->sub.n == 0 || is_named(v));
}

/* Ten elements, of which the last lists the subcommands. */
static void
write_info(struct buffer *b, int version, size_t v, bool whole)
{
	bool container = !whole && is_container(v);
	int64_t key = takes_name(v);

	reply_write_array(b, 10);
	write_name(b, v, whole);
	reply_write_int(b, !container ? arity(v) : command_info((enum verb)v)->sub.n > 0 ? -2 : -1);
	write_flags(b, version, v);
	reply_write_int(b, key);
	reply_write_int(b, key);
	reply_write_int(b, key);
	reply_write_set(b, version, 0);
	reply_write_array(b, 0);
	reply_write_array(b, 0);
	if (!container) {
		reply_write_array(b, 0);
		return;
	}
	reply_write_array(b, count_subs(v));
	for (size_t s = v; s < group_end(v); s++) {
		if (command_info((enum verb)s)->sub.n > 0)
			write_info(b, version, s, true);
	}
}

static size_t
count_options(size_t v)
{
	size_t n = 0;

	for (size_t i = 0; option_info(i) != NULL; i++)
		n += verbs_have(option_info(i)->verbs, (enum verb)v);
	return n;
}

/* The positional arguments, with COMMAND_NAMED those after the subcommand, without brackets where options
 * follow. */
static struct slice
positional_of(size_t v, bool *optional)
{
	const struct command_info *info = command_info((enum verb)v);
	struct slice syntax = slice_of(info->syntax);

	*optional = false;
	if (is_named(v)) {
		const char *sub = strstr(syntax.p, info->sub.p);

		assert(sub != NULL);
		sub += info->sub.n;
		syntax = slice_of(sub + strspn(sub, " "));
	}
	if (syntax.n > 0 && syntax.p[0] == '[' && (is_named(v) || option_known((enum verb)v))) {
		*optional = true;
		syntax = (struct slice){syntax.p + 1, syntax.n - 2};
	}
	return syntax;
}

static void
write_argument(
	struct buffer *b, int version, struct slice name, const struct option_info *option, bool optional)
{
	reply_write_map(b, version, (size_t)2 + (option != NULL) + optional);
	reply_write_pair_bulk(b, "name", name);
	reply_write_pair_text(
		b, "type", option != NULL && option->syntax[0] == '\0' ? "pure-token" : "string");
	if (option != NULL)
		reply_write_pair_bulk(b, "token", option->word);
	if (optional) {
		reply_write_text(b, "flags");
		reply_write_array(b, 1);
		reply_write_simple(b, "optional");
	}
}

static void
write_options(struct buffer *b, int version, size_t v)
{
	for (size_t i = 0; option_info(i) != NULL; i++) {
		const struct option_info *option = option_info(i);
		bool flag = option->syntax[0] == '\0';

		if (verbs_have(option->verbs, (enum verb)v))
			write_argument(b, version, flag ? option->word : slice_of(option->syntax), option,
				!verbs_have(option->required, (enum verb)v));
	}
}

/* The head of an argument that consists of `parts` others, which follow. */
static void
write_compound(struct buffer *b, int version, struct slice name, const char *type, size_t parts)
{
	reply_write_map(b, version, 3);
	reply_write_pair_bulk(b, "name", name);
	reply_write_pair_text(b, "type", type);
	reply_write_text(b, "arguments");
	reply_write_array(b, parts);
}

/* The subcommand as a word, and its arguments. */
static void
write_alternative(struct buffer *b, int version, size_t v)
{
	bool optional;
	struct slice positional = positional_of(v, &optional);
	struct slice sub = command_info((enum verb)v)->sub;

	write_compound(b, version, sub, "block", (size_t)1 + (positional.n > 0) + count_options(v));
	reply_write_map(b, version, 3);
	reply_write_pair_bulk(b, "name", sub);
	reply_write_pair_text(b, "type", "pure-token");
	reply_write_pair_bulk(b, "token", sub);
	if (positional.n > 0)
		write_argument(b, version, positional, NULL, optional);
	write_options(b, version, v);
}

static void
write_alternatives(struct buffer *b, int version, size_t leader)
{
	size_t n = 0;

	for (size_t v = leader; v < group_end(leader); v++)
		n += is_named(v);
	reply_write_array(b, 2);
	write_argument(b, version, SLICE("name"), NULL, false);
	write_compound(b, version, SLICE("operation"), "oneof", n);
	for (size_t v = leader; v < group_end(leader); v++) {
		if (is_named(v))
			write_alternative(b, version, v);
	}
}

static void
write_arguments(struct buffer *b, int version, size_t v)
{
	bool optional;
	struct slice positional = positional_of(v, &optional);

	reply_write_text(b, "arguments");
	if (is_named(v)) {
		write_alternatives(b, version, v);
		return;
	}
	reply_write_array(b, count_options(v) + (positional.n > 0));
	if (positional.n > 0)
		write_argument(b, version, positional, NULL, optional);
	write_options(b, version, v);
}

static void
write_docs(struct buffer *b, int version, size_t v, bool whole)
{
	bool container = !whole && is_container(v);
	bool family = !whole && command_info((enum verb)v)->sub.n > 0;

	reply_write_map(b, version, container ? 5 : 4);
	reply_write_pair_text(
		b, "summary", family ? "A family of commands." : command_info((enum verb)v)->summary);
	reply_write_pair_text(b, "since", "0.1.0");
	reply_write_pair_text(b, "group", "holdfast");
	if (!container) {
		write_arguments(b, version, v);
		return;
	}
	reply_write_text(b, "arguments");
	reply_write_array(b, 0);
	reply_write_text(b, "subcommands");
	reply_write_map(b, version, count_subs(v));
	for (size_t s = v; s < group_end(v); s++) {
		if (command_info((enum verb)s)->sub.n == 0)
			continue;
		write_name(b, s, true);
		write_docs(b, version, s, true);
	}
}

/* Whether clients know the subcommand by its own name, "client|setname". */
static bool
is_own(size_t v)
{
	return command_info((enum verb)v)->sub.n > 0 && !is_named(v);
}

/* Whether `given` is its name by command_name(). */
static bool
is_called(size_t v, struct slice given)
{
	const struct command_info *info = command_info((enum verb)v);
	size_t n = info->word.n;

	return given.n == n + 1 + info->sub.n && given.p[n] == '|' &&
	       option_word_is(info->word, (struct slice){given.p, n}) &&
	       option_word_is(info->sub, (struct slice){given.p + n + 1, info->sub.n});
}

/* Finds a command by a client's name for it: "lock", "CLIENT", "client|setname". VERB_COUNT: none. */
static size_t
find_named(struct slice given, bool *whole)
{
	for (size_t v = 0; v < VERB_COUNT; v++) {
		*whole = is_own(v);
		if (*whole && is_called(v, given))
			return v;
		if (is_leader(v) && option_word_is(command_info((enum verb)v)->word, given)) {
			*whole = false;
			return v;
		}
	}
	return VERB_COUNT;
}

static void
write_all_info(struct buffer *b, int version, const struct command *c)
{
	if (c->argc == 0) {
		reply_write_array(b, count_leaders());
		for (size_t v = 0; v < VERB_COUNT; v++) {
			if (is_leader(v))
				write_info(b, version, v, false);
		}
		return;
	}
	reply_write_array(b, c->argc);
	for (size_t i = 0; i < c->argc; i++) {
		bool whole;
		size_t v = find_named(c->argv[i], &whole);

		if (v < VERB_COUNT)
			write_info(b, version, v, whole);
		else
			reply_write_null(b, version);
	}
}

static void
write_all_docs(struct buffer *b, int version, const struct command *c)
{
	size_t found = 0;
	bool whole;

	if (c->argc == 0) {
		reply_write_map(b, version, count_leaders());
		for (size_t v = 0; v < VERB_COUNT; v++) {
			if (!is_leader(v))
				continue;
			write_name(b, v, false);
			write_docs(b, version, v, false);
		}
		return;
	}
	for (size_t i = 0; i < c->argc; i++)
		found += find_named(c->argv[i], &whole) < VERB_COUNT;
	reply_write_map(b, version, found);
	for (size_t i = 0; i < c->argc; i++) {
		size_t v = find_named(c->argv[i], &whole);

		if (v == VERB_COUNT)
			continue;
		write_name(b, v, whole);
		write_docs(b, version, v, whole);
	}
}

static void
write_list(struct buffer *b)
{
	size_t n = 0;

	for (size_t v = 0; v < VERB_COUNT; v++)
		n += (size_t)is_leader(v) + is_own(v);
	reply_write_array(b, n);
	for (size_t v = 0; v < VERB_COUNT; v++) {
		if (is_leader(v))
			write_name(b, v, false);
		if (is_own(v))
			write_name(b, v, true);
	}
}

/* Help in the form of Redis: simple strings, two for each subcommand. */
static void
write_help(struct buffer *b, enum verb verb)
{
	struct slice word = command_info(verb)->word;
	size_t first = verb;
	char line[256];
	bool named;

	while (first > 0 && slice_equal(command_info((enum verb)(first - 1))->word, word))
		first--;
	named = is_named(first);
	reply_write_array(b, 1 + 2 * count_subs(first));
	(void)snprintf(line, sizeof(line), "%s %s<subcommand> [<arg> [value] ...]. Subcommands are:", word.p,
		named ? "<name> " : "");
	reply_write_simple(b, line);
	for (size_t v = first; v < group_end(first); v++) {
		const struct command_info *info = command_info((enum verb)v);

		if (info->sub.n == 0)
			continue;
		command_usage((enum verb)v, line);
		reply_write_simple(b, line + word.n + 1);
		(void)snprintf(line, sizeof(line), "    %s", info->summary);
		reply_write_simple(b, line);
	}
}

static void
write_answer(struct buffer *b, int version, const struct command *command)
{
	switch (command->verb) {
	case VERB_COMMAND:
	case VERB_COMMAND_INFO:
		write_all_info(b, version, command);
		return;
	case VERB_COMMAND_DOCS:
		write_all_docs(b, version, command);
		return;
	case VERB_COMMAND_COUNT:
		reply_write_int(b, (int64_t)count_leaders());
		return;
	case VERB_COMMAND_LIST:
		write_list(b);
		return;
	default:
		assert(command_info(command->verb)->sub.n == 4);
		write_help(b, command->verb);
	}
}

void
catalog_done(struct catalog *catalog)
{
	for (size_t version = 0; version < CATALOG_VERSIONS; version++) {
		for (size_t v = 0; v < VERB_COUNT; v++)
			buffer_done(&catalog->made[version][v]);
	}
}

void
catalog_write(struct catalog *catalog, struct buffer *b, int version, const struct command *command)
{
	struct buffer *made = &catalog->made[version - 2][command->verb];

	if (command->argc > 0) {
		write_answer(b, version, command);
		return;
	}
	if (made->data == NULL) {
		buffer_init(made, ANSWER_MOST);
		write_answer(made, version, command);
	}
	if (made->failed) {
		buffer_done(made);
		write_answer(b, version, command);
		return;
	}
	buffer_put(b, buffer_bytes(made), buffer_length(made));
}
