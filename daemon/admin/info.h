/*
 * info: INFO, in the format of Redis (PROTOCOL.md 6.6).
 */
#ifndef ADMIN_INFO_H
#define ADMIN_INFO_H

#include "daemon/request/context.h"

struct core;

context_verb info_verb;

/* The only master that is used if it is not this one of the configuration, which is not in effect then; else
 * NULL. */
const char *master_aside(const struct core *core, const char *only_address, const char *only_way);

#endif
