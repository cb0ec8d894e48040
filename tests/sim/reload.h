/*
 * reload: a daemon reads a configuration that was changed: leases down to a quarter of what they were, where
 * the network allows that, and other bounds for holds and waits.
 */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

struct host;
struct world;

void reload(struct host *host);
/* Some do every now and then, where the plan says so. */
void reload_watch(struct world *world);

#endif
