/*
 * admin: CLIENT KILL, DRAIN and RELOAD. dispatch.c calls them, for administrators only.
 */
#ifndef DAEMON_ADMIN_H
#define DAEMON_ADMIN_H

#include "daemon/desk.h"

desk_verb admin_client_kill;
desk_verb admin_drain;
desk_verb admin_reload;

#endif
