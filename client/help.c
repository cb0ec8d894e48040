/*
 * help: prints the usage of holdfast and of its verbs from task.def, option.def and status.def.
 */
#include "client/help.h"

#include "client/status.h"

#define OPTION_COLUMN 28

static void
help_option(FILE *out, const struct option_entry *e)
{
	int n = fprintf(out, "  ");

	n += e->letter != 0 ? fprintf(out, "-%c, ", e->letter) : fprintf(out, "    ");
	n += fprintf(out, "--%s", e->word);
	if (e->argument != NULL) {
		n += fprintf(out, " %s", e->argument);
	}
	if (n >= OPTION_COLUMN) {
		n = fprintf(out, "\n") - 1;
	}
	(void)fprintf(out, "%*s%s\n", OPTION_COLUMN - n, "", e->help);
}

static void
help_task(FILE *out, enum task task)
{
	const struct task_entry *t = options_task(task);

	(void)fprintf(out, "usage: holdfast %s [OPTION...]%s%s\n\n%c%s.\n\n", t->word,
		t->arguments[0] != '\0' ? " " : "", t->arguments, t->summary[0] - 'a' + 'A', t->summary + 1);
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (e->tasks & (1u << task)) {
			help_option(out, e);
		}
	}
	(void)fprintf(out,
		"\nSECS and TTL are seconds, or have a unit: 500ms, 10s, 5m, 1.5h, 2d.\n"
		"The manual, holdfast(1), says how the lock, the command and signals go together.\n");
}

void
help_print(FILE *out, enum task task)
{
	if (task != TASK_COUNT) {
		help_task(out, task);
		return;
	}
	(void)fprintf(out, "usage: holdfast [OPTION...] VERB [OPTION...] [ARGUMENT...]\n\n"
			   "Locks for shell scripts and people, from the lock coordinator holdfastd(8).\n\n"
			   "Verbs (holdfast VERB --help says more):\n");
	for (unsigned i = 0; i < TASK_COUNT; i++) {
		const struct task_entry *t = options_task((enum task)i);

		(void)fprintf(out, "  %-12s%s\n", t->word, t->summary);
	}
	(void)fprintf(out, "\nExit codes:\n");
	for (const struct status_entry *s = status_list(); s->meaning != NULL; s++) {
		(void)fprintf(out, "  %3d  %s\n", s->number, s->meaning);
	}
	(void)fprintf(out, "\nHOLDFAST_URL says where the daemon is; without it "
			   "$XDG_RUNTIME_DIR/holdfast/holdfast.sock\n"
			   "is used if it is there, else /run/holdfast/holdfast.sock.\n");
}
