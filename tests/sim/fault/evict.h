/*
 * evict: sets an evicting maxmemory-policy at a master for a time, and evicts keys of leases. Another daemon
 * can take such a name until a daemon sends the master HELLO; then its memory counts as lost (GUARANTEES).
 */
#ifndef SIM_EVICT_H
#define SIM_EVICT_H

struct server;
struct vote;

void evict(struct server *server);

/* A master has answered a HELLO. */
void evict_hello(struct server *server, const struct vote *vote);

#endif
