/*
 * handshake: what client libraries send by themselves, so that they feel at home: HELLO, AUTH, names, PING,
 * and the like. Each answers as Redis does.
 *
 * dispatch.c calls them; none of them touches a lock.
 */
#ifndef ADMIN_HANDSHAKE_H
#define ADMIN_HANDSHAKE_H

#include "daemon/admin/desk.h"

desk_verb handshake_ping;
desk_verb handshake_echo;
desk_verb handshake_hello;
desk_verb handshake_auth;
desk_verb handshake_select;
desk_verb handshake_reset;
desk_verb handshake_quit;
desk_verb handshake_config_get;
desk_verb handshake_catalog; /* COMMAND, and the HELP of CLIENT, SESSION, COMMAND and CONFIG */
desk_verb handshake_client_id;
desk_verb handshake_client_getname;
desk_verb handshake_client_setname;
desk_verb handshake_client_setinfo;
desk_verb handshake_client_tracking;

#endif
