/*
 * gradual_leaps: the checker's part about clocks that go ahead little by little. A daemon compares each
 * answer with the greetings of a whole guard. So it says that a clock leapt with the first answer that shows
 * more than the clock margin since any of them, though each greeting showed little.
 */
#ifndef SIM_GRADUAL_LEAPS_H
#define SIM_GRADUAL_LEAPS_H

#include "daemon/core/core.h"

#include <stdint.h>

#define CREEP_SAMPLES 8 /* daemons greet three times in a lease, or more often if something is wrong */

struct host;
struct note;
struct vote;

struct gradual_leaps {
	struct {
		int64_t at_us;    /* when the greeting left; 0: none */
		int64_t ahead_us; /* how far ahead it showed the clock at most, with the leaps noted since */
	} samples[CREEP_SAMPLES];
	unsigned newest;
};

/* After the daemon got this answer, and leaps.h did. */
void gradual_leaps_answered(struct host *host, const struct vote *vote);
void gradual_leaps_note(struct host *host, const struct note *note);

#endif
