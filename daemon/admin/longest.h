/*
 * longest: which names have been waited for longest, and behind them which have been held longest, for TOP
 * (PROTOCOL.md 6.27).
 *
 * There may be millions of names, and a client that asks must not keep the others waiting. So a search goes
 * on in slices between their requests, and what it found last is the answer until it has found anew:
 *
 *     TOP ──▶ longest_ask ──▶ names found last        the caller reads each again: what it shows is of now
 *                 │
 *                 └──▶ search: 0.5 ms ── 2 ms ── 0.5 ms ── … ──▶ names found
 *
 * What was found a moment ago are the first ones still, less those that have ended since: a wait that began
 * later is the shortest. Of some hundred names a search needs one slice, which the request itself makes.
 *
 * Requests for the same names share a search. A search that no request needs any more is forgotten.
 */
#ifndef ADMIN_LONGEST_H
#define ADMIN_LONGEST_H

#include "daemon/admin/ranked.h"
#include "proto/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct context;
struct longest;
struct viewer;

/* Names that a search finds at most. */
#define LONGEST_MOST     500
/* Searches at a time; each keeps at most 2 * RANKED_BYTES. */
#define LONGEST_SEARCHES 8
/* A search begins so long after the last one at the earliest, and after four times as long as that took. */
#define LONGEST_FRESH_MS 1000
/* It ends after this time, and has found the first of those that it has gone through. */
#define LONGEST_TOOK_MS  5000
/* No client asks for it any more. */
#define LONGEST_IDLE_MS  10000
/* What a search takes of a turn, and how long the requests of clients have then before it takes more: a fifth
 * of a processor, for all searches together. */
#define LONGEST_SLICE_NS 500000
#define LONGEST_PAUSE_MS 2

/* NULL: out of memory. */
struct longest *longest_new(void) __attribute__((warn_unused_result));
void longest_free(struct longest *longest);

struct longest_found {
	const struct ranked *names; /* in no order; valid until the next call of a function of this file */
	bool whole;                 /* of all names; otherwise of those that it has gone through so far */
};

/* The first names that match, n == 0: of all, as far as the viewer may see them. False: there are too many
 * different searches, or no memory. */
bool longest_ask(struct longest *longest, const struct context *context, struct slice match,
	const struct viewer *viewer, int64_t now_ms, struct longest_found *out)
	__attribute__((warn_unused_result));

/* Once in a turn. Returns when it has to be called again at the latest, CLOCK_BOOTTIME in ms. */
int64_t longest_turn(struct longest *longest, const struct context *context, int64_t now_ms);

#endif
