/*
 * check_catalog: what COMMAND and HELP answer, read with the client's own parser.
 */
#include "proto/answer.h"
#include "proto/catalog.h"
#include "proto/command.h"
#include "proto/option.h"

#include "tests/support/suite.h"

#include <string.h>

static struct buffer out;
static struct answer_parser parser;
static struct catalog catalog;

static void
end(void)
{
	buffer_done(&out);
	answer_done(&parser);
	catalog_done(&catalog);
}

/* The answer to one verb, which must be exactly one. */
static const struct answer *
ask(int version, enum verb verb, const struct slice *argv, size_t argc)
{
	static const struct answer_limits limits = {ANSWER_BYTES_MAX, ANSWER_ELEMENTS_MAX};
	struct command command = {.verb = verb, .argv = argv, .argc = argc};
	const struct answer *answer;
	const char *fault;

	buffer_done(&out);
	buffer_init(&out, 1 << 20);
	catalog_write(&catalog, &out, version, &command);
	ck_assert(!out.failed);
	ck_assert_int_eq(
		answer_parse(&parser, buffer_bytes(&out), buffer_length(&out), &limits, &answer, &fault),
		(ssize_t)buffer_length(&out));
	return answer;
}

static size_t
words(void)
{
	size_t n = 0;

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);

		if (!(info->flags & COMMAND_CLOSE) &&
			(v == 0 || !slice_equal(info->word, command_info((enum verb)(v - 1))->word)))
			n++;
	}
	return n;
}

START_TEST(command_describes_every_word_once)
{
	for (int version = 2; version <= 3; version++) {
		const struct answer *all = ask(version, VERB_COMMAND, NULL, 0);

		ck_assert_uint_eq(all->count, words());
		for (size_t i = 0; i < all->count; i++) {
			ck_assert_int_eq(all->items[i].type, ANSWER_ARRAY);
			ck_assert_uint_eq(all->items[i].count, 10);
			ck_assert_int_eq(all->items[i].items[1].type, ANSWER_INT);
			ck_assert_int_ne(all->items[i].items[1].n, 0);
		}
	}
	ck_assert_int_eq(ask(2, VERB_COMMAND_COUNT, NULL, 0)->n, (int64_t)words());
}
END_TEST

START_TEST(command_info_answers_for_each_name_asked)
{
	const struct slice names[] = {SLICE("LOCK"), SLICE("get"), SLICE("client"), SLICE("client|setname")};
	const struct answer *all = ask(3, VERB_COMMAND_INFO, names, 4);

	ck_assert_uint_eq(all->count, 4);
	ck_assert(slice_equal(all->items[0].items[0].text, SLICE("lock")));
	ck_assert_int_eq(all->items[0].items[1].n, -2);
	ck_assert_int_eq(all->items[0].items[3].n, 1);
	ck_assert_int_eq(all->items[1].type, ANSWER_NULL);
	ck_assert(slice_equal(all->items[2].items[0].text, SLICE("client")));
	ck_assert_int_eq(all->items[2].items[1].n, -2);
	ck_assert_uint_eq(all->items[2].items[9].count, 9);
	ck_assert(slice_equal(all->items[3].items[0].text, SLICE("client|setname")));
	ck_assert_int_eq(all->items[3].items[1].n, 3);
}
END_TEST

static size_t
options(enum verb verb)
{
	size_t n = 0;

	for (size_t i = 0; option_info(i) != NULL; i++)
		n += verbs_have(option_info(i)->verbs, verb);
	return n;
}

START_TEST(command_docs_has_a_summary_and_arguments_for_each)
{
	const struct slice names[] = {SLICE("lock"), SLICE("get"), SLICE("session")};

	for (int version = 2; version <= 3; version++) {
		const struct answer *all = ask(version, VERB_COMMAND_DOCS, NULL, 0);
		const struct answer *one;

		ck_assert_uint_eq(all->count, words() * 2);
		for (size_t i = 0; i < all->count; i += 2)
			ck_assert_uint_gt(answer_get_text(&all->items[i + 1], "summary").n, 0);
		all = ask(version, VERB_COMMAND_DOCS, names, 3);
		ck_assert_uint_eq(all->count, 4);
		one = answer_get(answer_get(all, "lock"), "arguments");
		ck_assert_ptr_nonnull(one);
		ck_assert_uint_eq(one->count, 1 + options(VERB_LOCK));
		ck_assert(slice_equal(answer_get_text(&one->items[0], "name"), SLICE("name")));
		ck_assert(slice_equal(answer_get_text(&one->items[1], "token"), SLICE("SHARED")));
		one = answer_get(answer_get(all, "session"), "subcommands");
		ck_assert_ptr_nonnull(answer_get(one, "session|join"));
	}
}
END_TEST

START_TEST(a_verb_with_a_name_in_front_of_its_subcommand_is_one_command_with_alternatives)
{
	const struct slice names[] = {SLICE("latch"), SLICE("latch|set"), SLICE("LATCH|HELP")};

	for (int version = 2; version <= 3; version++) {
		const struct answer *all = ask(version, VERB_COMMAND_INFO, names, 3);
		const struct answer *one;

		ck_assert_int_eq(all->items[0].items[1].n, -3);
		ck_assert_uint_eq(all->items[0].items[2].count, 2);
		ck_assert_int_eq(all->items[0].items[3].n, 1);
		ck_assert_uint_eq(all->items[0].items[9].count, 0);
		ck_assert_int_eq(all->items[1].type, ANSWER_NULL);
		ck_assert_int_eq(all->items[2].items[1].n, 2);
		all = ask(version, VERB_COMMAND_DOCS, names, 2);
		ck_assert_uint_eq(all->count, 2);
		ck_assert_ptr_null(answer_get(answer_get(all, "latch"), "subcommands"));
		one = answer_get(answer_get(all, "latch"), "arguments");
		ck_assert_uint_eq(one->count, 2);
		ck_assert(slice_equal(answer_get_text(&one->items[0], "name"), SLICE("name")));
		one = &one->items[1];
		ck_assert(slice_equal(answer_get_text(one, "type"), SLICE("oneof")));
		one = answer_get(one, "arguments");
		ck_assert_uint_eq(one->count, 4);
		one = answer_get(&one->items[1], "arguments");
		ck_assert_uint_eq(one->count, 4);
		ck_assert(slice_equal(answer_get_text(&one->items[0], "token"), SLICE("DOWN")));
		ck_assert(slice_equal(answer_get_text(&one->items[1], "name"), SLICE("n")));
		ck_assert_ptr_nonnull(answer_get(&one->items[1], "flags"));
		ck_assert(slice_equal(answer_get_text(&one->items[2], "token"), SLICE("OWNER")));
	}
}
END_TEST

/* As redis-cli shows them: what must be given has no flag, what may be given has one. */
START_TEST(arguments_are_optional_only_where_the_syntax_says_so)
{
	const struct slice names[] = {SLICE("break"), SLICE("hello"), SLICE("client|kill"), SLICE("events")};
	const struct answer *all = ask(3, VERB_COMMAND_DOCS, names, 4);
	const struct answer *one = answer_get(answer_get(all, "break"), "arguments");

	ck_assert_uint_eq(one->count, 3);
	ck_assert_ptr_null(answer_get(&one->items[0], "flags"));
	ck_assert_ptr_null(answer_get(&one->items[1], "flags"));
	ck_assert_ptr_nonnull(answer_get(&one->items[2], "flags"));
	one = answer_get(answer_get(all, "hello"), "arguments");
	ck_assert_uint_eq(one->count, 3);
	ck_assert(slice_equal(answer_get_text(&one->items[0], "name"), SLICE("2|3")));
	ck_assert_ptr_nonnull(answer_get(&one->items[0], "flags"));
	one = answer_get(answer_get(all, "client|kill"), "arguments");
	ck_assert_uint_eq(one->count, 1);
	ck_assert(slice_equal(answer_get_text(&one->items[0], "token"), SLICE("ID")));
	one = answer_get(answer_get(all, "events"), "arguments");
	ck_assert_uint_eq(one->count, 1);
	ck_assert_ptr_nonnull(answer_get(&one->items[0], "flags"));
}
END_TEST

START_TEST(command_list_names_words_and_subcommands)
{
	const struct answer *all = ask(2, VERB_COMMAND_LIST, NULL, 0);
	size_t lock = 0;
	size_t join = 0;

	for (size_t i = 0; i < all->count; i++) {
		lock += slice_equal(all->items[i].text, SLICE("lock"));
		join += slice_equal(all->items[i].text, SLICE("session|join"));
		ck_assert(!slice_equal(all->items[i].text, SLICE("post")));
	}
	ck_assert_uint_eq(lock, 1);
	ck_assert_uint_eq(join, 1);
}
END_TEST

START_TEST(help_names_each_subcommand)
{
	static const enum verb verbs[] = {VERB_LATCH_HELP, VERB_SESSION_HELP, VERB_CLIENT_HELP,
		VERB_COMMAND_HELP, VERB_CONFIG_HELP, VERB_MASTERS_HELP};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		struct slice word = command_info(verbs[i])->word;
		const struct answer *help = ask(2, verbs[i], NULL, 0);
		size_t subs = 0;

		for (int v = 0; v < VERB_COUNT; v++)
			subs += slice_equal(command_info((enum verb)v)->word, word) &&
				command_info((enum verb)v)->sub.n > 0;
		ck_assert_uint_eq(help->count, 1 + 2 * subs);
		ck_assert_int_eq(memcmp(help->items[0].text.p, word.p, word.n), 0);
	}
}
END_TEST

START_TEST(an_answer_that_is_always_the_same_is_made_once)
{
	static const enum verb verbs[] = {
		VERB_COMMAND, VERB_COMMAND_DOCS, VERB_COMMAND_LIST, VERB_COMMAND_COUNT, VERB_CLIENT_HELP};

	for (int version = 2; version <= 3; version++) {
		for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
			const struct buffer *made = &catalog.made[version - 2][verbs[i]];
			const char *bytes;

			ask(version, verbs[i], NULL, 0);
			bytes = made->data;
			ck_assert_ptr_nonnull(bytes);
			ask(version, verbs[i], NULL, 0);
			ck_assert_ptr_eq(made->data, bytes);
			ck_assert_uint_eq(buffer_length(made), buffer_length(&out));
			ck_assert_mem_eq(buffer_bytes(made), buffer_bytes(&out), buffer_length(&out));
		}
	}
}
END_TEST

int
main(void)
{
	return SUITE_RUN("catalog", NULL, end, command_describes_every_word_once,
		command_info_answers_for_each_name_asked, command_docs_has_a_summary_and_arguments_for_each,
		a_verb_with_a_name_in_front_of_its_subcommand_is_one_command_with_alternatives,
		arguments_are_optional_only_where_the_syntax_says_so,
		command_list_names_words_and_subcommands, help_names_each_subcommand,
		an_answer_that_is_always_the_same_is_made_once);
}
