/*
 * deadline: how long a holder may rely on its lock, and what has to happen when. Pure: time is passed in,
 * CLOCK_BOOTTIME in ms.
 *
 *     told             ask              ask again          stop            expire
 *      |----------------|----------------|------------------|----------------|
 *      sent          1/3 of valid     2/3              expire - grace     sent + valid
 *
 * Each answer to CHECK moves the whole line on. When answers stay away the command is stopped in time, also
 * when the daemon is gone (guarantees: told deadline).
 */
#ifndef CLIENT_DEADLINE_H
#define CLIENT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct deadline {
	int64_t grace_ms;  /* wanted from stop to expire */
	int64_t expire_ms; /* the hold is surely good until then */
	int64_t stop_ms;   /* when the command is told to stop */
	int64_t ask_ms;    /* when the next CHECK is due; INT64_MAX: never again */
	int64_t sent_ms;   /* when the outstanding CHECK was sent; 0: none is */
	int64_t doubt_ms;  /* expired unasked: the end of the wait for the answer; 0: no doubt */
	bool silent;       /* the daemon cannot be asked any more */
};

enum deadline_step {
	DEADLINE_WAIT,  /* nothing to do before deadline_next() */
	DEADLINE_ASK,   /* send CHECK, then call deadline_asked() */
	DEADLINE_STOP,  /* tell the command to stop */
	DEADLINE_EXPIRE /* the hold is over */
};

/* Granted: valid_ms counted from sent_ms. grace_ms is cut to a third of that, so that an answer to CHECK can
 * come before it begins. */
void deadline_start(struct deadline *d, int64_t sent_ms, int64_t valid_ms, int64_t grace_ms);

void deadline_asked(struct deadline *d, int64_t now_ms);

/* The outstanding CHECK was answered: good for valid_ms from when it was sent. */
void deadline_told(struct deadline *d, int64_t valid_ms);

/* The connection is gone: what was told last stands, also after a late CHECK. */
void deadline_silence(struct deadline *d);

/*
 * What to do at now_ms. Who finds the time to stop over without having asked was itself stopped or suspended
 * (^Z), while the daemon may well have kept the lock: it asks, and the answer has DEADLINE_LATE_MS to come
 * before the command is told to stop. Who finds the hold expired without having asked is in doubt: the lock
 * may be another's since. It asks as well, and has DEADLINE_DOUBT_MS; until then nothing may be done under
 * the lock.
 */
enum deadline_step deadline_step(struct deadline *d, int64_t now_ms);

#define DEADLINE_LATE_MS  250
#define DEADLINE_DOUBT_MS 1000

/* Whether the hold has expired and was asked about only then, and the answer may still come. */
bool deadline_doubts(const struct deadline *d, int64_t now_ms);

/* When deadline_step() has to be called again. */
int64_t deadline_next(const struct deadline *d, int64_t now_ms);

#endif
