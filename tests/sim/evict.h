/*
 * evict: an evicting maxmemory-policy is set at a master for a while, and keys of leases are evicted. Such a
 * key can be taken until a daemon greets the master; from then on its memory counts as lost (GUARANTEES).
 */
#ifndef SIM_EVICT_H
#define SIM_EVICT_H

struct server;
struct vote;

void evict(struct server *server);

/* A master has answered a greeting. */
void evict_greeted(struct server *server, const struct vote *vote);

#endif
