/*
 * latch_client: a client that uses latches.
 */
#ifndef SIM_LATCH_CLIENT_H
#define SIM_LATCH_CLIENT_H

struct client;
struct world;

/* The share of such clients in percent, which is high in some worlds. */
int latch_client_percent(const struct world *world);

/* Sets a latch, counts it down, waits for it, or reads its count. */
void latch_client_turn(struct client *client);

#endif
