/*
 * leaps: the checker's part about clocks that go ahead. A daemon says so of a master only if the clock of
 * that master did, or the daemon's own stood still, by more than the clock margin since one of the greetings
 * that the daemon remembers. From then on it counts nothing new from that master for a guard. If most of its
 * masters leapt, its leases are shorter by as much. However many answers show a leap, over however many
 * connections, it is one leap. And a leap by far more is seen with the first answer that shows it.
 */
#ifndef SIM_LEAPS_H
#define SIM_LEAPS_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

struct call;
struct host;
struct note;
struct vote;

struct leaps {
	int64_t greeted_us; /* the last greeting that was answered left then, or later, */
	int64_t gap_us;     /* and the last one before nothing was heard for long, */
	int64_t back_us;    /* until then */
	uint64_t memory;    /* that it told of, */
	bool seen;          /* this life of the daemon has said that the clock leapt: */
	int64_t seen_ms;    /* last then, by the daemon's own clock, which the guard goes by, */
	int64_t counts_ms; /* it has counted then, last, when what most clocks gained was taken off leases, */
	int64_t shown_us;  /* by an answer that was given then, */
	int64_t gained_us; /* and by as much */
	bool doubted;      /* no greeting has been answered since that asks about it, or tells of another
			    * memory; */
	uint64_t doubts;   /* those from this one on do; 0: none yet */
	int64_t sum_us;    /* what it has said of leaps, one soon after the other, */
	int64_t first_us;  /* since then, */
	int64_t last_us;   /* up to now, */
	int64_t times;     /* so often */
	struct measure {
		int64_t at_us;    /* the last greeting on a link that was answered left then; 0: none was, */
		int64_t ahead_us; /* and showed the clock ahead by that at most, what was said since included
				   */
	} measures[CORE_LINKS_MAX];
};

/* What daemons do. */
void leaps_start(struct host *host);
void leaps_call(struct host *host, const struct call *call);
/* After it was told this answer. */
void leaps_greeted(struct host *host, const struct vote *vote);
void leaps_note(struct host *host, const struct note *note);

/* Whether it counts nothing new from this master, the n-th that it knows, as a clock leapt. */
bool leaps_withholds(const struct host *host, unsigned master);

/* By how much at most its leases may be shorter than it was sure of; 0: no majority leapt. */
int64_t leaps_shorten_us(const struct host *host);

/* After each step of a daemon: what it is still sure of, once it knows that it stood still, is there. */
void leaps_step(struct host *host);

#endif
