/*
 * mirror: the checker's part about what a daemon shows of its locks and sessions (6.1 to 6.3): just what was
 * asked and answered there. Each hold and each waiter is one that the model knows, in the same place and with
 * the same terms, and none is missing; so are a session's connections, its grace, its heartbeat and its
 * process, and no session is there that nothing keeps.
 */
#ifndef SIM_MIRROR_H
#define SIM_MIRROR_H

#include <stdint.h>

struct host;
struct world;

/* After each step of a daemon. */
void mirror_step(struct world *world, const struct host *host, int64_t now_ms);

/* After each step in which connections, or what is said of their session, may have changed. */
void mirror_sessions(struct world *world, const struct host *host, int64_t now_ms);

#endif
