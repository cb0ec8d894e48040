/*
 * state_lease: names with their leases, holds and waits, in a saved state; leases that are being given up.
 */
#ifndef CORE_STATE_LEASE_H
#define CORE_STATE_LEASE_H

struct core;
struct record;
struct state_loader;

void state_save_resources(struct core *core, struct record *r);
void state_load_resource(struct state_loader *l);
void state_load_permit_lease(struct state_loader *l);
void state_save_releases(struct core *core, struct record *r);
void state_load_release(struct state_loader *l);

#endif
