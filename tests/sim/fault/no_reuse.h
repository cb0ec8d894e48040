/*
 * no_reuse: a daemon that has seen that clients do not come back to names. A world is too short to learn
 * that, and what such a daemon does with leases that nobody uses has to be seen as well.
 */
#ifndef SIM_NO_REUSE_H
#define SIM_NO_REUSE_H

struct core;

/* A core that has just begun knows so of all names. */
void no_reuse_begin(struct core *core);

#endif
