/*
 * state_master: the set of masters, its slots, and the servers that slots were before, in a saved state.
 */
#ifndef CORE_STATE_MASTER_H
#define CORE_STATE_MASTER_H

struct core;
struct record;
struct state_loader;

void state_save_masters(struct core *core, struct record *r);
void state_load_masterset(struct state_loader *l);
void state_load_master(struct state_loader *l);
void state_load_retired(struct state_loader *l);

/* After the last record: fails if a master is missing, or if they cannot be a set. */
void state_check_masters(struct state_loader *l);

/*
 * The first step after core_load() (core.resumes) says again what the driver of another
 * process does not know: ACTION_MASTER for each slot that is not what the configuration names there
 * (core.rerouted), ACTION_LISTEN for each name that is listened for, ACTION_WATCH for each process that a
 * session is bound to.
 */
void state_resume(struct core *core);

#endif
