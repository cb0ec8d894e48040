/*
 * check_protocol: the specification, its tables in BYTES.md and REPORTS.md and the manual page leave out no
 * verb, option, error code, counter and event, and describe each as the tables do.
 */
#include "daemon/base/stats.h"
#include "daemon/core/base/action.h"
#include "proto/answer.h"
#include "proto/command.h"
#include "proto/option.h"
#include "proto/request.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPECIFICATION "proto/PROTOCOL.md"
#define BYTES         "proto/BYTES.md"
/* Of the build, which makes them from tables. */
#define MANUAL        "man/holdfast-protocol.7"
#define WHOLE         "doc/PROTOCOL.md" /* the specification with its table of codes */
#define COUNTERS      "doc/REPORTS.md"

/* The file's text; the caller frees it. */
static char *
read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	ck_assert_msg(file != NULL, "%s: run this from the top of the source tree", path);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, file), 1000);
	fclose(file);
	return text;
}

/* The same of a file of the build; path gets where it is. */
static char *
read_made(const char *name, char *path, size_t room)
{
	const char *build = getenv("HOLDFAST_BUILD");

	snprintf(path, room, "%s/%s", build != NULL ? build : "build", name);
	return read_file(path);
}

static void
mentions(const char *path, const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what) != NULL, "%s says nothing of: %s", path, what);
}

START_TEST(the_specification_has_every_verb)
{
	char *text = read_file(SPECIFICATION);

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);
		char words[64];

		snprintf(words, sizeof(words), "%s%s%s%s", info->word.p,
			info->flags & COMMAND_NAMED && info->flags & COMMAND_CORE ? " name" : "",
			info->sub.n > 0 ? " " : "", info->sub.p);
		if (info->flags & COMMAND_CLOSE) {
			ck_assert_ptr_nonnull(strcasestr(text, words));
			continue;
		}
		mentions(SPECIFICATION, text, words);
	}
	free(text);
}
END_TEST

START_TEST(the_specification_has_the_syntax_of_every_core_verb)
{
	char *text = read_file(SPECIFICATION);

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);
		char line[COMMAND_USAGE_MAX];

		if (!(info->flags & COMMAND_CORE))
			continue;
		command_usage((enum verb)v, line);
		mentions(SPECIFICATION, text, line);
	}
	free(text);
}
END_TEST

START_TEST(the_specification_has_every_option_and_every_usage_has_its_options)
{
	char *text = read_file(SPECIFICATION);

	for (size_t i = 0; option_info(i) != NULL; i++) {
		const struct option_info *option = option_info(i);
		char usage[COMMAND_USAGE_MAX];
		char form[128];

		snprintf(form, sizeof(form), "%s%s%s", option->word.p, option->syntax[0] != '\0' ? " " : "",
			option->syntax);
		mentions(SPECIFICATION, text, form);
		for (int v = 0; v < VERB_COUNT; v++) {
			command_usage((enum verb)v, usage);
			if (verbs_have(option->verbs, (enum verb)v))
				mentions("usage", usage, form);
		}
	}
	free(text);
}
END_TEST

START_TEST(the_specification_has_cause_and_cure_of_every_code)
{
	char path[4096];
	char *text = read_made(WHOLE, path, sizeof(path));

	for (int code = 0; code < CODE_COUNT; code++) {
		char row[1024];

		snprintf(row, sizeof(row), "\n| `%s` | %s | %s |\n", code_word((enum code)code),
			code_cause((enum code)code), code_cure((enum code)code));
		mentions(path, text, row);
		ck_assert_uint_gt(strlen(code_cause((enum code)code)), 0);
		ck_assert_uint_gt(strlen(code_cure((enum code)code)), 0);
	}
	free(text);
}
END_TEST

START_TEST(the_reports_have_every_counter)
{
	char path[4096];
	char *text = read_made(COUNTERS, path, sizeof(path));

	for (size_t i = 0; i < stats_count(); i++) {
		const struct stat_info *info = stats_info(i);
		char row[256];

		(void)snprintf(row, sizeof(row), "| `%s` | %s | %s |", info->name,
			info->kind == STAT_COUNTER ? "counter" : "gauge", info->help);
		mentions(path, text, row);
	}
	free(text);
}
END_TEST

START_TEST(the_reports_name_the_duration_of_every_event)
{
	static const struct {
		const char *name;
		const char *ms;
	} events[] = {
#define NOTE(id, name, level, ms, help) {name, ms},
#include "daemon/core/base/note.def"
	};
	char path[4096];
	char *text = read_made(COUNTERS, path, sizeof(path));

	for (size_t i = 0; i < NOTE_COUNT; i++) {
		char row[64], field[32], line[1024];
		const char *at;

		snprintf(row, sizeof(row), "\n| `%s` | ", events[i].name);
		mentions(path, text, row);
		at = strstr(text, row) + 1;
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (events[i].ms[0] == '\0') {
			ck_assert_msg(strstr(line, "_ms`") == NULL, "it has no duration: %s", line);
			continue;
		}
		snprintf(field, sizeof(field), "`%s`", events[i].ms);
		ck_assert_msg(strstr(line, field) != NULL, "says nothing of %s: %s", field, line);
	}
	free(text);
}
END_TEST

START_TEST(the_table_has_the_bytes_of_every_verb)
{
	char *text = read_file(BYTES);

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);
		char words[64];

		if (info->flags & COMMAND_CLOSE)
			continue;
		snprintf(words, sizeof(words), "%s%s%s", info->word.p, info->sub.n > 0 ? " " : "",
			info->sub.p);
		mentions(BYTES, text, words);
	}
	free(text);
}
END_TEST

/* The text between the next pair of backquotes behind *at, with \r\n undone. False: no such on this line. */
static bool
next_code(const char **at, char *out, size_t room)
{
	const char *from = *at + strcspn(*at, "`\n");
	size_t n = 0;

	if (*from != '`')
		return false;
	for (from++; *from != '`'; from++) {
		bool escape = from[0] == '\\' && (from[1] == 'r' || from[1] == 'n');

		ck_assert_uint_lt(n + 1, room);
		out[n++] = (char)(!escape ? from[0] : from[1] == 'r' ? '\r' : '\n');
		from += escape;
	}
	out[n] = '\0';
	*at = from + 1;
	return true;
}

static void
is_one_request(const char *line)
{
	static const struct request_limits limits = {4096, 64};
	static struct request request;
	struct request_parser parser = {0};
	struct command command;
	struct reply error;
	char bytes[512];
	int n = snprintf(bytes, sizeof(bytes), "%s\n", line);

	ck_assert_int_eq(request_parse(&parser, bytes, (size_t)n, &limits, &request, &error), n);
	ck_assert_msg(command_parse(&request, &command, &error) == 0, "%s: %s", line, error.text);
}

/* A prefix of an answer, where it is cut with dots or told in words; a whole one otherwise. */
static void
begins_an_answer(const char *text)
{
	static const struct answer_limits limits = {4096, 256};
	struct answer_parser parser = {0};
	const struct answer *answer;
	const char *fault;
	char bytes[512];
	int n = snprintf(bytes, sizeof(bytes), "%s\r\n", text);
	bool cut = strstr(text, "...") != NULL || strncmp(text, "$48", 3) == 0;
	ssize_t got = answer_parse(&parser, bytes, (size_t)n, &limits, &answer, &fault);

	if (cut)
		ck_assert_msg(got >= 0 || strchr("*%>", text[0]) != NULL, "%s is no answer: %s", text, fault);
	else
		ck_assert_msg(got == n, "%s is not one answer", text);
	answer_done(&parser);
}

START_TEST(every_row_of_bytes_is_one_request_and_its_answers)
{
	char *text = read_file(BYTES);
	const char *at = strstr(text, "| request, outcome | inline");
	size_t rows = 0;

	ck_assert_ptr_nonnull(at);
	at = strchr(strchr(at, '\n') + 1, '\n') + 1;
	for (; *at == '|'; at = strchr(at, '\n') + 1) {
		/* The second cell is the request; pushes and events have none. */
		const char *cell = strchr(at + 1, '|') + 1;
		char code[512];

		rows++;
		if (strncmp(cell, "  |", 3) != 0 && strncmp(cell, " |", 2) != 0) {
			ck_assert(next_code(&cell, code, sizeof(code)));
			is_one_request(code);
		}
		while (next_code(&cell, code, sizeof(code)))
			begins_an_answer(code);
	}
	ck_assert_uint_gt(rows, 50);
	free(text);
}
END_TEST

/* Of the specification, at the begin of a line or of a table's row. */
static bool
has_clause(const char *text, const char *clause)
{
	char plain[16], row[16];

	snprintf(plain, sizeof(plain), "\n%s ", clause);
	snprintf(row, sizeof(row), "\n| %s ", clause);
	return strstr(text, plain) != NULL || strstr(text, row) != NULL;
}

/* Clauses are cited in parentheses, (3.5) or (3.5, 3.20). */
static size_t
cites_clauses_that_exist(const char *path, const char *specification)
{
	char *text = read_file(path);
	size_t cited = 0;

	for (const char *at = strchr(text, '('); at != NULL; at = strchr(at, '(')) {
		unsigned section, number;
		int length;

		at++;
		while (sscanf(at, "%2u.%2u%n", &section, &number, &length) == 2 &&
			strchr(",;)", at[length])) {
			char clause[16];

			snprintf(clause, sizeof(clause), "%u.%u", section, number);
			ck_assert_msg(has_clause(specification, clause), "%s cites %s", path, clause);
			cited++;
			at += length;
			at += strspn(at, ", \n");
		}
	}
	free(text);
	return cited;
}

START_TEST(every_clause_that_is_cited_exists)
{
	char *text = read_file(SPECIFICATION);
	char made[4096];

	ck_assert(has_clause(text, "2.1") && has_clause(text, "5.11") && !has_clause(text, "5.99"));
	ck_assert_uint_gt(cites_clauses_that_exist(SPECIFICATION, text), 100);
	free(read_made(WHOLE, made, sizeof(made)));
	ck_assert_uint_gt(cites_clauses_that_exist(made, text), 100);
	free(read_made(COUNTERS, made, sizeof(made)));
	ck_assert_uint_gt(cites_clauses_that_exist(made, text), 20);
	ck_assert_uint_gt(cites_clauses_that_exist("doc/LIBRARIES.md", text), 5);
	free(text);
}
END_TEST

START_TEST(the_manual_has_every_verb_option_and_code)
{
	char path[4096], what[64];
	char *text = read_made(MANUAL, path, sizeof(path));

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);

		if (info->flags & COMMAND_CLOSE)
			continue;
		snprintf(what, sizeof(what), "\n.It %s%s%s%s", info->word.p,
			info->flags & COMMAND_NAMED ? " name" : "", info->sub.n > 0 ? " " : "", info->sub.p);
		mentions(path, text, what);
	}
	for (size_t i = 0; option_info(i) != NULL; i++)
		mentions(path, text, option_info(i)->word.p);
	for (int code = 0; code < CODE_COUNT; code++) {
		snprintf(what, sizeof(what), "\n.It %s\n", code_word((enum code)code));
		mentions(path, text, what);
	}
	free(text);
}
END_TEST

int
main(void)
{
	return SUITE_RUN("protocol", NULL, NULL, the_specification_has_every_verb,
		the_specification_has_the_syntax_of_every_core_verb,
		the_specification_has_every_option_and_every_usage_has_its_options,
		the_specification_has_cause_and_cure_of_every_code, the_reports_have_every_counter,
		the_reports_name_the_duration_of_every_event, the_table_has_the_bytes_of_every_verb,
		every_row_of_bytes_is_one_request_and_its_answers, every_clause_that_is_cited_exists,
		the_manual_has_every_verb_option_and_code);
}
