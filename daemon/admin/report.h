/*
 * report: what operators read (PROTOCOL.md 6): INSPECT, LOCKS and SESSIONS. They show the views of the
 * core and change nothing.
 */
#ifndef ADMIN_REPORT_H
#define ADMIN_REPORT_H

#include "daemon/request/context.h"

struct buffer;
struct glob;
struct ranked;
struct viewer;

context_verb report_verb; /* INSPECT, LOCKS, SESSIONS */

/* A page of LOCKS or SESSIONS for another form than an answer. */
struct report_request {
	bool sessions;      /* else LOCKS */
	struct glob *match; /* of LOCKS; NULL: every name */
	bool waited;        /* of LOCKS: only names with waiters */
	bool few; /* of LOCKS: only names that have been waited for, or as long and held, for longer than
		     this: */
	int64_t longest_ms;
	int64_t held_ms;
	size_t most;                 /* elements, >= 1 */
	size_t budget;               /* elements that are gone through, about */
	const struct viewer *viewer; /* who sees only what its rights are for */
};

/* Appends the elements, as RESP3 has them, to out, and sets how many; at most half of what out may have.
 * Returns the cursor of the next page; 0: this was the last one. */
uint64_t report_page(const struct context *context, const struct report_request *request, uint64_t cursor,
	struct buffer *out, size_t *count);

/* Writes the first page of INSPECT, as RESP3 has it and with the users of holders and waiters, to out, which
 * is empty. False: no memory. */
bool report_name(const struct context *context, struct slice name, struct buffer *out)
	__attribute__((warn_unused_result));

/* Names as LOCKS shows them: first those with the longest waits, then those with the longest holds. */
struct report_ranked {
	const struct ranked *names;  /* of longest.h; what has ended since is left out */
	const struct viewer *viewer; /* who sees only what its rights are for */
	size_t most;                 /* elements; 0: as many as a page has */
	int protocol;
	size_t bytes; /* of the elements, about */
};
/* Writes an array of their keys, `host` and `daemon` first, and of their values, as with ROWS. whole: all of
 * them had room. False: no memory, and nothing was written. */
bool report_ranked(const struct context *context, const struct report_ranked *request, struct buffer *out,
	bool *whole) __attribute__((warn_unused_result));

/* Answers INSPECT, LOCKS or SESSIONS as another daemon asks for it (fleet.h): each map has `host` and
 * `daemon`, too. bytes: of the answer, about. */
void report_asked(const struct context *context, const struct command *command, int protocol, size_t bytes,
	struct buffer *out);

#endif
