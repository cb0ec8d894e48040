/*
 * awaits: the checker's part about the latch that an AWAIT waits for: the first one that its daemon is told
 * of after the request came. If the daemon is told of another latch, or of none, the AWAIT ends (3.40).
 */
#ifndef SIM_AWAITS_H
#define SIM_AWAITS_H

struct call;
struct host;
struct vote;
struct world;

/* A daemon's calls about latches, and their votes. */
void awaits_called(struct host *host, const struct call *call);
void awaits_voted(struct host *host, const struct vote *vote);

/* After each step of a daemon. */
void awaits_step(struct world *world, const struct host *host);

#endif
