/*
 * clone: what a copy of a daemon, made while it runs, has in common with it.
 */
#ifndef SIM_CLONE_H
#define SIM_CLONE_H

struct core;

/* Makes a core that has done nothing yet as good as a copy of another, but for the clients and what they
 * hold: these stay with the one. */
void clone_make(struct core *copy, const struct core *of);

#endif
