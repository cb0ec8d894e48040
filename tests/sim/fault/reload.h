/*
 * reload: lets a daemon reload a changed configuration: leases down to a quarter, if the network allows that,
 * and other bounds for holds and waits.
 */
#ifndef SIM_RELOAD_H
#define SIM_RELOAD_H

struct host;
struct world;

void reload(struct host *host);
/* From now on some daemons reload from time to time, if the plan says so. */
void reload_watch(struct world *world);

#endif
