/*
 * countdown: a client that has to do with latches.
 */
#ifndef SIM_COUNTDOWN_H
#define SIM_COUNTDOWN_H

struct client;
struct world;

/* How often that is what a client does, in percent: much in some worlds. */
int countdown_percent(const struct world *world);

/* Sets a latch, counts it down, waits for it, or looks at it. */
void countdown_turn(struct client *client);

#endif
