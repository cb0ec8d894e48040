/*
 * info: INFO, the daemon in Redis' format (PROTOCOL.md 6.6). dispatch.c calls it.
 */
#ifndef DAEMON_INFO_H
#define DAEMON_INFO_H

#include "daemon/desk.h"

desk_verb info_verb;

#endif
