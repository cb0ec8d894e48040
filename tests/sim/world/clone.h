/*
 * clone: copies the state of a running daemon, as a snapshot of its machine would.
 */
#ifndef SIM_CLONE_H
#define SIM_CLONE_H

struct core;

/* Makes a new core a copy of another, without its clients and their holds. */
void clone_make(struct core *copy, const struct core *of);

#endif
