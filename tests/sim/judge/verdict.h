/*
 * verdict: hands the history of a world to the judge of histories (tests/history), which knows nothing of the
 * simulator, as the simulator's own names are others than its.
 */
#ifndef SIM_VERDICT_H
#define SIM_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

/* The lines of one client of the history. The judge cuts them into words. */
struct verdict_text {
	const char *client;
	char *lines;
};

/* A rule that is broken, and the lines that show it, as history_line() writes them. */
typedef void verdict_found(void *arg, const char *rule, const char *what, const char *const *lines, size_t n);

/* False: a line has no form that HISTORY.md knows, and `error` says which. */
bool verdict(const struct verdict_text *texts, size_t n, verdict_found *found, void *arg, char *error,
	size_t size);

#endif
