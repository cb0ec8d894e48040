/*
 * key: a name locks a key at the masters, and a key has one name.
 *
 * NAMESPACE:{NAME} is the key of one name alone. A rule's template can give a name the key of another name,
 * or one of holdfast's own keys. The masters exclude two names with one key, but a queue, a token counter, a
 * holder and a daemon's lease belong to a name. So the first rule that gives a key decides which name has it:
 * at every daemon the same, whether the name is in use or not. The other names are refused.
 */
#ifndef CORE_KEY_H
#define CORE_KEY_H

#include "proto/name.h"

#include <stdbool.h>

struct core;
struct reply;
struct rule;

/* Whether this name, with its rule, cannot be locked, because its key belongs to another name or to holdfast
 * itself. True: *why is set. */
bool key_refuses(const struct core *core, struct slice name, const struct rule *rule, struct reply *why)
	__attribute__((warn_unused_result));

#endif
