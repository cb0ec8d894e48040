/*
 * manual: fills in what holdfast(1), holdfast-protocol(7) and PROTOCOL.md list, from the tables that the
 * parsers are made from. It is a program of the build, not a part of holdfast:
 *
 *   print-manual <packaging/man/holdfast.1.in >holdfast.1
 *
 * A line of the template that is one of the marks below, or "@VERBS run to await@", becomes the items of a
 * list.
 */
#include "client/message.h"
#include "client/options.h"
#include "proto/option.h"

#include "proto/command.h"
#include "proto/reply.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Hyphens are written \- in a manual. */
static void
print_hyphenated(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s%c", text[i] == '-' ? "\\" : "", text[i]);
}

/* As mdoc wants it: each sentence begins a line, and ends with a full stop. Options are bold, and what stands
 * between backquotes. */
static void
print_sentences(const char *text)
{
	bool bold = false;

	for (char before = ' '; *text != '\0'; before = *text++) {
		if (text[0] == '.' && text[1] == ' ') {
			puts(".");
			text++;
		} else if (text[0] == '`') {
			bold = !bold;
			fputs(bold ? "\\fB" : "\\fP", stdout);
		} else if (text[0] == '-' && before == ' ') {
			size_t n = 1 + strspn(text + 1, "abcdefghijklmnopqrstuvwxyz-");

			fputs("\\fB", stdout);
			print_hyphenated(text, n);
			fputs("\\fP", stdout);
			text += n - 1;
		} else if (text[0] != '.' || text[1] != '\0') {
			putchar(*text);
		}
	}
	puts(".");
}

/* Of two words: the verbs from the one to the other, in the order of options.def. */
static void
print_tasks(const char *from, const char *to)
{
	bool on = false;

	for (unsigned i = 0; i < TASK_COUNT; i++) {
		const struct task_entry *task = options_task((enum task)i);

		on = on || strcmp(task->word, from) == 0;
		if (!on)
			continue;
		printf(".It Cm %s%s", task->word, task->arguments[0] != '\0' ? " Ar " : "");
		print_hyphenated(task->arguments, strlen(task->arguments));
		printf("\n%c", task->summary[0] - 'a' + 'A');
		print_sentences(task->summary + 1);
		if (task->about[0] != '\0')
			print_sentences(task->about);
		if (strcmp(task->word, to) == 0)
			break;
	}
}

static void
print_verbs(void)
{
	for (int v = 0; v < VERB_COUNT; v++) {
		const struct command_info *info = command_info((enum verb)v);
		char usage[COMMAND_USAGE_MAX];

		if (info->flags & COMMAND_CLOSE)
			continue;
		command_usage((enum verb)v, usage);
		printf(".It %s\n", usage);
		print_sentences(info->summary);
		if (info->flags & COMMAND_BREAKS)
			puts("For users with the right break.");
		else if (info->flags & COMMAND_ADMIN)
			puts("For administrators.");
	}
}

static void
print_options(void)
{
	const struct option_info *option;

	for (size_t i = 0; (option = option_info(i)) != NULL; i++) {
		printf(".It %s%s%s\n", option->word.p, option->syntax[0] != '\0' ? " " : "", option->syntax);
		print_sentences(option->summary);
	}
}

static void
print_codes(void)
{
	for (int code = 0; code < CODE_COUNT; code++) {
		printf(".It %s\n", code_word((enum code)code));
		print_sentences(code_cause((enum code)code));
		puts("What helps:");
		print_sentences(code_cure((enum code)code));
	}
}

/* The verbs that take the option, unless all or nearly all do. */
static void
print_takers(unsigned tasks)
{
	const char *before = "";

	if (__builtin_popcount(tasks) > TASK_COUNT / 2)
		return;
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		if (tasks & 1u << i) {
			printf("%s%s", before, options_task((enum task)i)->word);
			before = ", ";
		}
	}
	puts(":");
}

static void
print_code_table(void)
{
	puts("| code | cause | cure |\n|---|---|---|");
	for (int code = 0; code < CODE_COUNT; code++)
		printf("| `%s` | %s | %s |\n", code_word((enum code)code), code_cause((enum code)code),
			code_cure((enum code)code));
}

static void
print_client_options(void)
{
	for (const struct option_entry *option = options_list(); option->word != NULL; option++) {
		const char *argument = option->argument;

		fputs(".It ", stdout);
		if (option->letter != 0)
			printf("Fl %c%s%s , ", option->letter, argument != NULL ? " Ar " : "",
				argument != NULL ? argument : "");
		fputs("Fl \\-", stdout);
		print_hyphenated(option->word, strlen(option->word));
		printf("%s%s\n", argument != NULL ? " Ar " : "", argument != NULL ? argument : "");
		print_takers(option->tasks);
		print_sentences(option->help);
	}
}

static void
print_statuses(void)
{
	for (const struct status_entry *status = status_list(); status->meaning != NULL; status++) {
		printf(".It %d\n", status->number);
		print_sentences(status->meaning);
	}
}

static const struct {
	const char *mark;
	void (*print)(void);
} marks[] = {
	{"@VERBS@\n", print_verbs},
	{"@OPTIONS@\n", print_options},
	{"@CODES@\n", print_codes},
	{"The causes and cures are in [code.def](code.def), of which the build makes a table here.\n",
		print_code_table},
	{"@CLIENT-OPTIONS@\n", print_client_options},
	{"@STATUSES@\n", print_statuses},
};

int
main(void)
{
	char line[512], from[32], to[32];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		size_t i = 0;

		if (sscanf(line, "@VERBS %31s to %31[a-z]@", from, to) == 2) {
			print_tasks(from, to);
			continue;
		}
		while (i < sizeof(marks) / sizeof(marks[0]) && strcmp(line, marks[i].mark) != 0)
			i++;
		if (i < sizeof(marks) / sizeof(marks[0]))
			marks[i].print();
		else
			fputs(line, stdout);
	}
	return ferror(stdin) || fflush(stdout) != 0;
}
