/*
 * liveness: whether the client of a session is there, and what follows if it is not.
 *
 *     attach      which connections speak for a session, and whether it goes on without them
 *     grace       how long it goes on when it has lost the last one
 *     heartbeat   how long it may be silent
 *     ending      the end of a session, which gives up what it holds
 *
 * What a session holds and waits for is ended from here; nothing below calls this room.
 */
#ifndef CORE_LIVENESS_H
#define CORE_LIVENESS_H

#include "daemon/core/base/ration.h"
#include "daemon/core/base/timers.h"
#include "daemon/core/liveness/ending.h"

#include <stdbool.h>
#include <stdint.h>

struct core;

struct liveness {
	int64_t heartbeats;        /* sessions with a heartbeat */
	struct ending_list ending; /* sessions that give up what they hold, in turn */
	struct timer ending_timer;
	struct ration ended_holds; /* of sessions that end */
};

/*
 * A time limit of ms of a session has passed. If this daemon was late itself, a request that came in time may
 * still be unread. True: the timer is armed for one check more, an eighth of ms later and a second at most;
 * and again if that check is late. *check_at_ms is state between the calls, 0 at first.
 */
bool liveness_checks_again(struct core *core, struct timer *timer, int64_t *check_at_ms, int64_t ms);

#endif
