/*
 * manual: fills in what holdfast-protocol(7) says of each verb, option and error code, from the tables that
 * the parser is made from. It is a program of the build, not a part of the daemon:
 *
 *   print-manual <packaging/man/holdfast-protocol.7.in >holdfast-protocol.7
 *
 * A line @VERBS@, @OPTIONS@ or @CODES@ of the template becomes the items of a list.
 */
#include "proto/command.h"
#include "proto/reply.h"

#include <stdio.h>
#include <string.h>

/* As mdoc wants it: each sentence begins a line. */
static void
print_sentences(const char *text)
{
	for (; *text != '\0'; text++) {
		if (text[0] == '.' && text[1] == ' ') {
			puts(".");
			text++;
		} else {
			putchar(*text);
		}
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
		putchar('\n');
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
		puts(".");
	}
}

static void
print_codes(void)
{
	for (int code = 0; code < CODE_COUNT; code++) {
		printf(".It %s\n", code_word((enum code)code));
		printf("%s.\n", code_meaning((enum code)code));
	}
}

int
main(void)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "@VERBS@\n") == 0)
			print_verbs();
		else if (strcmp(line, "@OPTIONS@\n") == 0)
			print_options();
		else if (strcmp(line, "@CODES@\n") == 0)
			print_codes();
		else
			fputs(line, stdout);
	}
	return ferror(stdin) || fflush(stdout) != 0;
}
