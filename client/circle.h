/*
 * circle: detects a process that may wait for itself, because the lock is held until one of its ancestors
 * ends: a lock inside a run, or a run inside a script that holds the lock. It compares pids, so it works even
 * if sudo has emptied the environment.
 */
#ifndef CLIENT_CIRCLE_H
#define CLIENT_CIRCLE_H

#include "client/address.h"
#include "client/options.h"

#include <stdint.h>

/*
 * The ancestor of this process until whose end one of the locks of o is held; *name is that lock. 0: none was
 * found. Blocks for at most CIRCLE_LOOK_MS. Works on Unix sockets only.
 */
int64_t circle_find(const struct address *a, const struct options *o, const char **name);

#define CIRCLE_LOOK_MS 2000

#endif
