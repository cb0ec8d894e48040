/*
 * registration: HELLO and its answer. It says which server a master is, whether that is a member of our set
 * or a copy of another one, and whether it remembers: so whether it is refused, guarded or admitted.
 */
#ifndef CORE_REGISTRATION_H
#define CORE_REGISTRATION_H

struct core;
struct master;
struct slice;
struct vote;

void registration_link_up(struct core *core, struct master *m, unsigned link);
void registration_link_down(struct core *core, struct master *m, unsigned link, struct slice why);

/* Asks on every link who the master is and which tokens it has seen. */
void registration_ask_all(struct core *core, struct master *m);

/* The master may not be the one we knew, or may have forgotten: it is used for nothing new until it has
 * answered HELLO. */
void registration_doubt(struct core *core, struct master *m);

/* Its clock has jumped, or ours stood still (master_clock_jumped()). All masters are sent HELLO: this one, to
 * be told of the jump; the others, because their clocks show which of the two it was. */
void registration_jumped(struct core *core, struct master *m);

/* An answer to HELLO. */
void registration_answered(struct core *core, struct master *m, const struct vote *vote);

/* What is due at the master by now: HELLO among it. */
void registration_timer(struct core *core, struct master *m);

#endif
