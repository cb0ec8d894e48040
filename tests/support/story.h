/*
 * story: the core by itself, for tests: events in, actions out, the master played by the test. What the core
 * wants done after each event is told as text.
 *
 *     c1 :7        reply to connection 1          acquire a#1    call for name a, attempt number 1
 *     c1 close     close connection 1             release a#1 hello admit ... likewise
 *                                                 renew a#1 shared            of a shared lease
 *                                                 set a#1 down a#2 look a#3   for the latch a
 *                                                 renew a#1 2 of 3: 0,1       of these permits
 *
 * Among several masters a call is followed by the number of its master from 1 on, as in acquire a#1@2, and
 * what a master answers or does is of the one that w->at says, 0-based.
 *
 * Every function that lets something happen returns that text, valid until the next one; the invariants of
 * the core are checked each time.
 */
#ifndef SUPPORT_STORY_H
#define SUPPORT_STORY_H

#include "daemon/core/core.h"

#include <stdbool.h>

#define LEASE_MS       1000
#define MARGIN_MS      100
#define GUARD_MS       (LEASE_MS + LEASE_MS / 100 + 2 + MARGIN_MS)
#define MEMORY         UINT64_C(77)
/* The first master's permanent id; the others follow. */
#define STORY_ID       0x1001U
/* Of names that begin with "fragile". */
#define CRASH_DELAY_MS 3000

struct story {
	struct core *core;
	struct actions actions; /* of the last event */
	struct now now;
	struct core_settings settings;
	unsigned at;     /* the master that speaks, */
	int64_t leap_ms; /* and how far its clock has gone ahead */
	bool refused;    /* greetings of a timer are not answered well, which they are else, without a word */
	bool timer; /* the step is a timer's: the master is greeted from time to time, which is not the story
		     */
	uint64_t *attempts; /* of those so far, by their count */
	size_t attempts_room;
	char set[512]; /* of masters, as they say it, */
	char places[256];
	char trace[4096];
};

/* core_step() into w->actions. A vote may name an attempt as the story does, by its count. */
void story_step(struct story *w, const struct event *event);

/* Four connections; the master is not there yet, neither on its only link nor on any of so many. */
void story_init(struct story *w);
void story_linked(struct story *w, unsigned links);
/* A story whose master is admitted, and one of several that are. */
void story_ready(struct story *w);
void story_among(struct story *w, unsigned masters);
/* ... and leases that nobody uses are kept for so long. */
void story_retaining(struct story *w, unsigned masters, int64_t ms);
/* w->settings are others now: the same beginning with a core that has them, its one master admitted. */
void story_anew(struct story *w);
void story_done(struct story *w);

const char *step(struct story *w, const struct event *event);
const char *after(struct story *w, int64_t ms);

/* A client's request: in a LOCK, wait_ms 0 means the rule's, and retries 0 that they are not counted. */
const char *run(struct story *w, conn_id conn, struct command command);
const char *lock(struct story *w, conn_id conn, const char *name);
const char *lock_shared(struct story *w, conn_id conn, const char *name);
const char *lock_once(struct story *w, conn_id conn, const char *name);
const char *lock_as(struct story *w, conn_id conn, const char *name, const char *owner);
const char *unlock(struct story *w, conn_id conn, const char *name);
const char *check(struct story *w, conn_id conn, const char *name);
const char *close_as(struct story *w, conn_id conn, enum end end);

/* Another daemon asks for our lease. */
const char *wanted(struct story *w, const char *name);

/* What the master answers. */
const char *vote(struct story *w, struct vote vote);
const char *granted(struct story *w, const char *name, uint64_t attempt, int64_t token);
const char *busy(struct story *w, const char *name, uint64_t attempt);
const char *answer(
	struct story *w, enum call_op op, enum outcome outcome, const char *name, uint64_t attempt);
/* Puts the set of masters into a greeting: all of the story have agreed on it, on an earlier day. */
void agree(struct story *w, struct vote *vote);
const char *hello(struct story *w, bool admitted, uint64_t incarnation);

/* Its links. */
const char *link_up(struct story *w);
const char *link_down(struct story *w, const char *why);

/* The last call of the last event that is about a name; NULL: it made none. */
const struct call *last_call(const struct story *w);

#endif
