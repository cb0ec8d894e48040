/*
 * countdown: a client that uses latches.
 */
#ifndef SIM_COUNTDOWN_H
#define SIM_COUNTDOWN_H

struct client;
struct world;

/* The share of such clients in percent, which is high in some worlds. */
int countdown_percent(const struct world *world);

/* Sets a latch, counts it down, waits for it, or reads its count. */
void countdown_turn(struct client *client);

#endif
