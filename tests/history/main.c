/*
 * holdfast-history: judges what clients wrote down.
 *
 *     holdfast-history [--lines N] [--running NS] FILE...
 *
 * Each rule of HISTORY.md that is broken is printed, with the lines that show it, N times at most (10). What
 * the client wrote between two of these lines stands between them, indented further.
 * --running: the clients still write; what they were told after this time, in ns of CLOCK_BOOTTIME, and holds
 * that have not ended are not judged. The last line has the sums.
 *
 * Exit 0: no rule is broken; 1: one is; 2: a file is no history, or wrong usage.
 */
#include "tests/history/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BETWEEN_MAX 16

struct shown {
	size_t broken[RULE_COUNT];
	size_t most;
};

static void
show_line(const char *indent, const struct event *e)
{
	char line[400];

	history_line(e, line, sizeof(line));
	printf("%s%s\n", indent, line);
}

/* What a client wrote between these lines of its own: its last words before the later one. */
static void
show_between(const struct event *from, const struct event *to)
{
	const struct list *events = &from->client->events;
	size_t first = 0, end, left;

	while (first < events->n && ((const struct event *)events->at[first])->line <= from->line)
		first++;
	for (end = first; end < events->n && ((const struct event *)events->at[end])->line < to->line;)
		end++;
	left = end - first > BETWEEN_MAX ? end - first - BETWEEN_MAX : 0;
	if (left > 0)
		printf("      (%zu lines)\n", left);
	for (size_t i = first + left; i < end; i++)
		show_line("      ", events->at[i]);
}

static void
show(void *context, enum history_rule rule, const char *what, const struct event *const *lines, size_t n)
{
	struct shown *shown = context;

	if (shown->broken[rule]++ >= shown->most)
		return;
	printf("%s: %s\n", history_rules[rule], what);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && lines[i - 1]->client == lines[i]->client)
			show_between(lines[i - 1], lines[i]);
		show_line("    ", lines[i]);
	}
}

static _Noreturn void
usage(void)
{
	fprintf(stderr, "usage: holdfast-history [--lines N] [--running NS] FILE...\n");
	exit(2);
}

int
main(int argc, char **argv)
{
	struct history *h = history_begin();
	struct shown shown = {.most = 10};
	size_t lines = 0, broken = 0;
	int i = 1;

	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
		if (strcmp(argv[i], "--lines") == 0)
			shown.most = (size_t)history_number(argv[i + 1]);
		else if (strcmp(argv[i], "--running") == 0)
			h->running = history_number(argv[i + 1]);
		else
			usage();
	}
	if (i == argc)
		usage();
	for (; i < argc; i++) {
		if (!history_read(h, argv[i])) {
			fprintf(stderr, "%s\n", history_error(h));
			history_done(h);
			return 2;
		}
	}
	history_judge(h, show, &shown);
	for (size_t k = 0; k < h->clients.n; k++)
		lines += ((struct client *)h->clients.at[k])->events.n;
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (shown.broken[rule] > 0)
			printf("%s %zu, ", history_rules[rule], shown.broken[rule]);
		broken += shown.broken[rule];
	}
	printf("%zu broken: %zu clients, %zu lines, %zu holds, %zu questions about latches\n", broken,
		h->clients.n, lines, h->holds.n, h->latches.n);
	history_done(h);
	return broken > 0 ? 1 : 0;
}
