/*
 * named: what happened to single names, for /metrics: only to those whose rule says metrics: yes. http.c is
 * the only writer.
 *
 * The number of names is bounded, since each is several lines of each scrape. If there are more, the first
 * ones are counted, and how often another one was not counted is a counter of its own.
 */
#ifndef HTTP_NAMED_H
#define HTTP_NAMED_H

#include "daemon/core/base/action.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct glob;

#define NAMED_MAX 200

/* A rule of the configuration, in its order: the first one that matches a name decides. */
struct named_rule {
	const char *match;
	bool metrics;
};

struct named_entry {
	char *name;
	size_t n;
	int64_t granted;
	int64_t lost;
	int64_t timed_out;
	int64_t waited_ms; /* all waits together, also those that timed out */
	int64_t held_ms;   /* all holds together */
};

struct named_match {
	struct glob *glob;
	bool metrics;
};

/* All zero at first. */
struct named {
	struct named_match *matches; /* up to the last one with metrics */
	size_t match_count;
	size_t count;
	uint32_t hashes[NAMED_MAX];
	struct named_entry entries[NAMED_MAX];
	int64_t uncounted; /* notes of names for which there was no room */
};

/* Forgets names that are not to be counted any more. False: out of memory, and nothing has changed. */
bool named_set(struct named *named, const struct named_rule *rules, size_t count)
	__attribute__((warn_unused_result));
void named_done(struct named *named);

/* For every note. */
void named_note(struct named *named, const struct note *note);

#endif
