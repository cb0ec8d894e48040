/*
 * story: the core alone, for tests: events in, actions out, with the master played by the test. The actions
 * after each event are returned as text.
 *
 *     c1 :7        reply to connection 1          acquire a#1    call for name a, attempt number 1
 *     c1 close     close connection 1             release a#1 hello admit ... likewise
 *                                                 renew a#1 shared            of a shared lease
 *                                                 set a#1 down a#2 look a#3   for the latch a
 *                                                 renew a#1 2 of 3: 0,1       of these permits
 *
 * With several masters the number of the master follows a call, counted from 1: acquire a#1@2. w->at, counted
 * from 0, is the master that answers or acts.
 *
 * Every function that feeds an event returns that text, which is valid until the next event. The invariants
 * of the core are checked each time, and that its ledger says what the core says (replay.h); with many names,
 * once in so many events, and by story_done().
 */
#ifndef SUPPORT_STORY_H
#define SUPPORT_STORY_H

#include "daemon/core/core.h"
#include "proto/buffer.h"
#include "tests/support/replay.h"

#include <stdbool.h>

#define LEASE_MS       1000
#define MARGIN_MS      100
#define GUARD_MS       (LEASE_MS + LEASE_MS / 100 + 2 + MARGIN_MS)
#define MEMORY         UINT64_C(77)
/* The first master's permanent id; the others follow. */
#define STORY_ID       0x1001U
/* For names that begin with "fragile". */
#define CRASH_DELAY_MS 3000
#define STORY_DAEMON   "0123456789abcdef0123456789abcdef"

struct story {
	struct core *core;
	struct actions actions; /* of the last event */
	struct now now;
	struct core_settings settings;
	unsigned at;     /* the master that answers, counted from 0 */
	int64_t jump_ms; /* how far the clock of that master is ahead */
	bool refused;    /* a HELLO by a timer is refused; otherwise it is admitted, and not part of the text
			  */
	bool timer;      /* the step is a timer's: its periodic HELLOs are not part of the text */
	uint64_t *attempts; /* attempts so far, in the order of their first use */
	size_t attempts_room;
	char set[512]; /* of masters, as a master answers it */
	char places[256];
	char trace[4096];
	struct buffer entries; /* of the ledger, in the last event */
	struct buffer log;     /* the ledger */
	struct replay ledger;  /* what it says by now */
	size_t unchecked;      /* events since the invariants were last checked */
};

/* core_step() into w->actions. A vote may name an attempt by its number in the story. */
void story_step(struct story *w, const struct event *event);

/* The same, with the actions of this step alone and other random numbers. Nothing checks the whole core,
 * which takes long with thousands of names. */
void story_step_quickly(struct story *w, const struct event *event);

/* Begins with four connections and a master that is not connected: with one link, or with `links` links; or
 * with so many masters. */
void story_init(struct story *w);
void story_linked(struct story *w, unsigned links);
void story_apart(struct story *w, unsigned masters);
/* The same with the master admitted; with several masters, all admitted. */
void story_ready(struct story *w);
void story_among(struct story *w, unsigned masters);
/* ... and with unused leases retained for ms. */
void story_retaining(struct story *w, unsigned masters, int64_t ms);
/* After a change of w->settings: begins again with a new core, its one master admitted. */
void story_anew(struct story *w);
void story_done(struct story *w);
/* The next process of the same daemon goes on with this core and with the ledger. */
void story_goes_on(struct story *w, struct core *core);

const char *step(struct story *w, const struct event *event);

/* The text that the latest step has answered; it has. */
const char *story_text(const struct story *w);
const char *after(struct story *w, int64_t ms);

/* A client's request. In a LOCK, wait_ms 0 stands for COMMAND_WAIT_RULE, and retries 0 for
 * COMMAND_RETRIES_ANY. */
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

/* Answers of the master. */
const char *vote(struct story *w, struct vote vote);
const char *granted(struct story *w, const char *name, uint64_t attempt, int64_t token);
const char *busy(struct story *w, const char *name, uint64_t attempt);
const char *answer(
	struct story *w, enum call_op op, enum outcome outcome, const char *name, uint64_t attempt);
/* The renewals that the last step asked for, at most so many; how many there are. */
size_t story_renewals(const struct story *w, struct call *calls, size_t most);

/* Puts the set of masters into a HELLO: all masters of the story have agreed on it before. */
void agree(struct story *w, struct vote *vote);
const char *hello(struct story *w, bool admitted, uint64_t incarnation);

/* Events of the master's links. */
const char *link_up(struct story *w);
const char *link_down(struct story *w, const char *why);

/* The note of this type that the last event made; NULL: none. */
const struct note *noted(const struct story *w, enum note_type type);

/* The last call about a name among the actions of the last event; NULL: none. */
const struct call *last_call(const struct story *w);

#endif
