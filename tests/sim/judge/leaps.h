/*
 * leaps: the checker's part about clocks that leap. A daemon notes a leap of a master only if that master's
 * clock has gone ahead, or its own has stood still, by more than the clock margin. From then on it counts no
 * new grant of that master for the length of a guard, and if most of its masters leapt, its leases are
 * shorter by as much. What a leap does that no daemon sees is judged as exclusion and validity.
 */
#ifndef SIM_LEAPS_H
#define SIM_LEAPS_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct note;
struct server;
struct vote;

struct leaps {
	int64_t known_us;  /* when the last greeting left that measured the clock; 0: none has */
	bool seen;         /* this life of the daemon has noted a leap of the clock */
	int64_t seen_ms;   /* its last leap, by the daemon's own clock, which the guard uses */
	int64_t counts_ms; /* when it was last counted to shorten leases by the gain of most clocks */
	int64_t gained_us; /* how far the clock went ahead at most */
};

/* Actions of daemons. */
void leaps_start(struct host *host);
/* After the daemon got this answer. */
void leaps_greeted(struct host *host, const struct vote *vote);
void leaps_note(struct host *host, const struct note *note);

/* Whether the daemon may count no new grants of this master, the n-th that it knows, because of a leap. */
bool leaps_withholds(const struct host *host, unsigned master);

/*
 * Of an only master: whether each living daemon would see that its clock leaps now, as it has measured that
 * clock and the clock has not stepped back since; and whether one has not measured yet that it went ahead.
 */
bool leaps_show(const struct server *server);
bool leaps_unseen(const struct server *server);

/* By how much its leases may be shorter at most than it was sure of; 0: no majority leapt. */
int64_t leaps_shorten_us(const struct host *host);

#endif
