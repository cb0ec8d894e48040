/*
 * clock_jumps: the checker's part about clocks that jump. A daemon notes a jump of a master only if that
 * master's clock has gone ahead, or its own has stood still, by more than the clock margin. What a jump does
 * that no daemon sees is judged as exclusion and validity.
 */
#ifndef SIM_CLOCK_JUMPS_H
#define SIM_CLOCK_JUMPS_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <stdint.h>

struct host;
struct note;
struct server;
struct vote;

struct clock_jumps {
	int64_t known_us; /* when the last HELLO left that measured the clock; 0: none has */
	bool seen;        /* this life of the daemon has noted a jump of the clock */
	int64_t seen_ms;  /* the last one, by its own clock */
};

/* Actions of daemons. */
void clock_jumps_start(struct host *host);
/* After the daemon got this answer. */
void clock_jumps_hello(struct host *host, const struct vote *vote);
void clock_jumps_note(struct host *host, const struct note *note);

/* Whether the daemon has noted a jump of a master lately: its leases may be shorter than it was sure of, and
 * it takes nothing new of that master. */
bool clock_jumps_noted(const struct host *host);

/*
 * Of an only master: whether each living daemon would see that its clock jumps now, as it has measured that
 * clock and the clock has not stepped back since; and whether one has not measured yet that it went ahead.
 */
bool clock_jumps_show(const struct server *server);
bool clock_jumps_unseen(const struct server *server);

#endif
