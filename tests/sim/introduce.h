/*
 * introduce: what a client says of its session before it begins: that others may join it or that it joins
 * theirs, that a process keeps it, a grace, a heartbeat, how it wants to hear of a loss; a word or several.
 */
#ifndef SIM_INTRODUCE_H
#define SIM_INTRODUCE_H

#include <stdbool.h>

struct client;

/* The next word; false: there is nothing more to say. */
bool introduce(struct client *client);

#endif
