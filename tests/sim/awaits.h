/*
 * awaits: which latch an AWAIT waits for: the first that its daemon is told of after the request came. When
 * the daemon hears of another one, or of none, the AWAIT is over (3.40).
 */
#ifndef SIM_AWAITS_H
#define SIM_AWAITS_H

struct call;
struct host;
struct vote;
struct world;

/* What a daemon asks of latches, and is told. */
void awaits_called(struct host *host, const struct call *call);
void awaits_voted(struct host *host, const struct vote *vote);

/* After each step of a daemon. */
void awaits_step(struct world *world, const struct host *host);

#endif
