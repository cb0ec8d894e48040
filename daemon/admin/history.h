/*
 * history: the holds that have ended, the latest of all names, for HISTORY.
 *
 * The driver hands over each note. A ring of bytes keeps as many holds as fit; the oldest make room for new
 * ones. Holds of one name are linked through the ring, so that HISTORY does not search it.
 *
 *     buckets[hash] ──▶ hold ──before──▶ hold ──before──▶ older than the tail: the end
 *
 * It only records what happened: nothing depends on it.
 */
#ifndef ADMIN_HISTORY_H
#define ADMIN_HISTORY_H

#include "daemon/core/base/action.h"
#include "daemon/request/audit.h"
#include "daemon/request/context.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct command;
struct context;
struct history;
struct record;

/* Holds in an answer to HISTORY, at most. */
#define HISTORY_MOST 500

/* A hold that has ended. Slices point into the ring until the next note. */
struct past_hold {
	struct slice name;
	const char *kind;
	struct slice end; /* released, withheld, or the reason of the loss (PROTOCOL.md 4.6) */
	int64_t ended_ms; /* wall clock */
	int64_t held_ms;
	int64_t token;
	int64_t session;
	int64_t pid; /* 0: unknown */
	int64_t uid; /* -1: unknown */
	struct slice client;
	struct slice address;
	struct slice owner;
	struct slice why;
	struct slice
		broken_by; /* the client that broke it; n == 0: it was not broken, or by an unknown client */
};

/* Bytes of broken_by. */
#define BREAKER_MAX AUDIT_WHO_MAX

/* bytes: of the ring; 0: nothing is stored. NULL: out of memory. */
struct history *history_new(size_t bytes) __attribute__((warn_unused_result));
void history_free(struct history *history);

/* Another size from now on; keeps what fits. Out of memory, the size stays. */
void history_resize(struct history *history, size_t bytes);

/* From now on a note of a broken hold names this client; copied. NULL: it names none. */
void history_breaker(struct history *history, const char *who);

/* For every note, and when it came. */
void history_note(struct history *history, const struct note *note, int64_t wall_ms);

/* Calls each() with the holds of this name, the latest first, until it returns false. */
void history_each(const struct history *history, struct slice name,
	bool (*each)(void *arg, const struct past_hold *hold), void *arg);

/* A record for each hold, the oldest first, for the next process of this daemon. */
void history_save(const struct history *history, struct record *r);
/* The hold of the current record. */
void history_load(struct history *history, struct record *r);

/* How many holds this HISTORY asks for. */
size_t history_most(const struct command *command);
/* Answers HISTORY as another daemon asks for it (fleet.h): each map has `host` and `daemon`, too. bytes: of
 * the answer, about. */
void history_asked(const struct context *context, const struct command *command, int protocol, size_t bytes,
	struct buffer *out);

context_verb history_verb; /* HISTORY name */

#endif
