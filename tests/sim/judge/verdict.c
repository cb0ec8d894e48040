/* verdict: see verdict.h. */
#include "tests/sim/judge/verdict.h"

#include "tests/history/history.h"

#include <stdio.h>
#include <string.h>

#define LINES_MOST 8
#define LINE_BYTES 160

struct listener {
	verdict_found *found;
	void *arg;
};

static void
report(void *context, enum history_rule rule, const char *what, const struct event *const *events, size_t n)
{
	const struct listener *to = context;
	char texts[LINES_MOST][LINE_BYTES];
	const char *lines[LINES_MOST];
	size_t count = n < LINES_MOST ? n : LINES_MOST;

	for (size_t i = 0; i < count; i++) {
		(void)history_line(events[i], texts[i], LINE_BYTES);
		lines[i] = texts[i];
	}
	to->found(to->arg, history_rules[rule], what, lines, count);
}

bool
verdict(const struct verdict_text *texts, size_t n, verdict_found *found, void *arg, char *error, size_t size)
{
	struct history *h = history_begin();
	struct listener to = {found, arg};
	bool good = true;

	for (size_t i = 0; i < n && good; i++)
		good = history_take(h, texts[i].client, texts[i].lines);
	if (good)
		history_judge(h, report, &to);
	else
		snprintf(error, size, "%s", history_error(h));
	history_done(h);
	return good;
}
