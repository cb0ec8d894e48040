/*
 * check: the invariants of the core, and whether a core that was loaded keeps them.
 */
#ifndef CORE_CHECK_H
#define CORE_CHECK_H

#include <stdint.h>

struct core;

/* What cannot be in this core, which was loaded, as of this time: a condition that does not hold.
 * NULL: nothing. Checks all of it, but for what its loader has counted for users. */
const char *core_wrong(const struct core *core, int64_t now_ms);

#endif
