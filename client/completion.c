/*
 * completion: writes completion scripts. The files in packaging/completions are this output.
 */
#include "client/completion.h"

#include "client/message.h"
#include "client/options.h"

#include <string.h>

#define NAMES "holdfast ls -q 2>/dev/null"

/* Tasks whose positional argument is the name of a lock. */
#define NAMERS                                                                                               \
	(ON(RUN) | ON(LOCK) | ON(UNLOCK) | ON(HOLD) | ON(CHECK) | ON(LS) | ON(SHOW) | ON(WATCH) |            \
		ON(BREAK) | ON(LATCH) | ON(AWAIT))

/* The words that a task's positional argument may be; NULL: it is not one of fixed words. */
static const char *
task_words(unsigned task)
{
	return task == TASK_COMPLETION ? "bash zsh fish"
	       : task == TASK_LOGLEVEL ? "debug info warning error"
	       : task == TASK_MASTERS  ? "status replace add abort forget"
	       : task == TASK_BENCH    ? "uncontended contended mixed"
				       : NULL;
}

/* Text for the inside of '...': in bash and zsh a quote has to close the string and open it again, in fish it
 * is escaped. */
static void
print_quoted(FILE *out, const char *text, const char *quote)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'') {
			(void)fputs(quote, out);
		} else {
			(void)fputc(*text, out);
		}
	}
}

static void
print_tasks(FILE *out, unsigned set, const char *between)
{
	const char *before = "";

	for (unsigned i = 0; i < TASK_COUNT; i++) {
		if (set & (1u << i)) {
			(void)fprintf(out, "%s%s", before, options_task((enum task)i)->word);
			before = between;
		}
	}
}

static bool
is_file(const struct option_entry *e)
{
	return e->argument != NULL &&
	       (strcmp(e->argument, "FILE") == 0 || strcmp(e->argument, "SOCKET") == 0);
}

static bool
is_words(const struct option_entry *e)
{
	return e->argument != NULL && strchr(e->argument, '|') != NULL;
}

/* a|b|signal:X as a list of words; colon: how a colon is written. */
static void
print_words(FILE *out, const char *words, const char *colon)
{
	for (; *words != '\0'; words++) {
		if (*words == '|') {
			(void)fputc(' ', out);
		} else if (*words == ':') {
			(void)fputs(colon, out);
		} else if (*words != 'X') {
			(void)fputc(*words, out);
		}
	}
}

static void
print_options(FILE *out)
{
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		(void)fprintf(out, " --%s", e->word);
	}
}

static void
bash_options(FILE *out, unsigned task)
{
	(void)fprintf(out, "\t%s) printf '%%s'", options_task((enum task)task)->word);
	(void)fprintf(out, " '");
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (e->tasks & (1u << task)) {
			(void)fprintf(out, "--%s ", e->word);
		}
	}
	(void)fprintf(out, "' ;;\n");
}

/* Whether an earlier option has the same letter for another verb. */
static bool
letter_again(const struct option_entry *e)
{
	const struct option_entry *before = options_list();

	while (before != e && before->letter != e->letter) {
		before++;
	}
	return before != e;
}

/* -w | --timeout | ...: the pattern of all options of one kind. */
static void
bash_pattern(FILE *out, bool (*matches)(const struct option_entry *e))
{
	const char *before = "\t";

	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (!matches(e)) {
			continue;
		}
		if (e->letter != 0 && !letter_again(e)) {
			(void)fprintf(out, "%s-%c", before, e->letter);
			before = " | ";
		}
		(void)fprintf(out, "%s--%s", before, e->word);
		before = " | ";
	}
	(void)fprintf(out, ")");
}

static bool
is_valued(const struct option_entry *e)
{
	return e->argument != NULL;
}

static bool
is_free(const struct option_entry *e)
{
	return is_valued(e) && !is_file(e) && !is_words(e);
}

/* Moves i behind the options. */
static void
bash_skip(FILE *out)
{
	(void)fprintf(out, "\twhile ((i < COMP_CWORD)); do\n"
			   "\t\tcase ${COMP_WORDS[i]} in\n"
			   "\t");
	bash_pattern(out, is_valued);
	(void)fprintf(out, " ((i++)) ;;\n"
			   "\t\t-*) ;;\n"
			   "\t\t*) break ;;\n"
			   "\t\tesac\n"
			   "\t\t((i++))\n"
			   "\tdone\n");
}

/* Moves i to the lock's name, or to its position. The words after it belong to the command of run. */
static void
bash_position(FILE *out)
{
	bash_skip(out);
	(void)fprintf(out, "\tif [ \"$verb\" = run ] && ((i < COMP_CWORD)); then\n"
			   "\t\t((i++))\n"
			   "\t\t[ \"${COMP_WORDS[i]}\" != -- ] || ((i == COMP_CWORD)) || ((i++))\n"
			   "\t\tif declare -F _command_offset >/dev/null; then\n"
			   "\t\t\t_command_offset \"$i\"\n"
			   "\t\telif ((i == COMP_CWORD)); then\n"
			   "\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
			   "\t\telse\n"
			   "\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
			   "\t\tfi\n"
			   "\t\treturn\n"
			   "\tfi\n");
}

static void
bash_tail(FILE *out)
{
	(void)fprintf(out,
		"\tcase $word in\n"
		"\t-*)\n"
		"\t\tmapfile -t COMPREPLY < <(compgen -W \"$(_holdfast_options \"$verb\")\" -- \"$word\")\n"
		"\t\treturn\n"
		"\t\t;;\n"
		"\tesac\n"
		"\tcase $verb in\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		if (task_words(i) != NULL) {
			(void)fprintf(out,
				"\t%s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\") ;;\n",
				options_task((enum task)i)->word, task_words(i));
		}
	}
	(void)fputc('\t', out);
	print_tasks(out, NAMERS, " | ");
	(void)fprintf(out, ")\n"
			   "\t\t((i < COMP_CWORD)) || _holdfast_names \"$word\"\n"
			   "\t\t;;\n"
			   "\tesac\n"
			   "}\n"
			   "complete -F _holdfast holdfast\n");
}

static void
completion_bash(FILE *out)
{
	/* Names are untrusted: compgen -W would expand a $(command) in them. */
	(void)fprintf(out, "# shellcheck shell=bash\n"
			   "# Completion of holdfast(1) for bash; printed by: holdfast completion bash\n"
			   "_holdfast_options() {\n"
			   "\tcase $1 in\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		bash_options(out, i);
	}
	(void)fprintf(out, "\tesac\n"
			   "}\n"
			   "\n"
			   "_holdfast_names() {\n"
			   "\tlocal name\n"
			   "\twhile IFS= read -r name; do\n"
			   "\t\t[[ $name == \"$1\"* ]] && COMPREPLY+=(\"$(printf %%q \"$name\")\")\n"
			   "\tdone < <(" NAMES ")\n"
			   "}\n"
			   "\n"
			   "_holdfast() {\n"
			   "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
			   "\tlocal verb='' i=1\n"
			   "\tCOMPREPLY=()\n");
	bash_skip(out);
	(void)fprintf(out, "\tif ((i < COMP_CWORD)); then\n"
			   "\t\tverb=${COMP_WORDS[i]}\n"
			   "\t\t((i++))\n"
			   "\tfi\n");
	bash_position(out);
	(void)fprintf(out, "\tcase $before in\n");
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (is_words(e)) {
			(void)fprintf(out, "\t--%s)\n\t\tmapfile -t COMPREPLY < <(compgen -W '", e->word);
			print_words(out, e->argument, ":");
			(void)fprintf(out, "' -- \"$word\")\n\t\treturn\n\t\t;;\n");
		}
	}
	bash_pattern(out, is_file);
	(void)fprintf(out, "\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n\t\treturn\n\t\t;;\n");
	bash_pattern(out, is_free);
	(void)fprintf(out, " return ;;\n\tesac\n"
			   "\tif [ -z \"$verb\" ]; then\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -W '");
	print_tasks(out, EVERYWHERE, " ");
	print_options(out);
	(void)fprintf(out, "' -- \"$word\")\n"
			   "\t\treturn\n"
			   "\tfi\n");
	bash_tail(out);
}

static void
zsh_option(FILE *out, const struct option_entry *e, enum task task)
{
	if (e->letter != 0 && options_letter(e->letter, task) == e) {
		(void)fprintf(out, " \\\n\t\t\t'(-%c --%s)'{-%c,--%s%s}'[", e->letter, e->word, e->letter,
			e->word, e->argument != NULL ? "=" : "");
	} else {
		(void)fprintf(out, " \\\n\t\t\t'--%s%s[", e->word, e->argument != NULL ? "=" : "");
	}
	print_quoted(out, e->help, "'\\''");
	(void)fprintf(out, "]");
	if (is_words(e)) {
		(void)fprintf(out, ":way:(");
		print_words(out, e->argument, "\\:");
		(void)fprintf(out, ")");
	} else if (e->argument != NULL) {
		(void)fprintf(out, ":%s:%s", e->argument, is_file(e) ? "_files" : "");
	}
	(void)fprintf(out, "'");
}

/* Removes the options before the verb; without a verb, completes the verb. */
static void
zsh_verb(FILE *out)
{
	(void)fprintf(out, "\tlocal i=2\n"
			   "\twhile ((i < CURRENT)) && [[ $words[i] == -* ]]; do\n"
			   "\t\tcase $words[i] in\n"
			   "\t");
	bash_pattern(out, is_valued);
	(void)fprintf(out, " ((i++)) ;;\n"
			   "\t\tesac\n"
			   "\t\t((i++))\n"
			   "\tdone\n"
			   "\tif ((CURRENT == i)); then\n"
			   "\t\tif [[ $PREFIX == -* ]]; then\n"
			   "\t\t\tcompadd --");
	print_options(out);
	(void)fprintf(out, "\n"
			   "\t\telse\n"
			   "\t\t\t_describe verb verbs\n"
			   "\t\tfi\n"
			   "\tfi\n"
			   "\t((CURRENT > i)) || return\n"
			   "\twords[2,i-1]=()\n"
			   "\t((CURRENT -= i - 2))\n");
}

static void
completion_zsh(FILE *out)
{
	(void)fprintf(out, "#compdef holdfast\n"
			   "# Completion of holdfast(1) for zsh; printed by: holdfast completion zsh\n"
			   "_holdfast_names() {\n"
			   "\tlocal -a names\n"
			   "\tnames=(${(f)\"$(" NAMES ")\"})\n"
			   "\tcompadd -a names\n"
			   "}\n"
			   "\n"
			   "_holdfast_command() {\n"
			   "\tif [[ $words[1] == -- ]] && ((CURRENT > 1)); then\n"
			   "\t\tshift words\n"
			   "\t\t((CURRENT--))\n"
			   "\tfi\n"
			   "\t_normal\n"
			   "}\n"
			   "\n"
			   "_holdfast() {\n"
			   "\tlocal -a verbs\n"
			   "\tverbs=(\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		(void)fprintf(out, "\t\t'%s:", options_task((enum task)i)->word);
		print_quoted(out, options_task((enum task)i)->summary, "'\\''");
		(void)fprintf(out, "'\n");
	}
	(void)fprintf(out, "\t)\n");
	zsh_verb(out);
	(void)fprintf(out, "\tlocal verb=$words[2]\n"
			   "\tshift words\n"
			   "\t((CURRENT--))\n"
			   "\tcase $verb in\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		/* The options after the name belong to the command. */
		(void)fprintf(out, "\t%s)\n\t\t_arguments -s -S%s", options_task((enum task)i)->word,
			i == TASK_RUN ? " -A '-*'" : "");
		for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
			if (e->tasks & (1u << i)) {
				zsh_option(out, e, (enum task)i);
			}
		}
		if (NAMERS & (1u << i)) {
			(void)fprintf(out, " \\\n\t\t\t'1:name:_holdfast_names'");
		}
		if (i == TASK_RUN) {
			(void)fprintf(out, " \\\n\t\t\t'*:::command:_holdfast_command'");
		}
		if (task_words(i) != NULL) {
			(void)fprintf(out, " \\\n\t\t\t'1:%s:(%s)'", i == TASK_BENCH ? "kind" : "shell",
				task_words(i));
		}
		(void)fprintf(out, "\n\t\t;;\n");
	}
	(void)fprintf(out, "\tesac\n"
			   "}\n"
			   "\n"
			   "_holdfast \"$@\"\n");
}

/* For verbs that know the option by its letter, too, or for those that do not. */
static void
fish_option(FILE *out, const struct option_entry *e, unsigned tasks, bool letter)
{
	if (tasks == 0) {
		return;
	}
	(void)fprintf(out, "complete -c holdfast -n '__holdfast_options ");
	print_tasks(out, tasks, " ");
	(void)fprintf(out, "'");
	if (letter) {
		(void)fprintf(out, " -s %c", e->letter);
	}
	(void)fprintf(out, " -l %s", e->word);
	if (is_words(e)) {
		(void)fprintf(out, " -x -a '");
		print_words(out, e->argument, ":");
		(void)fprintf(out, "'");
	} else if (e->argument != NULL) {
		(void)fprintf(out, is_file(e) ? " -r -F" : " -x");
	}
	(void)fprintf(out, " -d '");
	print_quoted(out, e->help, "\\'");
	(void)fprintf(out, "'\n");
}

/* fish's own helpers find a verb in any position, but a lock may be called run. */
static void
fish_helpers(FILE *out)
{
	(void)fprintf(out, "# The words without the options in front of them.\n"
			   "function __holdfast_strip\n"
			   "\targparse -s");
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		(void)fprintf(out, " ");
		if (e->letter != 0 && !letter_again(e)) {
			(void)fprintf(out, "%c/", e->letter);
		}
		(void)fprintf(out, "%s%s", e->word, is_valued(e) ? "=" : "");
	}
	(void)fprintf(out, " -- $argv 2>/dev/null; or return\n"
			   "\tstring join \\n -- $argv\n"
			   "\treturn 0\n"
			   "end\n"
			   "# The verb, and what stands between it and the cursor.\n"
			   "function __holdfast_words\n"
			   "\tset -l words (commandline -opc)\n"
			   "\tset -e words[1]\n"
			   "\t__holdfast_strip $words\n"
			   "end\n"
			   "# Whether the verb may stand here.\n"
			   "function __holdfast_begins\n"
			   "\tset -l words (__holdfast_words); and not set -q words[1]\n"
			   "end\n"
			   "# Whether the verb is one of these.\n"
			   "function __holdfast_verb\n"
			   "\tset -l words (__holdfast_words)\n"
			   "\tset -q words[1]; and contains -- $words[1] $argv\n"
			   "end\n"
			   "# What stands between the verb with its options and the cursor: a name, and for "
			   "run a command.\n"
			   "function __holdfast_rest\n"
			   "\tset -l words (__holdfast_words)\n"
			   "\tset -e words[1]\n"
			   "\t__holdfast_strip $words\n"
			   "end\n"
			   "# Whether the verb is one of these, or not yet there, and its options may stand "
			   "here.\n"
			   "function __holdfast_options\n"
			   "\t__holdfast_begins; and return\n"
			   "\t__holdfast_verb $argv; or return\n"
			   "\tnot __holdfast_verb run; or test (count (__holdfast_rest)) -eq 0\n"
			   "end\n"
			   "function __holdfast_command\n"
			   "\tset -l words (__holdfast_rest) (commandline -ct)\n"
			   "\tset -e words[1]\n"
			   "\tif set -q words[2]; and test \"$words[1]\" = --\n"
			   "\t\tset -e words[1]\n"
			   "\tend\n"
			   "\tcomplete -C \"$words\"\n"
			   "end\n");
}

static void
completion_fish(FILE *out)
{
	(void)fprintf(out, "# Completion of holdfast(1) for fish; printed by: holdfast completion fish\n");
	fish_helpers(out);
	(void)fprintf(out, "complete -c holdfast -f\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		(void)fprintf(out, "complete -c holdfast -n __holdfast_begins -a %s -d '",
			options_task((enum task)i)->word);
		print_quoted(out, options_task((enum task)i)->summary, "\\'");
		(void)fprintf(out, "'\n");
	}
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		unsigned lettered = 0;

		for (unsigned i = 0; i < TASK_COUNT; i++) {
			if (e->letter != 0 && options_letter(e->letter, (enum task)i) == e) {
				lettered |= e->tasks & (1u << i);
			}
		}
		fish_option(out, e, lettered, true);
		fish_option(out, e, e->tasks & ~lettered, false);
	}
	(void)fprintf(out, "complete -c holdfast -n '__holdfast_verb ");
	print_tasks(out, NAMERS, " ");
	(void)fprintf(out,
		"; and test (count (__holdfast_rest)) -eq 0' -a '(" NAMES ")'\n"
		"complete -c holdfast -n '__holdfast_verb run; and test (count (__holdfast_rest)) -gt 0' "
		"-a '(__holdfast_command)'\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		if (task_words(i) != NULL) {
			(void)fprintf(out, "complete -c holdfast -n '__holdfast_verb %s' -a '%s'\n",
				options_task((enum task)i)->word, task_words(i));
		}
	}
}

bool
completion_print(FILE *out, const char *shell)
{
	static const struct {
		const char *shell;
		void (*print)(FILE *out);
	} shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shell, shells[i].shell) == 0) {
			shells[i].print(out);
			return true;
		}
	}
	return false;
}

int
task_completion(const struct options *o, const struct address *a)
{
	(void)a;
	if (!completion_print(stdout, o->name)) {
		message("holdfast completion %s: bash, zsh or fish is allowed", o->name);
		return STATUS_USAGE;
	}
	return fflush(stdout) == 0 ? STATUS_DONE : STATUS_INTERNAL;
}
