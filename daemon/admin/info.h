/*
 * info: the verb INFO, in the format of Redis (PROTOCOL.md 6.6). dispatch.c calls it.
 */
#ifndef ADMIN_INFO_H
#define ADMIN_INFO_H

#include "daemon/admin/context.h"

context_verb info_verb;

#endif
