/*
 * state_session: sessions with their losses and connections, in a saved state; MLOCKs without an answer.
 */
#ifndef CORE_STATE_SESSION_H
#define CORE_STATE_SESSION_H

struct core;
struct record;
struct session;
struct slice;
struct state_loader;

/* The id of a named session; n == 0: it is none. state_name_session(): the session belongs to it, and is
 * whole otherwise. */
void state_as(struct record *r, struct slice *as);
void state_name_session(struct core *core, struct record *r, struct session *s, struct slice as);

void state_save_sessions(struct core *core, struct record *r);
void state_load_session(struct state_loader *l);
void state_load_loss(struct state_loader *l);
void state_load_conn(struct state_loader *l);
void state_load_guest(struct state_loader *l);
void state_save_mlocks(struct core *core, struct record *r);
void state_load_mlock(struct state_loader *l);

#endif
