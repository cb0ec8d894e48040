/*
 * state_latch: latches with the requests about them, in a saved state, and what they count for users.
 */
#ifndef CORE_STATE_LATCH_H
#define CORE_STATE_LATCH_H

struct core;
struct record;
struct state_loader;

void state_save_latches(struct core *core, struct record *r);
void state_load_latch(struct state_loader *l);
void state_load_latch_request(struct state_loader *l);
void state_load_latch_quota(struct state_loader *l);

#endif
