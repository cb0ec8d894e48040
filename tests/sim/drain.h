/*
 * drain: the checker's part about a daemon that is told to stop (G15): it grants nothing more, answers all
 * who wait, tells all who hold by the end of their connections, and releases what nobody holds.
 */
#ifndef SIM_DRAIN_H
#define SIM_DRAIN_H

struct host;
struct world;

/* It was told, in the step that has just been made. */
void drain_began(struct world *world, const struct host *host);
/* Its time is over. */
void drain_ended(struct world *world, const struct host *host);

#endif
