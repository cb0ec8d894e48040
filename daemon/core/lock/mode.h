/*
 * mode: how a name is locked at a time: by exclusive and shared holds, which stand on its one lease, or by
 * permits of a limited number, where each hold stands on a permit lease of its own.
 *
 * The first LOCK decides; the mode stays for as long as a session here holds the name or waits for it.
 */
#ifndef CORE_MODE_H
#define CORE_MODE_H

#include <stdbool.h>

struct command;
struct core;
struct reply;
struct resource;

/* Whether the name cannot be locked as this LOCK says, either ever or while it is in use in another mode.
 * Then *why is the answer. */
bool mode_refuses(const struct resource *r, const struct command *c, struct reply *why)
	__attribute__((warn_unused_result));

/* After mode_refuses() said false: from now on the name is locked in this mode. Leases of an unused earlier
 * mode are given back. */
void mode_join(struct core *core, struct resource *r, const struct command *c);

#endif
