/*
 * verdict: hands the history of a world to the judge of histories (tests/history), which knows nothing of the
 * simulator. It stands apart, as a struct client, wait or hold is another thing there than here.
 */
#ifndef SIM_VERDICT_H
#define SIM_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a history has, of what happened in its world. */
struct recorded {
	uint64_t clients;
	uint64_t grants;
	uint64_t answers;
};

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
