/*
 * circle: a process that waits for a lock which is held until one of its ancestors ends, and so perhaps for
 * itself: a lock inside of a run, or a run inside of a script that has the lock. Pids tell, so it is seen
 * also where sudo has emptied the environment.
 */
#ifndef CLIENT_CIRCLE_H
#define CLIENT_CIRCLE_H

#include "client/address.h"
#include "client/options.h"

#include <stdint.h>

/*
 * The ancestor of this process, which waits for the locks of o, until whose end one of them is held; *name is
 * the one. 0: none is seen. Blocks for CIRCLE_LOOK_MS at most; on Unix sockets only.
 */
int64_t circle_find(const struct address *a, const struct options *o, const char **name);

#define CIRCLE_LOOK_MS 2000

#endif
