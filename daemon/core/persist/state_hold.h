/*
 * state_hold: the holds on a lease, in a saved state, and the waits for a name.
 */
#ifndef CORE_STATE_HOLD_H
#define CORE_STATE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct grant;
struct lease;
struct record;
struct resource;
struct state_loader;

void state_save_grants(struct core *core, struct record *r, struct lease *l);
void state_save_waiters(struct core *core, struct record *r, struct resource *name);
void state_load_grant(struct state_loader *l);

/* Whether its lease can have it beside those that it has: check.c asserts the same of the whole. */
bool state_grant_fits(const struct grant *g);

/* It is withheld, and counts for this user from now on. False: out of memory. */
bool state_grant_left(struct core *core, struct grant *g, uint64_t user) __attribute__((warn_unused_result));
void state_load_waiter(struct state_loader *l);

#endif
