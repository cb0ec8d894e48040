/*
 * help: prints the usage of holdfast and of its verbs from options.def, and finds the known word that is
 * nearest to a misspelled one.
 */
#include "client/help.h"

#include "client/message.h"
#include "client/options.h"

#include <string.h>

/* Words of flock(1) and of other programs for our words. */
static const char *
synonym(struct slice text)
{
	static const struct {
		const char *theirs, *ours;
	} list[] = {{"wait", "timeout"}, {"nb", "nonblock"}, {"nowait", "nonblock"}, {"no-wait", "nonblock"},
		{"ttl", "lease"}, {"reason", "why"}, {"acquire", "lock"}, {"release", "unlock"},
		{"list", "ls"}, {"inspect", "show"}, {"monitor", "watch"}, {"exec", "run"},
		{"log-level", "loglevel"}, {"status", "health"}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		if (slice_equal(text, slice_of(list[i].theirs))) {
			return list[i].ours;
		}
	}
	return NULL;
}

struct guess
guess_begin(struct slice text)
{
	/* A third of the letters may be wrong; with more errors it is another word. */
	return (struct guess){text, NULL, text.n < 6 ? 2 : text.n / 3 + 1, synonym(text)};
}

void
guess_try(struct guess *g, const char *word)
{
	size_t n = strlen(word), d;

	if (n > WORD_BYTES_MAX || g->text.n > WORD_BYTES_MAX || g->text.n == 0) {
		return;
	}
	d = g->meant != NULL && strcmp(word, g->meant) == 0 ? 0 : slice_distance(g->text, slice_of(word));
	/* A word with every letter wrong is not a misspelling, but a truncated word is. */
	if (d < g->distance || (g->best == NULL && g->text.n >= 3 && n > g->text.n &&
				       memcmp(word, g->text.p, g->text.n) == 0)) {
		g->best = word;
		g->distance = d;
	}
}

#define OPTION_COLUMN 28

static void
help_option(FILE *out, const struct option_entry *e, enum task task)
{
	int n = fprintf(out, "  ");

	n += e->letter != 0 && options_letter(e->letter, task) == e ? fprintf(out, "-%c, ", e->letter)
								    : fprintf(out, "    ");
	n += fprintf(out, "--%s", e->word);
	if (e->argument != NULL) {
		n += fprintf(out, " %s", e->argument);
	}
	if (n >= OPTION_COLUMN) {
		n = fprintf(out, "\n") - 1;
	}
	(void)fprintf(out, "%*s%s\n", OPTION_COLUMN - n, "", e->help);
}

#define TEXT_COLUMNS 80

/* A paragraph with its last full stop. */
static void
help_about(FILE *out, const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		if (column > 0) {
			column += n + 1 < TEXT_COLUMNS - column ? 1 : TEXT_COLUMNS;
			(void)fputc(column >= TEXT_COLUMNS ? '\n' : ' ', out);
			column = column >= TEXT_COLUMNS ? 0 : column;
		}
		column += n;
		(void)fprintf(out, "%.*s", (int)n, text);
		text += n + (text[n] == ' ');
	}
	(void)fprintf(out, ".\n\n");
}

static void
help_task(FILE *out, enum task task)
{
	const struct task_entry *t = options_task(task);

	(void)fprintf(out, "usage: holdfast %s [OPTION...]%s%s\n\n%c%s.\n\n", t->word,
		t->arguments[0] != '\0' ? " " : "", t->arguments, t->summary[0] - 'a' + 'A', t->summary + 1);
	if (t->about[0] != '\0') {
		help_about(out, t->about);
	}
	for (const struct option_entry *e = options_list(); e->word != NULL; e++) {
		if (e->tasks & (1u << task)) {
			help_option(out, e, task);
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
