/*
 * state_session: sessions with their losses and connections, in a saved state; MLOCKs without an answer.
 */
#ifndef CORE_STATE_SESSION_H
#define CORE_STATE_SESSION_H

struct core;
struct record;
struct state_loader;

void state_save_sessions(struct core *core, struct record *r);
void state_load_session(struct state_loader *l);
void state_load_loss(struct state_loader *l);
void state_load_conn(struct state_loader *l);
void state_load_guest(struct state_loader *l);
void state_save_mlocks(struct core *core, struct record *r);
void state_load_mlock(struct state_loader *l);

#endif
