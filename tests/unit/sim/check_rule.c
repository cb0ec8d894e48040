/*
 * Tests of tests/sim/judge/rule.h: each rule stands in the documents where its row says. That each message
 * has a rule is checked by the compiler (world_fail()).
 */
#include "tests/sim/judge/rule.h"
#include "tests/support/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARANTEES "proto/GUARANTEES.md"
#define PROTOCOL   "proto/PROTOCOL.md"

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

/* Whether a line, or a row of a table, begins with a clause. */
static bool
has_clause(const char *text, const char *clause)
{
	static const char *const forms[] = {"\n%s ", "\n| %s ", "\n- **%s** "};
	char begin[40];

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(begin, sizeof(begin), forms[i], clause);
		if (strstr(text, begin) != NULL)
			return true;
	}
	return false;
}

/* Of a list with commas, all of which the text has; how many. */
static unsigned
clauses(const char *word, const char *list, const char *path)
{
	unsigned n = 0;
	int length;
	char clause[16], *text = read_file(path);

	for (; sscanf(list, "%15[^,]%n", clause, &length) == 1; n++) {
		ck_assert_msg(has_clause(text, clause), "%s: there is no %s in %s", word, clause, path);
		list += length;
		list += strspn(list, ", ");
	}
	free(text);
	return n;
}

START_TEST(each_rule_stands_where_its_row_says)
{
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		const struct rule_info *r = &rule_table[i];

		ck_assert_msg(clauses(r->word, r->guarantees, GUARANTEES) +
					      clauses(r->word, r->protocol, PROTOCOL) >
				      0,
			"%s: where does it stand?", r->word);
		ck_assert_uint_gt(strlen(r->sentence), 10);
	}
}
END_TEST

START_TEST(a_message_has_the_rule_of_its_word)
{
	char message[80];

	for (unsigned i = 0; i < RULE_COUNT; i++) {
		snprintf(message, sizeof(message), "%s: d1 is wrong", rule_table[i].word);
		ck_assert_uint_eq(rule_of(message), i);
	}
	ck_assert_uint_eq(rule_of("an assertion"), RULE_COUNT);
	ck_assert_uint_eq(rule_of("session ends: no"), RULE_COUNT);
	_Static_assert(RULE_KNOWS("exclusion: d%u", 0) && RULE_KNOWS("session end: d%u", 0), "rules");
	_Static_assert(!RULE_KNOWS("exclusive: d%u", 0) && !RULE_KNOWS("", 0), "no rules");
}
END_TEST

int
main(void)
{
	return SUITE_RUN(
		"rule", NULL, NULL, each_rule_stands_where_its_row_says, a_message_has_the_rule_of_its_word);
}
