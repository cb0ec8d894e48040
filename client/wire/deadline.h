/*
 * deadline: what is due at which time: how long a holder may rely on its lock, how long a command may run
 * (--max-run) and keeps its lock (--min-hold), and a timer for poll(2).
 *
 * All times are CLOCK_BOOTTIME in ms, which also counts the time that the host was suspended. deadline_ and
 * limits_ functions are pure: the caller passes the time.
 *
 *     told             ask              ask again          stop            expire
 *      |----------------|----------------|------------------|----------------|
 *      sent          1/3 of valid     2/3              expire - grace     sent + valid
 *
 * Each answer to CHECK moves the whole line forward. If answers stop, the command is stopped in time, even if
 * the daemon is gone (GUARANTEES: announced deadline).
 */
#ifndef CLIENT_DEADLINE_H
#define CLIENT_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* How long a holder may rely on its lock. */
struct deadline {
	int64_t grace_ms;  /* from stop to expire */
	int64_t expire_ms; /* the hold is valid until then */
	int64_t stop_ms;   /* when to tell the command to stop */
	int64_t ask_ms;    /* when the next CHECK is due; INT64_MAX: never again */
	int64_t sent_ms;   /* when the outstanding CHECK was sent; 0: none */
	int64_t doubt_ms;  /* if the hold expired without a CHECK: how long to wait for the answer; 0: not in
			      doubt */
	bool silent;       /* the connection is gone, or away: CHECK is impossible */
};

enum deadline_step {
	DEADLINE_WAIT,  /* nothing to do before deadline_next() */
	DEADLINE_ASK,   /* send CHECK, then call deadline_asked() */
	DEADLINE_STOP,  /* tell the command to stop */
	DEADLINE_EXPIRE /* the hold is over */
};

/* Longest time that a daemon tells, a year; what is longer counts as that, and what is negative as none. */
#define DEADLINE_MS_MAX INT64_C(31536000000)

/* What to set aside of valid_ms if wanted_ms are wanted: a twentieth at most, or half a second if that is
 * more. An outage of the master counts against what is left when it begins: the less is set aside, the longer
 * may it last. */
int64_t deadline_reserve_ms(int64_t valid_ms, int64_t wanted_ms);

/* The lock was granted, valid for valid_ms from sent_ms. grace_ms is cut to a third of valid_ms, so that an
 * answer to CHECK can arrive before the grace time begins. */
void deadline_start(struct deadline *d, int64_t sent_ms, int64_t valid_ms, int64_t grace_ms);

void deadline_asked(struct deadline *d, int64_t now_ms);

/* The outstanding CHECK was answered: the hold is valid for valid_ms from the time CHECK was sent. */
void deadline_announced(struct deadline *d, int64_t valid_ms);

/* The connection is gone. The deadline that was told last remains, also after a late CHECK. */
void deadline_silence(struct deadline *d);

/* The same, but it may come back: a hold that has expired meanwhile (this process was stopped, and the daemon
 * restarted) is in doubt for DEADLINE_DOUBT_MS from the first cut on. */
void deadline_cut(struct deadline *d, int64_t now_ms);

/* The connection is back: CHECK is due. */
void deadline_back(struct deadline *d, int64_t now_ms);

/*
 * What to do at now_ms. If stop_ms has passed and no CHECK was sent, this process was stopped or suspended
 * (^Z), and the daemon may have kept the lock: CHECK is sent now, and the command is told to stop only if no
 * answer comes within DEADLINE_LATE_MS. If the hold has expired and no CHECK was sent, the hold is in doubt,
 * because another client may have the lock by now: CHECK is sent and has DEADLINE_DOUBT_MS to be answered.
 * Until then the command must not run.
 */
enum deadline_step deadline_step(struct deadline *d, int64_t now_ms);

#define DEADLINE_LATE_MS  250
#define DEADLINE_DOUBT_MS 1000

/* A CHECK is under way, or the connection was away, and the hold has expired so long ago that this process
 * stood still meanwhile: the answer, or the daemon, may be there already. The hold is in doubt. For a caller
 * that checks each deadline when it is due. */
void deadline_stood(struct deadline *d, int64_t now_ms);

#define DEADLINE_STOOD_MS 100

/* Whether the hold is in doubt: CHECK was sent only after the hold expired, and its answer may still come. */
bool deadline_doubts(const struct deadline *d, int64_t now_ms);

/* When deadline_step() has to be called again. */
int64_t deadline_next(const struct deadline *d, int64_t now_ms);

/* How long a command may run, and how long its lock is kept at least. */
struct limits {
	int64_t stop_ms; /* ask the command to end; INT64_MAX: never, or done */
	int64_t kill_ms; /* then KILL it; INT64_MAX: not yet, or done */
	int64_t kill_after_ms;
	int64_t keep_ms; /* do not release the lock before */
};

enum limits_step {
	LIMITS_WAIT, /* nothing to do before limits_next() */
	LIMITS_STOP, /* --max-run is over: ask the command to end */
	LIMITS_KILL  /* the command was asked to end, and still runs */
};

/* now_ms: when the lock was granted. max_run_ms, min_hold_ms: 0: no limit. */
void limits_start(
	struct limits *l, int64_t now_ms, int64_t max_run_ms, int64_t kill_after_ms, int64_t min_hold_ms);

/* Returns each step once. */
enum limits_step limits_step(struct limits *l, int64_t now_ms);

/* When limits_step() has to be called again. */
int64_t limits_next(const struct limits *l);

/* A timer for poll(2): a descriptor, close-on-exec; -1 and errno. */
int wakeup_open(void) __attribute__((warn_unused_result));

/* The descriptor becomes readable at at_ms (CLOCK_BOOTTIME; the past: at once), and remains so until the next
 * call. INT64_MAX: never. False: it is not a timer any more; nothing else is done to it. */
bool wakeup_set(int fd, int64_t at_ms);

#endif
