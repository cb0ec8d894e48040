/*
 * leaps: the checker's part about clocks that leap. A daemon notes a leap of a master only if that master's
 * clock leapt, or the daemon's own clock stood still, by more than the clock margin since a greeting that the
 * daemon remembers. From then on it counts no new grant of that master for the length of a guard. If most of
 * its masters leapt, its leases are shorter by as much. One leap is noted once, however many answers and
 * connections show it. A leap that is far greater than the margin is noted with the first answer that shows
 * it.
 */
#ifndef SIM_LEAPS_H
#define SIM_LEAPS_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct host;
struct note;
struct server;
struct vote;

struct leaps {
	int64_t greeted_us; /* the last answered greeting left then, or later */
	int64_t gap_us;     /* the same for the last greeting before a long silence */
	int64_t back_us;    /* the end of that silence */
	uint64_t memory;    /* the memory in that greeting's answer */
	bool seen;          /* this life of the daemon has noted a leap of the clock */
	int64_t seen_ms;    /* its last leap, by the daemon's own clock, which the guard uses */
	int64_t counts_ms;  /* when it was last counted to shorten leases by the gain of most clocks */
	int64_t shown_us;   /* when the answer that showed it was given */
	int64_t hidden_us;  /* how long that answer was on its way, or a later one: that much it did not show
			     */
	int64_t gained_us;  /* how far the clock leapt */
	bool doubted;     /* since the leap no answered greeting asked about it, or told of another memory */
	uint64_t doubts;  /* number of the first greeting that asks about it; 0: none yet */
	int64_t sum_us;   /* sum of the noted leaps that followed each other closely */
	int64_t first_us; /* the first of these */
	int64_t last_us;  /* the last of these */
	int64_t times;    /* their number */
	int64_t known_us; /* when the last greeting left that measured the clock; 0: none has */
	struct measure {
		int64_t at_us;    /* when the last greeting on a link left that was answered soon; 0: none */
		int64_t ahead_us; /* how far ahead it showed the clock at most, with the leaps noted since */
		bool late;        /* a later one was answered late */
		int64_t late_us;  /* what that one showed: as ahead_us */
	} measures[CORE_LINKS_MAX];
};

/* Actions of daemons. */
void leaps_start(struct host *host);
void leaps_call(struct host *host, const struct call *call);
/* After the daemon got this answer. */
void leaps_greeted(struct host *host, const struct vote *vote);
void leaps_note(struct host *host, const struct note *note);

/* Whether the daemon counts no new grants of this master, the n-th that it knows, because of a leap. */
bool leaps_withholds(const struct host *host, unsigned master);

/*
 * Of an only master: whether each living daemon would see that its clock leaps now, as it has measured that
 * clock and the clock has not stepped back since; and whether one has not measured yet that it went ahead.
 */
bool leaps_show(const struct server *server);
bool leaps_unseen(const struct server *server);

/* By how much its leases may be shorter at most than it was sure of; 0: no majority leapt. */
int64_t leaps_shorten_us(const struct host *host);

/* After each step of a daemon that knows that its host stood still: the leases that it is still sure of
 * exist. */
void leaps_step(struct host *host);

#endif
