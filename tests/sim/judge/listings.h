/*
 * listings: the checker's part about what a daemon shows of its locks and sessions (6.1 to 6.3). It shows
 * exactly the holds and waiters of the model, in the same order and with the same terms. The same is true for
 * a session's connections, its grace, its heartbeat and its process. No session exists without a reason.
 */
#ifndef SIM_LISTINGS_H
#define SIM_LISTINGS_H

#include <stdint.h>

struct host;
struct world;

/* After each step of a daemon. */
void listings_step(struct world *world, const struct host *host, int64_t now_ms);

/* After each step that may have changed connections or their sessions. */
void listings_sessions(struct world *world, const struct host *host, int64_t now_ms);

#endif
