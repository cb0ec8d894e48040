/*
 * mode: as what a name is locked at a time: by exclusive and shared holds, which stand on its one lease, or
 * by permits of a number, each hold on a permit lease of its own.
 *
 * Who comes first decides; while anybody here holds the name or waits for it, nobody else does.
 */
#ifndef CORE_MODE_H
#define CORE_MODE_H

#include "daemon/core/state.h"

/* Whether the name cannot be locked as the LOCK says while it is in use as it is, or ever. *why is set then.
 */
bool mode_refuses(const struct resource *r, const struct command *c, struct reply *why)
	__attribute__((warn_unused_result));

/* Not refused: from now on it is locked so. What is left of a mode that nobody uses any more is given back.
 */
void mode_join(struct core *core, struct resource *r, const struct command *c);

#endif
