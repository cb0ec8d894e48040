/*
 * key: what a name locks at the masters is a key, and each key has one name.
 *
 * NAMESPACE:{NAME} is the key of one name alone. A rule's template may give the key of one name to another
 * one, or one that holdfast keeps for itself. The masters exclude the two names; a queue, a token counter,
 * a holder and a daemon's lease belong to a name, and know nothing of the other one. So the name of a key is
 * the one whose rule stands first, for every daemon, whoever holds what; no other is locked.
 */
#ifndef CORE_KEY_H
#define CORE_KEY_H

#include "daemon/core/state.h"

/* Whether this name cannot be locked, as its key has another name or is none of a lock. *why is set then. */
bool key_refuses(const struct core *core, struct slice name, struct reply *why)
	__attribute__((warn_unused_result));

#endif
